"""What the chapter claims, and whether this run agrees.

Each claim is a rule over the run's own results. A seed decides much in so small a task, so the
rules leave the room that seeds need and no more: docs/claims.md tells how they were set, and how
far each of them is from failing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
CONTRADICTED = "contradicted by the chapter's own code"
NOT_APPLICABLE = "not applicable"

AS_EXPECTED = "as expected"
NOT_AS_EXPECTED = "not as expected"

NO_CARRY_SHARE = 0.3025
"""Share of the prompts that carry nowhere: 3,025 of 10,000."""

SeedResults = Mapping[str, pd.DataFrame]
"""What one seed's runs left behind:

`sft_weak`, `sft_long`, `sft_cold`: one row, the accuracies of the SFT model that an experiment
starts from; `prompts_…`: that model on all 10,000 prompts; `grpo_…`: a row for each recorded
iteration.
"""
Results = Mapping[int, SeedResults]
"""The results of each seed."""


@dataclass(frozen=True)
class Finding:
    """What a rule saw, and whether that is what was claimed."""

    observed: str
    holds: bool
    contradicts: bool = False
    """Whether the chapter's own code says otherwise, as this run does."""


@dataclass(frozen=True)
class Claim:
    """A statement of the chapter and the rule that decides it."""

    name: str
    statement: str
    expected: str
    """The chapter's numbers and, after them, the rule in words."""
    needs: tuple[str, ...]
    """The results of a seed that the rule looks at."""
    rule: Callable[[Results], Finding]


def check(results: Results, deviations: Mapping[str, str]) -> list[dict[str, str]]:
    """The table of claims: claim, statement, expected, observed, verdict.

    Args:
        results: what each seed left behind.
        deviations: for each kind of result that the study lacks or that was not made with the
            chapter's settings, how so; claims that look at it do not apply.
    """
    table = []
    for claim in CLAIMS:
        obstacles = [deviations[need] for need in claim.needs if need in deviations]
        if obstacles:
            observed, verdict = obstacles[0], NOT_APPLICABLE
        else:
            finding = claim.rule(results)
            observed = finding.observed
            verdict = REPRODUCED if finding.holds else NOT_REPRODUCED
            if finding.contradicts:
                verdict = CONTRADICTED
        table.append(
            {
                "claim": claim.name,
                "statement": claim.statement,
                "expected": claim.expected,
                "observed": observed,
                "verdict": verdict,
            }
        )
    return table


def confidently_wrong(results: Results) -> Finding:
    """The claim `base`."""
    greedy = _each(results, lambda seed: seed["sft_weak"].accuracy.item())
    carry = _each(results, lambda seed: seed["sft_weak"].accuracy_carry.item())
    sampled = _each(results, lambda seed: seed["sft_weak"].accuracy_sampled.item())
    right = _each(results, lambda seed: _carry_probability(seed["prompts_weak"]))
    return Finding(
        f"greedy {_list(greedy)}; carry {_list(carry)}; sampled {_list(sampled)}; "
        f"carry samples right {_list(right)}",
        _all_within(greedy, 0.25, 0.42)
        and _all_within(carry, 0.0, 0.15)
        and _all_within(sampled, 0.34, 0.65)
        and _all_within(right, 0.10, 0.50),
    )


def overturned(results: Results) -> Finding:
    """The claim `overturn`."""
    accuracy = _each(results, lambda seed: seed["grpo_weak"].accuracy.iloc[-1])
    carry = _each(results, lambda seed: seed["grpo_weak"].accuracy_carry.iloc[-1])
    return Finding(
        f"overall {_list(accuracy)}; carry {_list(carry)}",
        all(
            _all_within(values, 0.90, 1) and _mean_within(values, 0.97, 1)
            for values in (accuracy, carry)
        ),
    )


def fast(results: Results) -> Finding:
    """The claim `fast`."""
    reached = _each(results, lambda seed: _first(seed["grpo_weak"], "accuracy_carry", 0.9))
    middle = float(np.median(list(reached.values())))
    slow = [str(seed) for seed, iteration in reached.items() if iteration > 20]
    aside = f"; not by 20: seed {', '.join(slow)}" if slow else ""
    return Finding(
        f"carry accuracy 0.9 first at iteration {_list(reached, 0)}; median {middle:.0f}{aside}",
        _all_within(reached, 0, 100) and (len(reached) < 3 or middle <= 25),
    )


def stable(results: Results) -> Finding:
    """The claim `stable`."""
    late = _each(results, lambda seed: _last(seed["grpo_long"], 300).accuracy.mean())
    lowest = _each(results, lambda seed: _last(seed["grpo_long"], 300).accuracy.min())
    kl = _each(results, lambda seed: _last(seed["grpo_long"], 200).kl.mean())
    highest = _each(results, lambda seed: seed["grpo_long"].kl.max())
    drift = _each(
        results,
        lambda seed: (
            _last(seed["grpo_long"], 200).kl.mean()
            / _last(seed["grpo_long"], 400).kl.iloc[: -len(_last(seed["grpo_long"], 200))].mean()
        ),
    )
    return Finding(
        f"accuracy over the last 300 {_list(late)}, never below {_list(lowest)}; "
        f"KL over the last 200 {_list(kl, 2)}, that is {_list(drift, 2)} times that of the 200 "
        f"before, and at any time at most {_list(highest, 2)}",
        _all_within(late, 0.92, 1)
        and _mean_within(late, 0.97, 1)
        and _all_within(lowest, 0.90, 1)
        and _all_within(kl, 0.4, 2.5)
        and _all_within(drift, 0.7, 1.3),
    )


def cold(results: Results) -> Finding:
    """The claim `cold`."""
    start = _each(results, lambda seed: seed["sft_cold"].accuracy.item())
    final = _each(results, lambda seed: seed["grpo_cold"].accuracy.iloc[-1])
    carry = _each(results, lambda seed: seed["grpo_cold"].accuracy_carry.max())
    return Finding(
        f"SFT {_list(start)}; after GRPO {_list(final)}; carry at most {_list(carry)}",
        _all_within(start, 0.25, 0.36)
        and _all_within(final, 0.25, 0.36)
        and _all_within(carry, 0.0, 0.2),
    )


def zero_signal(results: Results) -> Finding:
    """The claim `zero-signal`."""
    metric = "frac_reward_zero_std"
    of_cold = _each(results, lambda seed: seed["grpo_cold"][metric].mean())
    first = _each(results, lambda seed: seed["grpo_weak"][metric].iloc[0])
    last = _each(results, lambda seed: _last(seed["grpo_weak"], 50)[metric].mean())
    return Finding(
        f"cold, mean {_list(of_cold)}; weak, first {_list(first)}, last 50 {_list(last)}",
        _all_within(of_cold, 0.97, 1)
        and _all_within(first, 0.1, 0.7)
        and _all_within(last, 0.70, 1)
        and _mean_within(last, 0.85, 1),
    )


def size(results: Results) -> Finding:
    """The claim `size`."""
    counts = {
        int(table.parameters.item())
        for seed in results.values()
        for name, table in seed.items()
        if name.startswith("sft_")
    }
    counted = ", ".join(f"{count:,}" for count in sorted(counts))
    return Finding(
        f"{counted} parameters",
        holds=all(108_000 <= count <= 132_000 for count in counts),
        contradicts=counts == {69_325},
    )


def time(results: Results) -> Finding:
    """The claim `time`; seconds differ from run to run, so the table says only what they decide."""
    seconds = sum(float(seed["time"].seconds.sum()) for seed in results.values())
    allowed = 40 * 60 * len(results) / 3
    holds = seconds <= allowed
    return Finding(f"{'at most' if holds else 'more than'} {allowed / 60:.0f} minutes", holds)


def predicted_greedy(results: Results) -> Finding:
    """The claim `predicted greedy`."""
    shares = _each(results, lambda seed: 1 - has_carry(seed["prompts_cold"]).mean())
    solved = _each(results, lambda seed: seed["prompts_cold"].solved.mean())
    return Finding(
        f"of all 10,000 prompts {_list(shares, 4)} carry nowhere, {_list(solved, 4)} are solved",
        set(shares.values()) == {NO_CARRY_SHARE}
        and _all_within(solved, NO_CARRY_SHARE - 0.01, NO_CARRY_SHARE + 0.01),
    )


def predicted_samples(results: Results) -> Finding:
    """The claim `predicted samples`."""
    expected = _each(results, lambda seed: seed["prompts_weak"].probability.mean())
    observed = _each(results, lambda seed: seed["sft_weak"].accuracy_sampled.item())
    scores = _standard_scores(observed, expected, trials=2048)
    ideal = NO_CARRY_SHARE + (1 - NO_CARRY_SHARE) * 0.3
    return Finding(
        f"expected {_list(expected)} (a perfect imitator's: {ideal:.3f}), sampled "
        f"{_list(observed)}: {_list(scores, 1)} standard errors",
        _all_within(scores, -4, 4),
    )


def predicted_silence(results: Results) -> Finding:
    """The claim `predicted silence`."""
    size = 8
    expected = _each(results, lambda seed: silent_fraction(seed["prompts_weak"].probability, size))
    observed = _each(
        results,
        lambda seed: np.mean(
            [seed[f"grpo_{name}"].frac_reward_zero_std.iloc[0] for name in ("weak", "long")]
        ),
    )
    scores = _standard_scores(observed, expected, trials=2 * 32)
    ideal = silent_fraction(pd.Series(np.where(np.arange(10_000) < 3025, 1.0, 0.3)), size)
    return Finding(
        f"expected {_list(expected)} (a perfect imitator's: {ideal:.3f}), first batches "
        f"{_list(observed)}: {_list(scores, 1)} standard errors",
        _all_within(scores, -4, 4),
    )


def predicted_kl(results: Results) -> Finding:
    """The claim `predicted KL`."""
    expected = _each(results, lambda seed: -np.log(seed["prompts_long"].probability).mean())
    observed = _each(results, lambda seed: _last(seed["grpo_long"], 200).kl.mean())
    ratios = {seed: observed[seed] / expected[seed] for seed in results}
    ideal = -(1 - NO_CARRY_SHARE) * np.log(0.3)
    return Finding(
        f"expected {_list(expected, 2)} (from a perfect imitator: {ideal:.2f}), over the last 200 "
        f"iterations {_list(observed, 2)}: ratios {_list(ratios, 2)}",
        _all_within(ratios, 0.8, 1.2),
    )


CLAIMS = [
    Claim(
        "base",
        "The q = 0.3 SFT model is confidently wrong",
        "greedy 0.303, 0.317, 0.326; carry 0.000, 0.036, 0.040; sampled 0.524, 0.488, 0.518. "
        "Each seed: greedy 0.25–0.42, carry at most 0.15, sampled 0.34–0.65, "
        "and 0.10–0.50 of the carry samples right",
        ("sft_weak", "prompts_weak"),
        confidently_wrong,
    ),
    Claim(
        "overturn",
        "GRPO lifts overall and carry accuracy to 1.00",
        "both 1.00 for each seed. Each seed: both at least 0.90 at the end; "
        "three seeds or more: their means at least 0.97",
        ("grpo_weak",),
        overturned,
    ),
    Claim(
        "fast",
        "It takes about 20 iterations",
        "a curve, no number. Each seed: carry accuracy 0.9 by iteration 100; "
        "three seeds or more: the median one by 25",
        ("grpo_weak",),
        fast,
    ),
    Claim(
        "stable",
        "β = 0 for 600 iterations: accuracy stays at the top, KL settles at about 1 nat",
        "final accuracy 1.000, 1.000, 0.999; final KL 0.95, 0.86, 0.84; at most 1.32, 1.39, 1.15. "
        "Each seed: accuracy over the last 300 iterations at least 0.92 in the mean and 0.90 "
        "always, KL over the last 200 0.4–2.5 nats and 0.7–1.3 times that of the 200 before; "
        "three seeds or more: that accuracy at least 0.97 in their mean",
        ("grpo_long",),
        stable,
    ),
    Claim(
        "cold",
        "From q = 0 nothing is learned",
        "SFT 0.294, 0.311, 0.305; after GRPO 0.320, 0.292, 0.296; carry 0. "
        "Each seed: both 0.25–0.36, carry at most 0.2 at any time",
        ("sft_cold", "grpo_cold"),
        cold,
    ),
    Claim(
        "zero-signal",
        "Cold: every group is silent. Weak: from about a third of them to nearly all",
        "cold, last row 1.00. Each seed: cold at least 0.97 in the mean; "
        "weak 0.1–0.7 at first and at least 0.70 over the last 50 iterations; "
        "three seeds or more: the latter at least 0.85 in their mean",
        ("grpo_weak", "grpo_cold"),
        zero_signal,
    ),
    Claim(
        "size",
        "About 120,000 parameters",
        "69,325 by the chapter's own code. The count in the checkpoint is within 10 % of 120,000",
        ("size",),
        size,
    ),
    Claim(
        "time",
        "GPU about 10 minutes, CPU about 40",
        "no more. All training jobs, one after another, take at most 40 minutes for three seeds",
        ("time",),
        time,
    ),
    Claim(
        "predicted greedy",
        "Theory: what has learned only the no-carry sum is right on 0.3025 of the prompts",
        "Exactly 0.3025 of the prompts carry nowhere, and each seed's q = 0 SFT model solves "
        "0.2925–0.3125 of all prompts",
        ("prompts_cold",),
        predicted_greedy,
    ),
    Claim(
        "predicted samples",
        "Theory: one sample per prompt is right as often as the mean of p, "
        "the SFT model's probability of the right answer",
        "Each seed: within 4 standard errors of 2,048 samples",
        ("sft_weak", "prompts_weak"),
        predicted_samples,
    ),
    Claim(
        "predicted silence",
        "Theory: at the start a group of 8 is silent with the mean of p^8 + (1 − p)^8",
        "Each seed: the first batches of weak and long within 4 standard errors of 64 groups",
        ("prompts_weak", "grpo_weak", "grpo_long"),
        predicted_silence,
    ),
    Claim(
        "predicted KL",
        "Theory: a perfect policy's KL to the SFT reference is the mean of ln(1/p)",
        "Each seed: the KL over the last 200 iterations of long is 0.8–1.2 times that",
        ("prompts_long", "grpo_long"),
        predicted_kl,
    ),
]
"""Every claim of the chapter, then what theory predicts of the same runs."""


def silent_fraction(probability: pd.Series, size: int) -> float:
    """Expected share of groups of a size whose completions are all right or all wrong.

    The mean of p^G + (1 − p)^G, for p the probability of the right answer to each prompt.
    """
    return float((probability**size + (1 - probability) ** size).mean())


def _standard_scores(
    observed: Mapping[int, float], expected: Mapping[int, float], trials: int
) -> dict[int, float]:
    """How many standard errors of so many trials a share is away from what was expected."""
    return {
        seed: (observed[seed] - mean) / float(np.sqrt(mean * (1 - mean) / trials))
        for seed, mean in expected.items()
    }


def _each(results: Results, measure: Callable[[SeedResults], float]) -> dict[int, float]:
    """One number for each seed."""
    return {seed: float(measure(result)) for seed, result in results.items()}


def _list(values: Mapping[int, float], digits: int = 3) -> str:
    """The seeds' numbers, in the seeds' order."""
    return ", ".join(f"{value:.{digits}f}" for value in values.values())


def _all_within(values: Mapping[int, float], low: float, high: float) -> bool:
    """Whether every seed's number lies in [low, high]; NaN lies nowhere."""
    return all(low <= value <= high for value in values.values())


def _mean_within(values: Mapping[int, float], low: float, high: float) -> bool:
    """Whether the mean lies in [low, high], if there are seeds enough for a mean to mean much."""
    return len(values) < 3 or low <= float(np.mean(list(values.values()))) <= high


def _last(frame: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """The rows of the last so many iterations."""
    return frame[frame.iteration > frame.iteration.iloc[-1] - iterations]


def _first(frame: pd.DataFrame, metric: str, level: float) -> float:
    """The first recorded iteration at which a metric reaches a level; infinity if it never does."""
    reached = frame.iteration[frame[metric] >= level]
    return np.inf if reached.empty else float(reached.iloc[0])


def has_carry(prompts: pd.DataFrame) -> pd.Series:
    """Which prompts carry: in the units or, with that, in the tens."""
    units = prompts.a % 10 + prompts.b % 10 >= 10
    return units | (prompts.a // 10 + prompts.b // 10 + units >= 10)


def _carry_probability(prompts: pd.DataFrame) -> float:
    """Mean probability of the right answer on the carry prompts."""
    return float(prompts.probability[has_carry(prompts)].mean())
