"""What does GRPO learn from a cold start, where no sample is ever right?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.colours import BLUE, RED
from workflow.lib.drawing.curves import plot_band
from workflow.lib.drawing.look import DOUBLE, FRACTION, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured
from workflow.lib.study.runs import tail

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake


def draw(runs: Experiments) -> "Figure":
    """Accuracy and zero-std groups, from a weak start and from a cold one."""
    weak, cold = runs["weak"].metrics, runs["cold"].metrics
    figure, panels = new_figure(DOUBLE, QUESTION.title, [weak, cold], columns=2)
    for axes, metric in zip(panels, ["accuracy", "frac_reward_zero_std"], strict=True):
        plot_band(axes, weak, metric, BLUE, "Weak start")
        plot_band(axes, cold, metric, RED, "Cold start")
        label_axes(axes, "iteration", metric, FRACTION)
    add_legend(figure, weak)
    return figure


QUESTION = Question(
    of_chapter=True,
    title="Cold start: all-same groups carry no gradient",
    experiments={"cold": {"teacher_correctness": 0.0}},
    draws=["weak"],
    draw=draw,
    claims=[
        measured(
            "cold",
            "From q = 0 nothing is learned",
            "chapter",
            [
                Measure("SFT", lambda runs: runs["cold"].start("accuracy"), Within(0.25, 0.36)),
                Measure(
                    "after GRPO", lambda runs: runs["cold"].last("accuracy"), Within(0.25, 0.36)
                ),
                Measure(
                    "carry at any time",
                    lambda runs: runs["cold"].measure(lambda f: f.accuracy_carry.max()),
                    Within(high=0.2),
                ),
            ],
            chapter="SFT 0.294, 0.311, 0.305; after GRPO 0.320, 0.292, 0.296; carry 0.000 each",
        ),
        measured(
            "zero-signal",
            'Cold: all groups "zero-signal" throughout; weak: from about a third to nearly all',
            "chapter",
            [
                Measure(
                    "mean of cold",
                    lambda runs: runs["cold"].measure(lambda f: f.frac_reward_zero_std.mean()),
                    Within(low=0.97),
                ),
                Measure(
                    "first batch of weak",
                    lambda runs: runs["weak"].at(1, "frac_reward_zero_std"),
                    Within(0.1, 0.7),
                ),
                Measure(
                    "last 50 iterations of weak",
                    lambda runs: runs["weak"].measure(
                        lambda f: tail(f, 50).frac_reward_zero_std.mean()
                    ),
                    each=Within(low=0.70),
                    mean=Within(low=0.85),
                ),
            ],
            chapter="cold, last row: 1.00 for each seed",
        ),
    ],
    caption="""\
**What to see.** A weak start (blue) sometimes samples the right answer, a cold start (red) never
does. If all completions of a prompt get the same reward, the group has zero standard deviation
and no gradient: a cold start has only such groups (right panel), and its accuracy stays where it
was (left panel). A weak start's groups come to this only as the prompts are mastered.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
