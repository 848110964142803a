"""What of the chapter's runs can be predicted without training?"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.publish import publish
from workflow.lib.study import theory
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured
from workflow.lib.study.runs import BySeed, Runs, by_seed, has_carry, tail
from workflow.lib.study.theory import NO_CARRY_SHARE

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

GROUP_SIZE = 8
"""The chapter's: the claim applies to no other."""
IMITATOR = theory.imitator(0.3)
"""What a perfect imitator of the weak start's teacher makes of the prompts."""


def expected(
    of_start: Callable[[theory.Probabilities], float], experiment: str = "weak"
) -> Callable[[Experiments], BySeed]:
    """What the checkpoint that an experiment starts from predicts, from its probabilities."""
    return lambda runs: by_seed(runs[experiment].before, lambda p: of_start(p.probability))


EXPECTED_KL = expected(theory.perfect_kl, "long")


def first_zero_std(runs: Experiments) -> BySeed:
    """The zero-std groups in the first batches of both runs that start from that checkpoint."""
    first = [runs[name].at(1, "frac_reward_zero_std") for name in ("weak", "long")]
    return {seed: float(np.mean([of_seeds[seed] for of_seeds in first])) for seed in first[0]}


def shares(
    words: str,
    seen: Callable[[Experiments], BySeed],
    of_start: Callable[[theory.Probabilities], float],
    trials: Callable[[Runs], int],
) -> list[Measure]:
    """A share of so many trials, and by how many standard errors it is above the prediction."""

    def scores(runs: Experiments) -> BySeed:
        shares, number = seen(runs), trials(runs["weak"])
        return {
            seed: (shares[seed] - share) / theory.standard_error(share, number)
            for seed, share in expected(of_start)(runs).items()
        }

    return [
        Measure("expected", expected(of_start)),
        Measure(words, seen),
        Measure("difference in standard errors", scores, Within(-4, 4), digits=1),
    ]


def late_kl(runs: Experiments) -> BySeed:
    return runs["long"].measure(lambda frame: tail(frame, 200).kl.mean())


def kl_ratios(runs: Experiments) -> BySeed:
    predicted = EXPECTED_KL(runs)
    return {seed: kl / predicted[seed] for seed, kl in late_kl(runs).items()}


def zero_std(p: theory.Probabilities) -> float:
    return theory.zero_std_fraction(p, GROUP_SIZE)


QUESTION = Question(
    of_chapter=True,
    title="What can be predicted without training",
    draws=["weak", "long", "cold"],
    claims=[
        measured(
            "predicted greedy",
            f"A model that has learned only the no-carry sum is right on {NO_CARRY_SHARE} of the "
            "prompts",
            "theory",
            [
                Measure(
                    "prompts without a carry",
                    lambda runs: by_seed(runs["cold"].before, lambda p: 1 - has_carry(p).mean()),
                    Within(NO_CARRY_SHARE, NO_CARRY_SHARE),
                    digits=4,
                ),
                Measure(
                    "prompts that the q = 0 SFT model solves",
                    lambda runs: by_seed(runs["cold"].before, lambda p: p.solved.mean()),
                    Within(NO_CARRY_SHARE - 0.01, NO_CARRY_SHARE + 0.01),
                    digits=4,
                ),
            ],
        ),
        measured(
            "predicted samples",
            "One sample per prompt is right as often as the mean of p, the SFT model's probability "
            "of the right answer",
            "theory",
            shares(
                "sampled",
                lambda runs: runs["weak"].start("accuracy_sampled"),
                lambda p: float(np.mean(p)),
                lambda weak: weak.settings.eval_prompts,
            ),
            aside=f"; expected of a perfect imitator {IMITATOR.mean():.3f}",
        ),
        measured(
            "predicted zero-std groups",
            f"At the start a group of {GROUP_SIZE} has zero std with probability "
            f"p^{GROUP_SIZE} + (1 − p)^{GROUP_SIZE}, averaged over the prompts",
            "theory",
            shares(
                "first batches of weak and long",
                first_zero_std,
                zero_std,
                lambda weak: 2 * weak.settings.num_prompts,
            ),
            aside=f"; expected of a perfect imitator {zero_std(IMITATOR):.3f}",
        ),
        measured(
            "predicted KL",
            "A perfect policy's KL to the SFT reference is the mean of ln(1/p)",
            "theory",
            [
                Measure("expected (nats)", EXPECTED_KL, digits=2),
                Measure("over the last 200 iterations", late_kl, digits=2),
                Measure("ratio", kl_ratios, Within(0.8, 1.2), digits=2),
            ],
            aside=f"; expected of a perfect imitator {theory.perfect_kl(IMITATOR):.2f}",
        ),
    ],
    caption="Predictions from the SFT models' own probabilities p of the right answers.",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
