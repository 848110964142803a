"""Does RL teach the model something new, or only strengthen what its samples already hold?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import BLUE, GREY
from workflow.lib.drawing.look import FRACTION, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study import theory
from workflow.lib.study.question import Claim, Experiments, Observed, Question
from workflow.lib.study.runs import BySeed, Frames, by_seed, has_carry, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

KS = [2**power for power in range(9)]
NEAR = 0.02
"""How close to GRPO's pass@1 the SFT model's pass@k counts as having come."""
NOTHING = 0.05
"""A pass@k that counts as nothing."""


def pass_at(k: int, prompts: Frames) -> BySeed:
    """pass@k on the carry prompts, exact, of each seed's model."""
    return by_seed(prompts, lambda p: theory.pass_at_k(p.probability[has_carry(p)], k))


def draw(runs: Experiments) -> "Figure":
    """pass@k before GRPO and after, a panel for each start."""
    figure, panels = new_figure(
        (5 * len(runs), 4.6),
        QUESTION.title,
        [run.metrics for run in runs.values()],
        columns=len(runs),
    )
    for axes, (name, run) in zip(panels, runs.items(), strict=True):
        for prompts, colour, label in [
            (run.before, GREY, "SFT"),
            (run.after, BLUE, "after GRPO"),
        ]:
            values = np.array([list(pass_at(k, prompts).values()) for k in KS])
            middle, deviation = values.mean(axis=1), values.std(axis=1)
            axes.fill_between(
                KS, middle - deviation, middle + deviation, color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(KS, middle, "o-", color=colour, label=label, markersize=5)
        axes.set_xscale("log", base=2)
        label_axes(axes, "k", "pass@k on carry prompts", FRACTION, name)
    add_legend(figure, runs["weak"].metrics)
    return figure


def only_sharpens(runs: Experiments) -> Observed:
    """The claim `pass@k, weak`."""
    run = runs["weak"]
    sft = {k: mean(pass_at(k, run.before)) for k in KS}
    grpo = mean(pass_at(1, run.after))
    near = [k for k in KS if sft[k] >= grpo - NEAR]
    meets = f"at k = {near[0]}" if near else "at no k here"
    return Observed(
        f"after GRPO pass@1 {grpo:.3f}; SFT pass@1 {sft[1]:.3f}, pass@{KS[-1]} {sft[KS[-1]]:.3f}; "
        f"SFT comes within {NEAR} of it {meets}",
        bool(near),
    )


def cold_stays_at_nothing(runs: Experiments) -> Observed:
    """The claim `pass@k, cold`."""
    k = KS[-1]
    sft, grpo = (mean(pass_at(k, p)) for p in (runs["cold"].before, runs["cold"].after))
    return Observed(f"pass@{k} of SFT {sft:.3f}, after GRPO {grpo:.3f}", max(sft, grpo) <= NOTHING)


QUESTION = Question(
    title="Does RL teach, or only sharpen?",
    draws=["weak", "cold"],
    draw=draw,
    claims=[
        Claim(
            "pass@k, weak",
            "RL only sharpens",
            "expectation",
            f"For some k up to {KS[-1]} the SFT model's pass@k on carry prompts comes within "
            f"{NEAR} of GRPO's pass@1",
            only_sharpens,
        ),
        Claim(
            "pass@k, cold",
            "There is nothing to sharpen in a cold start",
            "expectation",
            f"pass@{KS[-1]} on carry prompts is at most {NOTHING}, before GRPO and after",
            cold_stays_at_nothing,
        ),
    ],
    caption="""\
**What to see.** How often at least one of k samples of a carry prompt is right, for the SFT model
(grey) and for the policy that GRPO made of it (blue): exact values, from each model's own
probabilities. Where grey comes up to blue's left end, GRPO has sharpened what was there.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
