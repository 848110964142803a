"""How many wrong verdicts can GRPO bear?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.colours import BLUE, PALETTE, RED
from workflow.lib.drawing.curves import plot_band, plot_sweep
from workflow.lib.drawing.look import (
    BANDS_AND_DOTS,
    DOUBLE_TALL,
    FRACTION,
    add_legend,
    label_axes,
    new_figure,
)
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import (
    Claim,
    Experiments,
    Observed,
    Question,
    by_setting,
    iterations_by_setting,
)
from workflow.lib.study.runs import Runs, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

FLIPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
BORNE, NO_VERDICT = 0.4, 0.5
"""The largest share of flips with which GRPO should learn, and the one that leaves no verdict."""
LEARNED, NOT_LEARNED = 0.9, 0.3


def name_of(flip: float) -> str:
    """The experiment's."""
    return f"noise-{round(100 * flip):02}"


def by_flip(runs: Experiments) -> dict[float, Runs]:
    return {flip: runs[name_of(flip)] for flip in FLIPS}


def draw(runs: Experiments) -> "Figure":
    """Carry accuracy along the way, and accuracies in the end, for each share of flips."""
    ordered = list(by_flip(runs).values())
    figure, [left, right] = new_figure(
        DOUBLE_TALL, QUESTION.title, [run.metrics for run in ordered], columns=2
    )
    for colour, flip, run in zip(PALETTE, FLIPS, ordered, strict=False):
        plot_band(left, run.metrics, "accuracy_carry", colour, f"flipped: {flip:g}")
    label_axes(left, "iteration", "accuracy_carry", FRACTION, "Speed of learning")
    for metric, colour, words in [
        ("accuracy", BLUE, "all prompts"),
        ("accuracy_carry", RED, "carry prompts"),
    ]:
        plot_sweep(right, FLIPS, [run.late(metric) for run in ordered], colour, words)
    x = "Probability that a verdict is flipped"
    label_axes(right, x, "accuracy", FRACTION, "Over the last third")
    add_legend(figure, ordered[0].metrics, columns=4, title=BANDS_AND_DOTS)
    return figure


def noise_slows_and_kills(runs: Experiments) -> Observed:
    """The claim `noisy verifier`."""
    late = {flip: run.late("accuracy_carry") for flip, run in by_flip(runs).items()}
    reached = {flip: run.reaches("accuracy_carry", LEARNED) for flip, run in by_flip(runs).items()}
    return Observed(
        f"carry accuracy over the last third {by_setting(late)}; at {LEARNED} first at iteration "
        + iterations_by_setting(reached),
        all(mean(late[flip]) >= LEARNED for flip in FLIPS if flip <= BORNE)
        and mean(late[NO_VERDICT]) <= NOT_LEARNED,
    )


QUESTION = Question(
    title="How much noise does a verifier bear?",
    experiments={
        name_of(flip): {
            "teacher_correctness": 0.3,
            "iterations": 150,
            "eval_every": 1,
            "reward_noise": flip,
        }
        for flip in FLIPS
    },
    draw=draw,
    claims=[
        Claim(
            "noisy verifier",
            f"GRPO learns up to a flip of {BORNE} and not at {NO_VERDICT}, where 1 − 2·flip = 0",
            "expectation",
            f"Carry accuracy over the last third is {LEARNED} or more up to {BORNE}, and "
            f"{NOT_LEARNED} at most at {NO_VERDICT}",
            noise_slows_and_kills,
        ),
    ],
    caption="""\
**What to see.** Each verdict is flipped with a probability. What a right answer is expected to
get more than a wrong one shrinks to 1 − 2·flip, and the flips add to the spread that it is
divided by: learning slows down towards one half, where the verdicts say nothing.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
