"""What does a KL penalty cost when the reward is the objective, and what does it hold back?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import BLUE, GREY, PALETTE, RED
from workflow.lib.drawing.curves import plot_band, plot_sweep
from workflow.lib.drawing.look import BANDS_AND_DOTS, TRIPLE, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study import theory
from workflow.lib.study.question import Claim, Experiments, Observed, Question, by_setting
from workflow.lib.study.runs import BySeed, Runs, by_seed, mean, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

BETAS = {"beta-002": 0.02, "beta-010": 0.1, "beta-050": 0.5}
CHEAP = 0.98
"""Accuracy from which on an anchor counts as free."""


def by_beta(runs: Experiments) -> dict[float, Runs]:
    return sweep(runs, lambda run: run.settings.beta)


def perfect_kl(run: Runs) -> BySeed:
    """That of a policy that is always right to each seed's SFT model."""
    return by_seed(run.before, lambda p: theory.perfect_kl(p.probability))


def draw(runs: Experiments) -> "Figure":
    """The KL along the way and in the end, and the accuracy in the end, for each β."""
    betas, ordered = list(by_beta(runs)), list(by_beta(runs).values())
    figure, [left, middle, right] = new_figure(
        TRIPLE, QUESTION.title, [run.metrics for run in ordered], columns=3
    )
    for colour, beta, run in zip(PALETTE, betas, ordered, strict=False):
        plot_band(left, run.metrics, "kl", colour, f"β = {beta:g}")
    label_axes(left, "iteration", "kl", title="KL along the way")
    plot_sweep(middle, betas, [run.late("kl") for run in ordered], BLUE, "over the last third")
    plot_sweep(middle, betas, list(map(perfect_kl, ordered)), GREY, "a perfect policy's KL", "D")
    label_axes(middle, "β", "kl", title="KL in the end")
    late, late_carry = ([run.late(m) for run in ordered] for m in ("accuracy", "accuracy_carry"))
    plot_sweep(right, betas, late, BLUE, "over the last third")
    plot_sweep(right, betas, late_carry, RED, "the same on carry prompts")
    lowest = min(value for of_seeds in late_carry for value in of_seeds.values())
    limits = (min(0.75, lowest - 0.05), 1.01)
    label_axes(right, "β", "accuracy", limits, "Accuracy in the end")
    add_legend(figure, ordered[0].metrics, columns=4, title=BANDS_AND_DOTS)
    return figure


def anchors_cost_little(runs: Experiments) -> Observed:
    """The claim `anchor, accuracy`."""
    late = {beta: run.late("accuracy") for beta, run in by_beta(runs).items()}
    return Observed(
        f"accuracy over the last third {by_setting(late)}",
        all(mean(of_seeds) >= CHEAP for of_seeds in late.values()),
    )


def anchors_hold_back(runs: Experiments) -> Observed:
    """The claim `anchor, KL`."""
    kl = {beta: run.late("kl") for beta, run in by_beta(runs).items()}
    return Observed(
        f"KL over the last third {by_setting(kl, 2)}; a perfect policy's "
        f"{mean(perfect_kl(runs['long'])):.2f}",
        bool((np.diff([mean(of_seeds) for of_seeds in kl.values()]) < 0).all()),
    )


QUESTION = Question(
    title="What does an anchor do?",
    experiments={
        name: {"teacher_correctness": 0.3, "iterations": 600, "beta": beta}
        for name, beta in BETAS.items()
    },
    draws=["long"],
    draw=draw,
    claims=[
        Claim(
            "anchor, accuracy",
            "An anchor costs nothing",
            "expectation",
            f"Accuracy over the last third is {CHEAP} or more for every β",
            anchors_cost_little,
        ),
        Claim(
            "anchor, KL",
            "An anchor holds the KL back",
            "expectation",
            "The KL over the last third falls as β grows",
            anchors_hold_back,
        ),
    ],
    caption="""\
**What to see.** A KL penalty of weight β in runs of 600 iterations: the KL along the way and in
the end, with that of a perfect policy, and the accuracy in the end.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
