"""Does a verifiable reward overturn a systematic error, and how fast?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.colours import BLUE, RED
from workflow.lib.drawing.curves import plot_band
from workflow.lib.drawing.look import FRACTION, SINGLE, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured
from workflow.lib.study.runs import by_seed, has_carry, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

FINAL, FINAL_MEAN = Within(low=0.90), Within(low=0.97)


def draw(runs: Experiments) -> "Figure":
    """Accuracy overall and on carry prompts; dotted, that of the SFT models it starts from."""
    weak = runs["weak"]
    figure, [axes] = new_figure(SINGLE, QUESTION.title, [weak.metrics])
    for metric, prompts, colour in [
        ("accuracy", "overall", BLUE),
        ("accuracy_carry", "carry prompts", RED),
    ]:
        plot_band(axes, weak.metrics, metric, colour, f"GRPO, {prompts}")
        start = mean(weak.start(metric))
        axes.axhline(start, color=colour, linestyle=":", label=f"SFT, {prompts}: {start:.3f}")
    label_axes(axes, "iteration", "accuracy", FRACTION)
    add_legend(figure, weak.metrics)
    return figure


QUESTION = Question(
    of_chapter=True,
    title="Verifiable reward overturns a systematic error",
    experiments={"weak": {"teacher_correctness": 0.3}},
    draw=draw,
    claims=[
        measured(
            "base",
            "The q = 0.3 SFT model is confidently wrong",
            "chapter",
            [
                Measure("greedy", lambda runs: runs["weak"].start("accuracy"), Within(0.25, 0.42)),
                Measure(
                    "carry", lambda runs: runs["weak"].start("accuracy_carry"), Within(high=0.15)
                ),
                Measure(
                    "sampled",
                    lambda runs: runs["weak"].start("accuracy_sampled"),
                    Within(0.34, 0.65),
                ),
                Measure(
                    "carry samples right",
                    lambda runs: by_seed(
                        runs["weak"].before, lambda p: p.probability[has_carry(p)].mean()
                    ),
                    Within(0.10, 0.50),
                ),
            ],
            chapter="greedy 0.303, 0.317, 0.326; carry 0.000, 0.036, 0.040; "
            "sampled 0.524, 0.488, 0.518",
        ),
        measured(
            "overturn",
            "GRPO lifts overall and carry accuracy to 1.00",
            "chapter",
            [
                Measure(
                    "overall",
                    lambda runs: runs["weak"].last("accuracy"),
                    each=FINAL,
                    mean=FINAL_MEAN,
                ),
                Measure(
                    "carry",
                    lambda runs: runs["weak"].last("accuracy_carry"),
                    each=FINAL,
                    mean=FINAL_MEAN,
                ),
            ],
            chapter="both 1.00 for each seed",
        ),
        measured(
            "fast",
            "It takes about 20 iterations",
            "chapter",
            [
                Measure(
                    "first iteration with carry accuracy 0.9",
                    lambda runs: runs["weak"].reaches("accuracy_carry", 0.9),
                    each=Within(high=100),
                    median=Within(high=25),
                    digits=0,
                )
            ],
            chapter="a curve, no number",
        ),
    ],
    caption="""\
**What to see.** The dotted lines are the SFT models: wrong on nearly every prompt that has a
carry. If the reward overturns the error, both curves rise from there to 1. Lines are means over
the seeds, shading is one standard deviation to each side.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
