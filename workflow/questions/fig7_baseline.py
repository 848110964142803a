"""What should a reward be measured against: its group, its batch, or nothing?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import PALETTE
from workflow.lib.drawing.curves import plot_band
from workflow.lib.drawing.look import FRACTION, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import (
    Claim,
    Experiments,
    Observed,
    Question,
    by_setting,
    iterations_by_setting,
)
from workflow.lib.study.runs import BySeed, Runs, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

ADVANTAGES = {
    "group": "group mean and s.d. (GRPO)",
    "group_mean": "group mean (Dr. GRPO)",
    "leave_one_out": "leave one out (RLOO)",
    "batch": "batch mean and s.d.",
    "none": "none",
}
STARTS = {
    # What learns from the weak start has learned within a few iterations.
    "weak": {"teacher_correctness": 0.3, "iterations": 60, "eval_every": 1},
    "small": {"teacher_correctness": 0.01},
    "cold": {"teacher_correctness": 0.0},
}
METRICS = {"accuracy_carry": "Carry accuracy", "kl": "KL (nats)", "grad_norm": "Gradient norm"}
LEARNED, SOON = 0.9, 15
DIFFERENCE = 0.1
NOT_LEARNED, DRIFTED, STOOD_STILL = 0.1, 1.0, 0.3


def name_of(start: str, advantage: str) -> str:
    """The experiment's."""
    return f"{start}-{advantage.replace('_', '-')}"


def from_start(runs: Experiments, start: str) -> dict[str, Runs]:
    """The runs from one start, by their advantage."""
    return {advantage: runs[name_of(start, advantage)] for advantage in ADVANTAGES}


def draw(runs: Experiments) -> "Figure":
    """A column for each start, a row for each metric."""
    figure, panels = new_figure(
        (4 * len(STARTS), 9),
        QUESTION.title,
        [run.metrics for run in runs.values()],
        len(METRICS),
        len(STARTS),
    )
    places = iter(panels)
    for metric, words in METRICS.items():
        for column, (start, settings) in enumerate(STARTS.items()):
            axes = next(places)
            for colour, (advantage, run) in zip(
                PALETTE, from_start(runs, start).items(), strict=False
            ):
                plot_band(axes, run.metrics, metric, colour, ADVANTAGES[advantage])
            label_axes(
                axes,
                "iteration",
                words if column == 0 else "",
                FRACTION if metric == "accuracy_carry" else None,
                f"q = {settings['teacher_correctness']:g}" if metric == "accuracy_carry" else "",
            )
    add_legend(figure, next(iter(runs.values())).metrics, columns=3)
    return figure


def late(runs: dict[str, Runs], metric: str) -> dict[str, BySeed]:
    return {name: run.late(metric) for name, run in runs.items()}


def all_learn_from_weak(runs: Experiments) -> Observed:
    """The claim `baseline, weak`."""
    weak = from_start(runs, "weak")
    reached = {name: run.reaches("accuracy_carry", LEARNED) for name, run in weak.items()}
    norms = {name: run.at(1, "grad_norm") for name, run in weak.items()}
    return Observed(
        f"carry accuracy {LEARNED} at iteration {iterations_by_setting(reached)}; over the last "
        f"third {by_setting(late(weak, 'accuracy_carry'))}; first gradient norm "
        f"{by_setting(norms, 2)}",
        all(np.median(list(of_seeds.values())) <= SOON for of_seeds in reached.values()),
    )


def variants_differ(runs: Experiments) -> Observed:
    """The claim `baseline, small q`."""
    small = from_start(runs, "small")
    carry = late(small, "accuracy_carry")
    means = [mean(of_seeds) for of_seeds in carry.values()]
    return Observed(
        f"carry accuracy over the last third {by_setting(carry)}; "
        f"KL {by_setting(late(small, 'kl'), 2)}",
        max(means) - min(means) > DIFFERENCE,
    )


def batch_drifts_from_cold(runs: Experiments) -> Observed:
    """The claim `baseline, cold`."""
    cold = from_start(runs, "cold")
    carry = late(cold, "accuracy_carry")
    kl = {name: run.last("kl") for name, run in cold.items()}
    return Observed(
        f"carry accuracy {by_setting(carry)}; final KL {by_setting(kl, 2)}",
        all(mean(of_seeds) <= NOT_LEARNED for of_seeds in carry.values())
        and mean(kl["batch"]) >= DRIFTED
        and mean(kl["group"]) <= STOOD_STILL,
    )


QUESTION = Question(
    title="Does the group baseline matter?",
    experiments={
        name_of(start, advantage): {**settings, "advantage": advantage}
        for start, settings in STARTS.items()
        for advantage in ADVANTAGES
    },
    draw=draw,
    claims=[
        Claim(
            "baseline, weak",
            "From a weak start the baseline does not matter",
            "expectation",
            f"All have carry accuracy {LEARNED} within {SOON} iterations (median seed)",
            all_learn_from_weak,
        ),
        Claim(
            "baseline, small q",
            "Where right answers are rare, the variants differ",
            "expectation",
            f"Carry accuracy differs by more than {DIFFERENCE} from the worst to the best",
            variants_differ,
        ),
        Claim(
            "baseline, cold",
            "From a cold start none learns, but the batch baseline drifts (by 4.6 nats) where the "
            "group baseline stands still",
            "expectation",
            f"Carry accuracy is {NOT_LEARNED} at most; the KL of the batch baseline is {DRIFTED:g} "
            f"nat or more, that of the group baseline {STOOD_STILL} at most",
            batch_drifts_from_cold,
        ),
    ],
    caption="""\
**What to see.** Five ways to make an advantage of a reward, from three starts (columns): accuracy
on carry prompts, KL to the SFT model, and the gradient's norm. From a cold start there is no
spread within groups, but there is one over the batch: that only moves the policy about.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
