"""The rules of the findings: each can come true, and each can fail."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.questions.examples import evidence, pass_at_k
from workflow.lib.study.claims import AS_EXPECTED, NOT_APPLICABLE, NOT_AS_EXPECTED
from workflow.lib.study.findings import FINDINGS, Evidence, check
from workflow.lib.study.runs import sweep


def spoil(figure: str, metric: str, value: float, *names: str) -> Callable[[Evidence], None]:
    """An edit that sets a metric of all rows, of some of a figure's experiments or of all."""

    def edit(made: Evidence) -> None:
        for name, run in made.runs[figure].items():
            if not names or name in names:
                for frame in run.metrics.values():
                    frame[metric] = value

    return edit


def spoil_pass_at_k(name: str, sft: float, grpo: float) -> Callable[[Evidence], None]:
    return lambda made: made.pass_at_k.update({name: pass_at_k(sft, grpo)})  # type: ignore[attr-defined]


FIG6 = "fig6_reward_is_the_objective"
SPOILERS = {
    "cold-start data": spoil("fig4_cold_start_data", "accuracy_carry", 1.0),
    "longer training": spoil("fig4_cold_start_data", "accuracy_carry", 0.8, "q0.01"),
    "cold-start silence": spoil("fig4_cold_start_data", "frac_reward_zero_std", 0.0, "q0.0"),
    "pass@k, weak": spoil_pass_at_k("weak", 0.001, 0.999),
    "pass@k, cold": spoil_pass_at_k("cold", 0.0, 0.5),
    "learned reward": spoil(FIG6, "accuracy_carry", 0.9, "learned"),
    "within 10": spoil(FIG6, "accuracy", 0.95, "within_100.0"),
    "no hundreds": spoil(FIG6, "accuracy", 0.9, "without_hundreds0.0"),
    "anchor against a hole": spoil(FIG6, "accuracy", 0.9, "within_100.1"),
    "baseline, weak": spoil("fig7_baseline", "accuracy_carry", 0.5, "0.3-none"),
    "baseline, small q": spoil("fig7_baseline", "accuracy_carry", 0.5),
    "baseline, cold": spoil("fig7_baseline", "kl", 0.1),
    "group size, silence": spoil("fig8_group_size", "frac_reward_zero_std", 0.3, "2"),
    "group size, speed": spoil("fig8_group_size", "accuracy_carry", 0.5, "32"),
    "noisy verifier": spoil("fig9_noisy_verifier", "accuracy_carry", 0.5, "0.5"),
    "anchor, accuracy": spoil("fig10_anchor", "accuracy", 0.97, "0.5"),
    "anchor, KL": spoil("fig10_anchor", "kl", 1.0, "0.5"),
}


def test_everything_can_come_true() -> None:
    table = check(evidence())
    assert {row["finding"]: row["verdict"] for row in table} == dict.fromkeys(SPOILERS, AS_EXPECTED)
    for row in table:
        assert list(row) == [
            *("finding", "figure", "question", "expected", "observed", "verdict"),
        ]
        assert row["observed"] and "nan" not in row["observed"]


@pytest.mark.parametrize("name", [finding.name for finding in FINDINGS])
def test_each_can_fail(name: str) -> None:
    made = evidence()
    SPOILERS[name](made)
    verdicts = {row["finding"]: row["verdict"] for row in check(made)}
    assert verdicts[name] == NOT_AS_EXPECTED


def test_what_was_not_run_is_not_judged() -> None:
    table = check(Evidence(runs={}, pass_at_k={}, reward_models=[]))
    assert {row["verdict"] for row in table} == {NOT_APPLICABLE}
    assert all("fig" in row["observed"] for row in table)


def test_of_two_runs_with_one_value_the_first_counts() -> None:
    made = evidence()
    runs = {**made.runs["fig10_anchor"], "again": made.runs["fig7_baseline"]["0.3-batch"]}
    assert list(sweep(runs, lambda run: run.settings.beta)) == [0.0, 0.1, 0.5]
    assert sweep(runs, lambda run: run.settings.beta)[0.0] is runs["0.0"]


def test_a_run_that_never_gets_there_is_said_to() -> None:
    made = evidence()
    spoil("fig8_group_size", "accuracy_carry", 0.0, "4")(made)
    [row] = [row for row in check(made) if row["finding"] == "group size, speed"]
    assert "G = 4: never/never/never" in row["observed"]


def test_runs_tell_of_rows() -> None:
    run = evidence().runs["fig10_anchor"]["0.0"]
    assert run.last("iteration") == {1: 600.0, 2: 600.0, 3: 600.0}
    assert run.at(15, "accuracy")[1] == 1
    frame = run.metrics[1]
    assert run.at(17, "kl")[1] == run.at(15, "kl")[1] == frame.kl[frame.iteration == 15].item()
    assert run.late("kl")[1] == pytest.approx(frame.kl[frame.iteration > 400].mean())
    assert run.reaches("accuracy", 0.5)[1] == frame.iteration[frame.accuracy >= 0.5].iloc[0]
    assert np.isinf(run.reaches("accuracy", 2)[1])
