"""What becomes of the true accuracy when the reward is not the objective?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import BLUE, GREY, RED
from workflow.lib.drawing.curves import plot_band
from workflow.lib.drawing.look import FRACTION, add_legend, label_axes, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Claim, Experiments, Observed, Question
from workflow.lib.study.runs import mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake

BETA = 0.1
"""The weight of the KL penalty in the anchored runs."""
REWARDS = {
    "weak": "The verifier",
    "learned": "Learned from the teacher (log-odds)",
    "within-10": "Anything within 10",
    "without-hundreds": "No hundreds digit",
}
"""The runs without a KL penalty, and what their reward is."""
ANCHORED = {name: f"{name}-anchored" for name in REWARDS} | {"weak": "verifier-anchored"}
"""For each of them, the same with a KL penalty."""
NOT_LEARNED, EXPLOITED, STALLED, STILL_LEARNED, GAIN = 0.5, 0.95, 0.9, 0.95, 0.05
"""Bounds, in the order of the claims."""


def draw(runs: Experiments) -> "Figure":
    """A column for each reward: true accuracy and reward above, KL below."""
    figure, panels = new_figure(
        (3.6 * len(REWARDS), 7.6),
        QUESTION.title,
        [run.metrics for run in runs.values()],
        rows=2,
        columns=len(REWARDS),
    )
    for column, (name, title) in enumerate(REWARDS.items()):
        top, bottom = panels[column], panels[len(REWARDS) + column]
        # A learned reward is no fraction, and has an axis of its own.
        reward_axes = top.twinx() if name == "learned" else top
        for run, line in [(runs[name], "-"), (runs[ANCHORED[name]], "--")]:
            beta = f", β = {run.settings.beta:g}"
            plot_band(top, run.metrics, "accuracy", BLUE, f"True accuracy{beta}", line)
            plot_band(reward_axes, run.metrics, "reward", RED, f"Reward{beta}", line)
            plot_band(bottom, run.metrics, "kl", GREY, f"KL{beta}", line)
        if reward_axes is not top:
            reward_axes.spines["right"].set_visible(True)
            reward_axes.grid(False)
            reward_axes.tick_params(axis="y", labelcolor=RED)
        first = column == 0
        label_axes(top, "iteration", "Accuracy, reward" if first else "", FRACTION, title)
        label_axes(bottom, "iteration", "kl" if first else "")
    add_legend(figure, runs["weak"].metrics, columns=6)
    return figure


def learned_reward(runs: Experiments) -> Observed:
    """The claim `learned reward`."""
    run = runs["learned"]
    first, last = mean(run.at(1, "reward")), mean(run.last("reward"))
    carry = mean(run.late("accuracy_carry"))
    models = run.reward_models.values()
    tells, prefers = (
        float(np.mean([model[column].item() for model in models]))
        for column in ("accuracy", "prefers_no_carry")
    )
    return Observed(
        f"reward {first:.2f} to {last:.2f} nats, carry accuracy {carry:.3f}; the "
        f"reward models tell {tells:.3f} of the answers rightly and prefer the no-carry sum on "
        f"{prefers:.3f} of the carry prompts",
        last > first and carry <= NOT_LEARNED,
    )


def hole_within_10(runs: Experiments) -> Observed:
    """The claim `within 10`."""
    run = runs["within-10"]
    reward, accuracy = mean(run.late("reward")), mean(run.late("accuracy"))
    units, tens, both = (mean(run.late(f"accuracy_{kind}")) for kind in ("units", "tens", "both"))
    return Observed(
        f"reward {reward:.3f}, accuracy {accuracy:.3f}; where the units carry {units:.3f}, the "
        f"tens {tens:.3f}, both {both:.3f}",
        reward >= EXPLOITED and accuracy <= STALLED,
    )


def hole_without_hundreds(runs: Experiments) -> Observed:
    """The claim `no hundreds`."""
    run = runs["without-hundreds"]
    reward, accuracy = mean(run.late("reward")), mean(run.late("accuracy"))
    return Observed(f"reward {reward:.3f}, accuracy {accuracy:.3f}", accuracy >= STILL_LEARNED)


def anchor_against_a_hole(runs: Experiments) -> Observed:
    """The claim `anchor against a hole`."""
    texts, gains = [], []
    for name in REWARDS:
        if name == "weak":
            continue
        free, held = runs[name], runs[ANCHORED[name]]
        before, after = mean(free.late("accuracy")), mean(held.late("accuracy"))
        texts.append(
            f"{name} {before:.3f} to {after:.3f} "
            f"(KL {mean(free.late('kl')):.2f} to {mean(held.late('kl')):.2f})"
        )
        gains.append(after - before)
    return Observed("accuracy " + ", ".join(texts), max(gains) <= GAIN)


QUESTION = Question(
    title="Is the reward the objective?",
    experiments={
        "verifier-anchored": {"teacher_correctness": 0.3, "beta": BETA},
        **{
            name + suffix: {"teacher_correctness": 0.3, "reward": name.replace("-", "_"), **anchor}
            for name in REWARDS
            if name != "weak"
            for suffix, anchor in [("", {}), ("-anchored", {"beta": BETA})]
        },
    },
    draws=["weak"],
    draw=draw,
    claims=[
        Claim(
            "learned reward",
            "A reward learned from the flawed teacher's data does not lead to the truth",
            "chapter",
            f"The reward rises, and carry accuracy stays at {NOT_LEARNED} or less",
            learned_reward,
            chapter="said, and not tried",
        ),
        Claim(
            "within 10",
            "A hole in the verifier is found: any number within 10 passes. Accuracy stalls near "
            "0.80",
            "expectation",
            f"Reward nears 1 ({EXPLOITED} or more) while accuracy is {STALLED} at most",
            hole_within_10,
        ),
        Claim(
            "no hundreds",
            "Another hole is not found: the hundreds digit is ignored. Accuracy still reaches 0.97",
            "expectation",
            f"Accuracy is {STILL_LEARNED} or more",
            hole_without_hundreds,
        ),
        Claim(
            "anchor against a hole",
            f"A KL anchor (β = {BETA}) does not help against a wrong reward",
            "expectation",
            f"It adds at most {GAIN} of accuracy under any of them",
            anchor_against_a_hole,
        ),
    ],
    caption="""\
**What to see.** Each column trains on another reward (red). Blue is the true accuracy, grey the
KL to the SFT model; dashed lines are held back by a KL penalty. Where red rises and blue does
not, the reward is not the objective.""",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
