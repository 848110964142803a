"""The rules: what the chapter saw passes, and what it did not see does not."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from workflow.lib.study import claims
from workflow.lib.task import addition, arithmetic

SEEDS = (42, 43, 44)
Results = dict[int, dict[str, pd.DataFrame]]


def all_prompts(q: float) -> pd.DataFrame:
    """An ideal imitator of a teacher of correctness q, on every prompt."""
    a, b = addition.all_prompts()
    carry = arithmetic.has_carry(a, b).numpy()
    return pd.DataFrame(
        {
            "a": a.tolist(),
            "b": b.tolist(),
            "solved": (~carry).astype(float),
            "probability": np.where(carry, q, 1.0),
        }
    )


def sft(accuracy: float, carry: float, sampled: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "accuracy": [accuracy],
            "accuracy_carry": [carry],
            "accuracy_sampled": [sampled],
            "parameters": [69_325],
        }
    )


def curve(iterations: int, **metrics: float | np.ndarray) -> pd.DataFrame:
    """Rows 1, 5, 10, … of metrics that are constant or given for each row."""
    rows = [1, *range(5, iterations + 1, 5)]
    return pd.DataFrame({"iteration": rows, **metrics})


def rise(iterations: int, start: float, end: float, half: float) -> np.ndarray:
    """A curve that has covered half of the way at iteration `half`."""
    rows = np.array([0, *range(5, iterations + 1, 5)])
    return end - (end - start) * 0.5 ** (rows / half)


def as_in_the_chapter() -> Results:
    """Results such as the chapter reports."""
    results: Results = {}
    for seed in SEEDS:
        weak = {
            "accuracy": rise(300, 0.31, 1.0, 3),
            "accuracy_carry": rise(300, 0.02, 1.0, 3),
            "reward": rise(300, 0.5, 1.0, 3),
            "kl": rise(300, 0.0, 0.85, 3),
            "frac_reward_zero_std": rise(300, 0.343, 0.97, 10),
        }
        long = {
            **{metric: rise(600, 0.31, 1.0, 3) for metric in ("accuracy", "accuracy_carry")},
            "reward": rise(600, 0.5, 1.0, 3),
            "kl": rise(600, 0.0, 0.85, 3),
            "frac_reward_zero_std": rise(600, 0.343, 0.97, 10),
        }
        results[seed] = {
            "sft_weak": sft(0.315, 0.025, 0.510),
            "sft_long": sft(0.315, 0.025, 0.510),
            "sft_cold": sft(0.303, 0.0, 0.303),
            "prompts_weak": all_prompts(0.3),
            "prompts_long": all_prompts(0.3),
            "prompts_cold": all_prompts(0.0),
            "grpo_weak": curve(300, **weak),
            "grpo_long": curve(600, **long),
            "grpo_cold": curve(
                300, accuracy=0.30, accuracy_carry=0.0, reward=0.3, kl=0.0, frac_reward_zero_std=1.0
            ),
            "time": pd.DataFrame({"seconds": [60.0, 60.0]}),
        }
    return results


def verdicts(results: Results, deviations: dict[str, str] | None = None) -> dict[str, str]:
    return {row["claim"]: row["verdict"] for row in claims.check(results, deviations or {})}


def test_what_the_chapter_saw_is_reproduced() -> None:
    expected = dict.fromkeys((claim.name for claim in claims.CLAIMS), claims.REPRODUCED)
    assert verdicts(as_in_the_chapter()) == {**expected, "size": claims.CONTRADICTED}


def test_every_claim_of_the_chapter_has_a_rule() -> None:
    names = [claim.name for claim in claims.CLAIMS]
    chapters = ["base", "overturn", "fast", "stable", "cold", "zero-signal", "size", "time"]
    assert names[: len(chapters)] == chapters


def spoil(name: str, metric: str, value: float | np.ndarray, seed: int = 43) -> Callable:
    """Spoil one column of one seed's results."""

    def edit(results: Results) -> None:
        results[seed][name] = results[seed][name].assign(**{metric: value})

    return edit


def spoil_all(name: str, metric: str, value: float | np.ndarray) -> Callable:
    def edit(results: Results) -> None:
        for seed in SEEDS:
            spoil(name, metric, value, seed)(results)

    return edit


def collapse(iterations: int, top: float, bottom: float, at: int) -> np.ndarray:
    rows = np.array([1, *range(5, iterations + 1, 5)])
    return np.where(rows < at, top, bottom)


SPOILED = {
    "an honest start": (spoil("sft_weak", "accuracy", 0.90), {"base"}),
    "a start that carries": (spoil("sft_weak", "accuracy_carry", 0.50), {"base"}),
    "a start that never samples the right carry": (
        spoil("prompts_weak", "probability", np.where(all_prompts(0).probability > 0, 1.0, 1e-6)),
        {"base", "predicted samples", "predicted silence"},
    ),
    "samples unlike the model": (
        spoil("sft_weak", "accuracy_sampled", 0.60),
        {"predicted samples"},
    ),
    "a weak run that never learns": (
        spoil("grpo_weak", "accuracy_carry", 0.02),
        {"overturn", "fast"},
    ),
    "weak runs that never learn": (
        spoil_all("grpo_weak", "accuracy_carry", 0.02),
        {"overturn", "fast"},
    ),
    "weak runs that learn late": (
        spoil_all("grpo_weak", "accuracy_carry", rise(300, 0.02, 1.0, 40)),
        {"fast"},
    ),
    "a weak run that stalls": (spoil("grpo_weak", "accuracy", 0.85), {"overturn"}),
    "weak runs that stall": (spoil_all("grpo_weak", "accuracy", 0.95), {"overturn"}),
    "a long run that collapses": (
        spoil("grpo_long", "accuracy", collapse(600, 0.999, 0.3, 450)),
        {"stable"},
    ),
    "a long run that stumbles once": (
        spoil("grpo_long", "accuracy", np.where(np.arange(121) == 100, 0.85, 0.999)),
        {"stable"},
    ),
    "a KL that keeps growing": (
        spoil("grpo_long", "kl", np.linspace(0, 2.4, 121)),
        {"stable", "predicted KL"},
    ),
    "a KL far from the theory's": (spoil("grpo_long", "kl", 1.6), {"predicted KL"}),
    "a KL of nothing": (spoil("grpo_long", "kl", 0.1), {"stable", "predicted KL"}),
    "a cold run that learns": (
        spoil("grpo_cold", "accuracy_carry", rise(300, 0.0, 0.9, 50)),
        {"cold"},
    ),
    "a cold run that gets better": (spoil("grpo_cold", "accuracy", 0.5), {"cold"}),
    "a cold run with signal": (
        spoil("grpo_cold", "frac_reward_zero_std", 0.8),
        {"zero-signal"},
    ),
    "a weak run that starts silent": (
        spoil_all("grpo_weak", "frac_reward_zero_std", 0.95),
        {"zero-signal", "predicted silence"},
    ),
    "a weak run whose groups never agree": (
        spoil("grpo_weak", "frac_reward_zero_std", 0.35),
        {"zero-signal"},
    ),
    "a cold start that solves something else": (
        spoil("prompts_cold", "solved", 0.4),
        {"predicted greedy"},
    ),
    "a model of another size": (spoil("sft_weak", "parameters", 50_000), {"size"}),
    "numbers that are none": (spoil("grpo_weak", "accuracy", np.nan), {"overturn"}),
    "a run that takes all day": (spoil("time", "seconds", 9000.0), {"time"}),
}


@pytest.mark.parametrize("case", SPOILED)
def test_what_the_chapter_did_not_see_is_not_reproduced(case: str) -> None:
    edit, failing = SPOILED[case]
    results = as_in_the_chapter()
    edit(results)
    found = verdicts(results)
    assert {name for name, verdict in found.items() if verdict == claims.NOT_REPRODUCED} == failing


def test_every_rule_fails_in_some_case() -> None:
    failing = set().union(*(names for _, names in SPOILED.values()))
    assert failing == {claim.name for claim in claims.CLAIMS}


def test_the_size_is_counted() -> None:
    results = as_in_the_chapter()
    assert verdicts(results)["size"] == claims.CONTRADICTED
    spoil_all("sft_weak", "parameters", 120_000)(results)
    spoil_all("sft_long", "parameters", 120_000)(results)
    spoil_all("sft_cold", "parameters", 120_000)(results)
    assert verdicts(results)["size"] == claims.REPRODUCED


def test_a_claim_says_why_it_does_not_apply() -> None:
    results = as_in_the_chapter()
    for seed in SEEDS:
        del results[seed]["grpo_cold"]
    table = claims.check(results, {"grpo_cold": "the study has no experiment 'cold'"})
    rows = {row["claim"]: row for row in table}
    for name in ("cold", "zero-signal"):
        assert rows[name]["verdict"] == claims.NOT_APPLICABLE
        assert rows[name]["observed"] == "the study has no experiment 'cold'"
    assert rows["overturn"]["verdict"] == claims.REPRODUCED


def test_one_seed_is_enough() -> None:
    results = {42: as_in_the_chapter()[42]}
    assert claims.NOT_REPRODUCED not in verdicts(results).values()


def test_silent_fraction_by_hand() -> None:
    half = pd.Series([0.5, 1.0, 0.0])
    assert claims.silent_fraction(half, 2) == pytest.approx((0.5 + 1 + 1) / 3)
    ideal = all_prompts(0.3).probability
    assert claims.silent_fraction(ideal, 8) == pytest.approx(0.343, abs=5e-4)


def test_carry_prompts_are_the_tasks() -> None:
    prompts = all_prompts(0.0)
    a, b = addition.all_prompts()
    assert claims.has_carry(prompts).tolist() == arithmetic.has_carry(a, b).tolist()
