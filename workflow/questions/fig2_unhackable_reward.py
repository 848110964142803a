"""Does anything collapse in a long run without a KL penalty?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.colours import BLUE, GREY
from workflow.lib.drawing.curves import mean_and_band, plot_band
from workflow.lib.drawing.look import SINGLE, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured
from workflow.lib.study.runs import BySeed, tail

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake


def draw(runs: Experiments) -> "Figure":
    """Accuracy on the left axis, KL on the right one; the title names β and the iterations."""
    long = runs["long"]
    iteration, _, _, high = mean_and_band(long.metrics, "kl")
    title = f"β = {long.settings.beta:g}, {iteration[-1]:.0f} iterations: nothing collapses"
    figure, [left] = new_figure(SINGLE, title, [long.metrics])
    plot_band(left, long.metrics, "accuracy", BLUE, "Greedy accuracy (left axis)")
    label_axes(left, "iteration", "accuracy", (0.25, 1.05))
    left.yaxis.label.set_color(BLUE)

    right = left.twinx()
    plot_band(right, long.metrics, "kl", GREY, "KL (right axis)")
    # The KL stays below the accuracy, and noise around 0 looks like noise.
    highest = max(1.0, 1.3 * high.max())
    label_axes(right, "iteration", "kl", (-0.05 * highest, highest))
    right.yaxis.label.set_color(GREY)
    right.spines["right"].set_visible(True)
    right.grid(False)
    add_legend(figure, long.metrics)
    return figure


def drift(runs: Experiments) -> BySeed:
    """The KL over the last 200 iterations, as a multiple of that over the 200 before."""
    return runs["long"].measure(
        lambda frame: (
            tail(frame, 200).kl.mean() / tail(frame, 400).kl.iloc[: -len(tail(frame, 200))].mean()
        )
    )


QUESTION = Question(
    of_chapter=True,
    title="An unhackable reward: nothing collapses",
    experiments={"long": {"teacher_correctness": 0.3, "iterations": 600}},
    draw=draw,
    claims=[
        measured(
            "stable",
            "β = 0 for 600 iterations: accuracy stays at the top, KL settles at about 1 nat",
            "chapter",
            [
                Measure(
                    "accuracy over the last 300",
                    lambda runs: runs["long"].measure(lambda f: tail(f, 300).accuracy.mean()),
                    each=Within(low=0.92),
                    mean=Within(low=0.97),
                ),
                Measure(
                    "its lowest",
                    lambda runs: runs["long"].measure(lambda f: tail(f, 300).accuracy.min()),
                    Within(low=0.90),
                ),
                Measure(
                    "KL over the last 200 (nats)",
                    lambda runs: runs["long"].measure(lambda f: tail(f, 200).kl.mean()),
                    Within(0.4, 2.5),
                    digits=2,
                ),
                Measure("the same to that of the 200 before", drift, Within(0.7, 1.3), digits=2),
                Measure(
                    "highest KL",
                    lambda runs: runs["long"].measure(lambda f: f.kl.max()),
                    digits=2,
                ),
            ],
            chapter="final accuracy 1.000, 1.000, 0.999; final KL 0.95, 0.86, 0.84; "
            "maximum KL 1.32, 1.39, 1.15",
        ),
    ],
    caption="""\
**What to see.** A long run without a KL penalty (β = 0 in the chapter). If the policy finds no
loophole in the reward, accuracy (blue, left axis) stays at the top, and the KL to the SFT model
(grey, right axis) rises and then settles.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
