"""How much of the right answer must the SFT data hold for GRPO to have something to learn from?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import BLUE, GREY, RED
from workflow.lib.drawing.curves import plot_sweep
from workflow.lib.drawing.look import FRACTION, TRIPLE, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import (
    Claim,
    Experiments,
    Observed,
    Question,
    Within,
    by_setting,
    in_order,
    zero_std_as_predicted,
    zero_std_at_first,
)
from workflow.lib.study.runs import Runs, mean, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

ITERATIONS, LONGER = 300, 1500
LEARNED = 0.9
BETWEEN = Within(0.1, LEARNED)
"""Carry accuracy of a start that learns something, but not all."""
LARGEST_FALL = 0.1
"""Of carry accuracy, from one q to the next."""
SMALLEST_FINISHED = 0.003
KINDS = {"units only": "accuracy_units", "tens only": "accuracy_tens", "both": "accuracy_both"}


def by_q(runs: Experiments) -> dict[float, Runs]:
    return sweep(runs, lambda run: run.q)


def draw(runs: Experiments) -> "Figure":
    """What is learned, how fast, and the zero-std groups of the first batch, against q."""
    qs, ordered = list(by_q(runs)), list(by_q(runs).values())
    figure, [left, middle, right] = new_figure(
        TRIPLE, QUESTION.title, [run.metrics for run in ordered], columns=3
    )
    x = "Teacher correctness q"
    early = [run.at(ITERATIONS, "accuracy_carry") for run in ordered]
    plot_sweep(left, qs, early, BLUE, f"after {ITERATIONS} iterations")
    longer = [run for run in ordered if run.settings.iterations > ITERATIONS]
    if longer:
        final = [run.last("accuracy_carry") for run in longer]
        places = [qs.index(run.q) for run in longer]
        plot_sweep(left, qs, final, RED, f"after {LONGER} iterations", "s", places)
    label_axes(left, x, "accuracy_carry", FRACTION, "What is learned")

    reached = [run.reaches("accuracy_carry", LEARNED) for run in ordered]
    plot_sweep(middle, qs, reached, BLUE, f"first at {LEARNED} on carry prompts")
    if np.isfinite([list(of_seeds.values()) for of_seeds in reached]).any():
        middle.set_yscale("log")
        middle.yaxis.set_major_formatter("{x:g}")
        middle.yaxis.set_minor_formatter("")
    label_axes(
        middle, x, "GRPO iteration", title=f"Iterations to {LEARNED} (seeds that reached it)"
    )

    first, expected = zip(*map(zero_std_at_first, ordered), strict=True)
    plot_sweep(right, qs, first, BLUE, "first batch of each run")
    plot_sweep(right, qs, expected, GREY, "expected from the checkpoint", "D")
    label_axes(right, x, "Fraction of groups", FRACTION, "Zero-std groups at the start")
    for axes in (left, middle, right):
        axes.tick_params(axis="x", labelrotation=45)
    seeds = ordered[0].metrics
    add_legend(figure, seeds, columns=3, title="lines: means over seeds; dots: seeds")
    return figure


def no_sharp_edge(runs: Experiments) -> Observed:
    """The claim `cold-start data`."""
    carry = {q: run.at(ITERATIONS, "accuracy_carry") for q, run in by_q(runs).items()}
    means = [mean(of_seeds) for of_seeds in carry.values()]
    return Observed(
        f"carry accuracy after {ITERATIONS} iterations {by_setting(carry)}",
        bool((np.diff(means) > -LARGEST_FALL).all())
        and sum(value in BETWEEN for value in means) >= 2,
    )


def longer_training(runs: Experiments) -> Observed:
    """The claim `longer training`."""
    longer = {q: run for q, run in by_q(runs).items() if run.settings.iterations == LONGER}
    final = {q: run.last("accuracy_carry") for q, run in longer.items()}
    seeds = "; ".join(f"q = {q:g}: {in_order(of_seeds, 2)}" for q, of_seeds in final.items())
    kinds = "; ".join(
        f"where the carry is in {words} "
        + by_setting({q: run.last(metric) for q, run in longer.items()})
        for words, metric in KINDS.items()
    )
    kl = by_setting({q: run.late("kl") for q, run in longer.items()})
    return Observed(
        f"carry accuracy after {LONGER} iterations {by_setting(final)} (seeds {seeds}); "
        f"{kinds}; KL {kl}",
        all(mean(of_seeds) >= LEARNED for q, of_seeds in final.items() if q >= SMALLEST_FINISHED),
    )


QUESTION = Question(
    title="How much cold-start data is enough?",
    experiments={
        **{
            name: {"teacher_correctness": q, "iterations": LONGER, "eval_every": 10}
            for name, q in [("q0001", 0.001), ("q0003", 0.003), ("q001", 0.01), ("q003", 0.03)]
        },
        "q01": {"teacher_correctness": 0.1},
    },
    draws=["cold", "weak"],
    draw=draw,
    claims=[
        Claim(
            "cold-start data",
            f"There is no sharp edge: after {ITERATIONS} iterations carry accuracy is 0 at "
            "q = 0.001, 0.27 at 0.003, 0.36 at 0.01, 0.54 at 0.03",
            "expectation",
            f"From each q to the next it falls by {LARGEST_FALL} at most, and for two q or more it "
            f"is {BETWEEN}",
            no_sharp_edge,
        ),
        Claim(
            "longer training",
            "Longer training finishes what a small q began",
            "expectation",
            f"Carry accuracy is {LEARNED} or more after {LONGER} iterations for every q of "
            f"{SMALLEST_FINISHED} and more that trains so long",
            longer_training,
        ),
        zero_std_as_predicted("cold-start zero-std groups", by_q),
    ],
    caption="""\
**What to see.** The teacher's correctness q decides how often the SFT model samples a right
answer to a carry prompt, and so how much GRPO has to work with. Left: what is learned after few
and after many iterations. Middle: when nine in ten carry prompts are solved, for the seeds that
reach it. Right: the share of zero-std groups in the first batch, with what the checkpoint's own
probabilities predict.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
