"""What was expected of the questions that the chapter left open, and what the runs say.

An expectation comes from theory or from a single run of a prototype, and its rule was written
before the runs: that one fails is a result, too. Rules compare means over the seeds, since they ask
about the setting and not about each seed; docs/extensions.md tells what came out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow.lib.study.claims import AS_EXPECTED, NOT_APPLICABLE, NOT_AS_EXPECTED, silent_fraction
from workflow.lib.study.runs import Runs, sweep

LEARNED = 0.9
"""Greedy accuracy on carry prompts from which on the carry counts as learned."""


@dataclass(frozen=True)
class Evidence:
    """What the extensions' runs left behind."""

    runs: Mapping[str, Mapping[str, Runs]]
    """By figure and experiment."""
    pass_at_k: Mapping[str, Mapping[int, pd.DataFrame]]
    """By experiment and seed, a row for each k."""
    reward_models: Sequence[pd.DataFrame]
    """The metrics of the reward models, a row each."""


class NotShownError(Exception):
    """The study has no experiments that the rule could look at."""


@dataclass(frozen=True)
class Observation:
    """What a rule saw, and whether it was expected."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Finding:
    """An expectation, and the rule that decides whether it came true."""

    name: str
    figure: str
    question: str
    expected: str
    """With the rule in words."""
    rule: Callable[[Evidence], Observation]


def check(evidence: Evidence) -> list[dict[str, str]]:
    """The table of findings: finding, figure, question, expected, observed, verdict."""
    table = []
    for finding in FINDINGS:
        try:
            observation = finding.rule(evidence)
        except NotShownError as reason:
            observed, verdict = str(reason), NOT_APPLICABLE
        else:
            observed = observation.text
            verdict = AS_EXPECTED if observation.holds else NOT_AS_EXPECTED
        table.append(
            {
                "finding": finding.name,
                "figure": finding.figure,
                "question": finding.question,
                "expected": finding.expected,
                "observed": observed,
                "verdict": verdict,
            }
        )
    return table


def no_sharp_edge(evidence: Evidence) -> Observation:
    """The finding `cold-start data`."""
    by_q = _sweep(evidence, "fig4_cold_start_data", lambda run: run.q, at_least=4)
    iterations = min(run.settings.iterations for run in by_q.values())
    carry = {q: _mean(run.at(iterations, "accuracy_carry")) for q, run in by_q.items()}
    means = list(carry.values())
    steps = np.diff(means)
    between = sum(0.1 < mean < LEARNED for mean in means)
    return Observation(
        f"carry accuracy after {iterations} iterations {_list(carry)}",
        bool((steps > -0.1).all()) and between >= 2,
    )


def longer_training(evidence: Evidence) -> Observation:
    """The finding `longer training`."""
    by_q = _sweep(evidence, "fig4_cold_start_data", lambda run: run.q, at_least=4)
    shortest = min(run.settings.iterations for run in by_q.values())
    longer = {q: run for q, run in by_q.items() if run.settings.iterations > shortest}
    if not longer:
        raise NotShownError("no experiment of the figure trains longer than the others")
    final = {q: _mean(run.last("accuracy_carry")) for q, run in longer.items()}
    kinds = {
        words: {q: _mean(run.last(metric)) for q, run in longer.items()}
        for words, metric in [
            ("units only", "accuracy_units"),
            ("tens only", "accuracy_tens"),
            ("both", "accuracy_both"),
        ]
    }
    each = {
        q: ", ".join(f"{value:.2f}" for value in run.last("accuracy_carry").values())
        for q, run in longer.items()
    }
    kl = {q: _mean(run.late("kl")) for q, run in longer.items()}
    return Observation(
        f"carry accuracy after {next(iter(longer.values())).settings.iterations} iterations "
        f"{_list(final)} (seeds {'; '.join(f'q = {q:g}: {text}' for q, text in each.items())}); "
        + "; ".join(
            f"where the carry is in {words} {_list(values)}" for words, values in kinds.items()
        )
        + f"; KL {_list(kl)}",
        all(value >= LEARNED for q, value in final.items() if q >= 0.003),
    )


def silent_at_the_start(
    evidence: Evidence, figure: str, setting: Callable[[Runs], float]
) -> Observation:
    """The findings `cold-start silence` and `group size, silence`."""
    runs = _sweep(evidence, figure, setting, at_least=2)
    observed, expected, far = {}, {}, []
    for value, run in runs.items():
        first = run.at(1, "frac_reward_zero_std")
        size, groups = run.settings.num_generations, run.settings.num_prompts
        theory = {seed: silent_fraction(p.probability, size) for seed, p in run.prompts.items()}
        observed[value], expected[value] = _mean(first), _mean(theory)
        error = (expected[value] * (1 - expected[value]) / (groups * len(first))) ** 0.5
        far.append(abs(observed[value] - expected[value]) > 4 * error + 1 / groups)
    return Observation(f"{_list(observed)}, expected {_list(expected)}", not any(far))


def only_sharpens(evidence: Evidence) -> Observation:
    """The finding `pass@k, weak`."""
    table = _pass_at_k(evidence, "weak")
    reached = table.k[table.sft_exact >= table.grpo_exact.iloc[0] - 0.02]
    meets = f"at k = {reached.iloc[0]:.0f}" if len(reached) else "at no k here"
    first, last = table.iloc[0], table.iloc[-1]
    return Observation(
        f"after GRPO pass@1 {first.grpo_exact:.3f}; SFT pass@1 {first.sft_exact:.3f}, "
        f"pass@{last.k:.0f} {last.sft_exact:.3f}; SFT comes within 0.02 of it {meets}",
        len(reached) > 0,
    )


def cold_stays_at_nothing(evidence: Evidence) -> Observation:
    """The finding `pass@k, cold`."""
    last = _pass_at_k(evidence, "cold").iloc[-1]
    return Observation(
        f"pass@{last.k:.0f} of SFT {last.sft_exact:.3f}, after GRPO {last.grpo_exact:.3f}",
        max(last.sft_exact, last.grpo_exact) <= 0.05,
    )


def learned_reward(evidence: Evidence) -> Observation:
    """The finding `learned reward`."""
    run = _reward(evidence, "learned", beta=0)
    first, last = _mean(run.at(1, "reward")), _mean(run.last("reward"))
    carry = _mean(run.late("accuracy_carry"))
    text = f"reward {first:.2f} to {last:.2f} nats, carry accuracy {carry:.3f}"
    if evidence.reward_models:
        models = pd.concat(list(evidence.reward_models)).mean()
        text += (
            f"; the reward models tell {models.accuracy:.3f} of the answers rightly and prefer the "
            f"no-carry sum on {models.prefers_no_carry:.3f} of the carry prompts"
        )
    return Observation(text, last > first and carry <= 0.5)


def hole_within_10(evidence: Evidence) -> Observation:
    """The finding `within 10`."""
    run = _reward(evidence, "within_10", beta=0)
    reward, accuracy = _mean(run.late("reward")), _mean(run.late("accuracy"))
    kinds = [_mean(run.late(f"accuracy_{kind}")) for kind in ("units", "tens", "both")]
    return Observation(
        f"reward {reward:.3f}, accuracy {accuracy:.3f}; where the units carry {kinds[0]:.3f}, the "
        f"tens {kinds[1]:.3f}, both {kinds[2]:.3f}",
        reward >= 0.95 and accuracy <= 0.9,
    )


def hole_without_hundreds(evidence: Evidence) -> Observation:
    """The finding `no hundreds`."""
    run = _reward(evidence, "without_hundreds", beta=0)
    reward, accuracy = _mean(run.late("reward")), _mean(run.late("accuracy"))
    return Observation(f"reward {reward:.3f}, accuracy {accuracy:.3f}", accuracy >= 0.95)


def anchor_against_a_hole(evidence: Evidence) -> Observation:
    """The finding `anchor against a hole`."""
    texts, gains = [], []
    for reward in ("learned", "within_10", "without_hundreds"):
        free, held = _reward(evidence, reward, beta=0), _reward(evidence, reward, beta=None)
        before, after = _mean(free.late("accuracy")), _mean(held.late("accuracy"))
        texts.append(
            f"{reward} {before:.3f} to {after:.3f} "
            f"(KL {_mean(free.late('kl')):.2f} to {_mean(held.late('kl')):.2f})"
        )
        gains.append(after - before)
    return Observation("accuracy " + ", ".join(texts), max(gains) <= 0.05)


def all_learn_from_weak(evidence: Evidence) -> Observation:
    """The finding `baseline, weak`."""
    runs = _advantages(evidence, lambda q: q >= 0.3)
    reached = {name: run.reaches("accuracy_carry", LEARNED) for name, run in runs.items()}
    norms = {name: _mean(run.at(1, "grad_norm")) for name, run in runs.items()}
    late = {name: _mean(run.late("accuracy_carry")) for name, run in runs.items()}
    return Observation(
        "carry accuracy 0.9 at iteration "
        + ", ".join(f"{name} {_words(of_seeds)}" for name, of_seeds in reached.items())
        + f"; over the last third {_list(late)}; first gradient norm {_list(norms, 2)}",
        all(np.median(list(of_seeds.values())) <= 15 for of_seeds in reached.values()),
    )


def variants_differ(evidence: Evidence) -> Observation:
    """The finding `baseline, small q`."""
    runs = _advantages(evidence, lambda q: 0 < q < 0.3)
    final = {name: _mean(run.late("accuracy_carry")) for name, run in runs.items()}
    kl = {name: _mean(run.late("kl")) for name, run in runs.items()}
    return Observation(
        f"carry accuracy over the last third {_list(final)}; KL {_list(kl, 2)}",
        max(final.values()) - min(final.values()) > 0.1,
    )


def batch_drifts_from_cold(evidence: Evidence) -> Observation:
    """The finding `baseline, cold`."""
    runs = _advantages(evidence, lambda q: q == 0)
    carry = {name: _mean(run.late("accuracy_carry")) for name, run in runs.items()}
    kl = {name: _mean(run.last("kl")) for name, run in runs.items()}
    return Observation(
        f"carry accuracy {_list(carry)}; final KL {_list(kl, 2)}",
        max(carry.values()) <= 0.1 and kl["batch"] >= 1 and kl["group"] <= 0.3,
    )


def every_size_learns(evidence: Evidence) -> Observation:
    """The finding `group size, speed`."""
    sizes = _sweep(
        evidence, "fig8_group_size", lambda run: run.settings.num_generations, at_least=3
    )
    reached = {size: run.reaches("accuracy_carry", LEARNED) for size, run in sizes.items()}
    medians = [float(np.median(list(of_seeds.values()))) for of_seeds in reached.values()]
    return Observation(
        "carry accuracy 0.9 at iteration "
        + ", ".join(f"G = {size:g}: {_words(of_seeds)}" for size, of_seeds in reached.items()),
        all(median <= 30 for median in medians),
    )


def noise_slows_and_kills(evidence: Evidence) -> Observation:
    """The finding `noisy verifier`."""
    runs = _sweep(
        evidence, "fig9_noisy_verifier", lambda run: run.settings.reward_noise, at_least=3
    )
    late = {noise: _mean(run.late("accuracy_carry")) for noise, run in runs.items()}
    reached = {noise: run.reaches("accuracy_carry", LEARNED) for noise, run in runs.items()}
    learns = [value >= LEARNED for noise, value in late.items() if noise <= 0.4]
    dies = [value <= 0.3 for noise, value in late.items() if noise == 0.5]
    return Observation(
        f"carry accuracy over the last third {_list(late)}; at 0.9 first at iteration "
        + ", ".join(f"{noise:g}: {_words(of_seeds)}" for noise, of_seeds in reached.items()),
        all(learns) and all(dies),
    )


def anchors_cost_little(evidence: Evidence) -> Observation:
    """The finding `anchor, accuracy`."""
    runs = _sweep(evidence, "fig10_anchor", lambda run: run.settings.beta, at_least=3)
    late = {beta: _mean(run.late("accuracy")) for beta, run in runs.items()}
    return Observation(
        f"accuracy over the last third {_list(late)}", all(value >= 0.98 for value in late.values())
    )


def anchors_hold_back(evidence: Evidence) -> Observation:
    """The finding `anchor, KL`."""
    runs = _sweep(evidence, "fig10_anchor", lambda run: run.settings.beta, at_least=3)
    kl = {beta: _mean(run.late("kl")) for beta, run in runs.items()}
    perfect = [
        float(-np.log(prompts.probability).mean())
        for run in runs.values()
        for prompts in run.prompts.values()
    ]
    return Observation(
        f"KL over the last third {_list(kl, 2)}; a perfect policy's {np.mean(perfect):.2f}",
        bool((np.diff(list(kl.values())) < 0).all()),
    )


FINDINGS = [
    Finding(
        "cold-start data",
        "fig4_cold_start_data",
        "How much cold-start data is enough?",
        "No sharp edge: after 300 iterations carry accuracy 0 at q = 0.001, 0.27 at 0.003, 0.36 "
        "at 0.01, 0.54 at 0.03. From each q to the next it falls by 0.1 at most, and for two q or "
        "more it is between 0.1 and 0.9",
        no_sharp_edge,
    ),
    Finding(
        "longer training",
        "fig4_cold_start_data",
        "Does longer training finish what a small q began?",
        "Open. Yes if carry accuracy ends at 0.9 or more for every q of 0.003 and more",
        longer_training,
    ),
    Finding(
        "cold-start silence",
        "fig4_cold_start_data",
        "Is the first batch as silent as the checkpoint's own probabilities say?",
        "The mean of p^8 + (1 − p)^8, within four standard errors and one group",
        lambda evidence: silent_at_the_start(evidence, "fig4_cold_start_data", lambda run: run.q),
    ),
    Finding(
        "pass@k, weak",
        "fig5_pass_at_k",
        "Does RL teach, or only sharpen?",
        "It sharpens: for some k up to 256 the SFT model's pass@k on carry prompts comes within "
        "0.02 of GRPO's pass@1",
        only_sharpens,
    ),
    Finding(
        "pass@k, cold",
        "fig5_pass_at_k",
        "Is there anything to sharpen in a cold start?",
        "No: pass@256 on carry prompts is at most 0.05, before GRPO and after",
        cold_stays_at_nothing,
    ),
    Finding(
        "learned reward",
        "fig6_reward_is_the_objective",
        "Could a reward learned from the flawed teacher's data do it?",
        "No: the reward rises, and carry accuracy stays at 0.5 or less",
        learned_reward,
    ),
    Finding(
        "within 10",
        "fig6_reward_is_the_objective",
        "Is a hole in the verifier found: any number within 10 passes?",
        "Yes: reward nears 1 (0.95 or more) while accuracy stalls near 0.80 (0.9 at most)",
        hole_within_10,
    ),
    Finding(
        "no hundreds",
        "fig6_reward_is_the_objective",
        "Is another hole found: the hundreds digit is ignored?",
        "No: accuracy still reaches 0.97 (0.95 or more)",
        hole_without_hundreds,
    ),
    Finding(
        "anchor against a hole",
        "fig6_reward_is_the_objective",
        "Does a KL anchor (β = 0.1) help against a wrong reward?",
        "No: it adds at most 0.05 of accuracy under any of them",
        anchor_against_a_hole,
    ),
    Finding(
        "baseline, weak",
        "fig7_baseline",
        "Does the group baseline matter, from a weak start?",
        "No: all have carry accuracy 0.9 within 10 to 15 iterations (median seed)",
        all_learn_from_weak,
    ),
    Finding(
        "baseline, small q",
        "fig7_baseline",
        "Does it matter where right answers are rare?",
        "The variants differ: carry accuracy by more than 0.1 from the worst to the best",
        variants_differ,
    ),
    Finding(
        "baseline, cold",
        "fig7_baseline",
        "What do they do with a cold start?",
        "None learns (carry accuracy 0.1 at most), but the batch baseline drifts (KL 4.6 nats; 1 "
        "or more) where the group baseline stands still (0.3 at most)",
        batch_drifts_from_cold,
    ),
    Finding(
        "group size, silence",
        "fig8_group_size",
        "How silent are groups of different size?",
        "0.84 at G = 2, 0.25 at 32. The mean of p^G + (1 − p)^G, within four standard errors and "
        "one group",
        lambda evidence: silent_at_the_start(
            evidence, "fig8_group_size", lambda run: run.settings.num_generations
        ),
    ),
    Finding(
        "group size, speed",
        "fig8_group_size",
        "Does the size matter for speed, at 256 completions an iteration?",
        "Little: every size has carry accuracy 0.9 within 30 iterations (median seed)",
        every_size_learns,
    ),
    Finding(
        "noisy verifier",
        "fig9_noisy_verifier",
        "How much noise does a verifier bear?",
        "It learns up to a flip of 0.4 (carry accuracy 0.9 or more) and dies at 0.5 (0.3 at most), "
        "where 1 − 2·flip = 0",
        noise_slows_and_kills,
    ),
    Finding(
        "anchor, accuracy",
        "fig10_anchor",
        "What does an anchor cost?",
        "Nothing: accuracy 0.98 and more for every β",
        anchors_cost_little,
    ),
    Finding(
        "anchor, KL",
        "fig10_anchor",
        "What does an anchor buy?",
        "A KL that falls as β grows",
        anchors_hold_back,
    ),
]
"""Every expectation, in the order of the figures."""


def _runs(evidence: Evidence, figure: str) -> Mapping[str, Runs]:
    if figure not in evidence.runs:
        raise NotShownError(f"the study has no figure {figure}")
    return evidence.runs[figure]


def _sweep(
    evidence: Evidence, figure: str, setting: Callable[[Runs], float], at_least: int
) -> dict[float, Runs]:
    """A figure's runs by the value of what it varies."""
    runs = sweep(_runs(evidence, figure), setting)
    if len(runs) < at_least:
        raise NotShownError(f"{figure} varies too few settings to tell")
    return runs


def _reward(evidence: Evidence, reward: str, beta: float | None) -> Runs:
    """The run of figure 6 with a reward and a β, or with any β but 0."""
    for run in _runs(evidence, "fig6_reward_is_the_objective").values():
        fits = run.settings.beta > 0 if beta is None else run.settings.beta == beta
        if run.settings.reward == reward and fits:
            return run
    raise NotShownError(f"no such experiment with the reward {reward}")


def _advantages(evidence: Evidence, start: Callable[[float], bool]) -> dict[str, Runs]:
    """The runs of figure 7 from one kind of start, by their advantage."""
    runs = {
        run.settings.advantage: run
        for run in _runs(evidence, "fig7_baseline").values()
        if start(run.q)
    }
    if not {"group", "batch"} <= runs.keys():
        raise NotShownError("fig7_baseline lacks an advantage or a start")
    return runs


def _pass_at_k(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """The table of an experiment, mean over the seeds."""
    if experiment not in evidence.pass_at_k:
        raise NotShownError(f"fig5_pass_at_k lacks the experiment {experiment}")
    tables = list(evidence.pass_at_k[experiment].values())
    return pd.concat(tables).groupby("k", as_index=False).mean()


def _mean(values: Mapping[int, float]) -> float:
    """Over the seeds."""
    return float(np.mean(list(values.values())))


def _list(values: Mapping[float, float] | Mapping[str, float], digits: int = 3) -> str:
    """Values with what they belong to."""
    return ", ".join(
        f"{key if isinstance(key, str) else format(key, 'g')}: {value:z.{digits}f}"
        for key, value in values.items()
    )


def _words(reached: Mapping[int, float]) -> str:
    """Iterations of the seeds."""
    return "/".join("never" if np.isinf(at) else f"{at:.0f}" for at in reached.values())
