"""Questions for the tests of the configuration: the chapter's three, and two others."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow.lib.study.question import Question


def stub(
    experiments: Mapping[str, Mapping[str, Any]],
    draws: Sequence[str] = (),
    of_chapter: bool = False,
) -> Question:
    """A question as far as the configuration knows it."""
    return Question("", [], "", experiments, draws, of_chapter=of_chapter)


QUESTIONS: Mapping[str, Question] = {
    "fig1_rlvr_overturns": stub({"weak": {"teacher_correctness": 0.3}}, of_chapter=True),
    "fig2_unhackable_reward": stub(
        {"long": {"teacher_correctness": 0.3, "iterations": 600}}, of_chapter=True
    ),
    "fig3_cold_start": stub(
        {"cold": {"teacher_correctness": 0.0}}, draws=["weak"], of_chapter=True
    ),
    "fig9_noisy_verifier": stub(
        {"noise-20": {"teacher_correctness": 0.3, "reward": "verifier", "reward_noise": 0.2}}
    ),
    "fig10_anchor": stub(
        {
            "beta-050": {"teacher_correctness": 0.3, "iterations": 600, "beta": 0.5},
            "learned": {"teacher_correctness": 0.3, "reward": "learned", "reward_noise": 0.0},
        },
        draws=["long"],
    ),
}
