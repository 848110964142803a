"""What does the group size do, at the same number of completions?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import BLUE, GREY, PALETTE
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
    iterations_by_setting,
    zero_std_as_predicted,
    zero_std_at_first,
)
from workflow.lib.study.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

COMPLETIONS = 256
SIZES = (2, 4, 8, 16, 32)
LEARNED, SOON = 0.9, 30


def by_size(runs: Experiments) -> dict[int, Runs]:
    return {size: runs[f"groups-of-{size}"] for size in SIZES}


def draw(runs: Experiments) -> "Figure":
    """The zero-std groups of the first batch, and how fast each size learns."""
    ordered = list(by_size(runs).values())
    figure, [left, right] = new_figure(
        DOUBLE_TALL, QUESTION.title, [run.metrics for run in ordered], columns=2
    )
    first, expected = zip(*map(zero_std_at_first, ordered), strict=True)
    plot_sweep(left, SIZES, first, BLUE, "first batch of each run")
    plot_sweep(left, SIZES, expected, GREY, "expected: the mean of $p^G + (1 - p)^G$", "D")
    label_axes(left, "Group size G", "Fraction of groups", FRACTION, "Zero-std groups at the start")
    for colour, size, run in zip(PALETTE[2:], SIZES, ordered, strict=False):
        plot_band(right, run.metrics, "accuracy_carry", colour, f"G = {size}")
    label_axes(right, "iteration", "accuracy_carry", FRACTION, "Speed of learning")
    add_legend(figure, ordered[0].metrics, columns=4, title=BANDS_AND_DOTS)
    return figure


def every_size_learns(runs: Experiments) -> Observed:
    """The claim `group size, speed`."""
    reached = {
        f"G = {size}": run.reaches("accuracy_carry", LEARNED) for size, run in by_size(runs).items()
    }
    return Observed(
        f"carry accuracy {LEARNED} at iteration {iterations_by_setting(reached)}",
        all(np.median(list(of_seeds.values())) <= SOON for of_seeds in reached.values()),
    )


QUESTION = Question(
    title="What does the group size do?",
    experiments={
        f"groups-of-{size}": {
            "teacher_correctness": 0.3,
            "num_generations": size,
            "num_prompts": COMPLETIONS // size,
            "iterations": 60,
            "eval_every": 1,
        }
        for size in SIZES
    },
    draw=draw,
    claims=[
        zero_std_as_predicted("group size, zero-std groups", by_size),
        Claim(
            "group size, speed",
            f"The size matters little for speed, at {COMPLETIONS} completions an iteration",
            "expectation",
            f"Every size has carry accuracy {LEARNED} within {SOON} iterations (median seed)",
            every_size_learns,
        ),
    ],
    caption="""\
**What to see.** The number of completions is always the same, in many small groups or few large
ones. Left: larger groups have zero standard deviation less often, as the checkpoint's own
probabilities predict. Right: how fast each learns.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
