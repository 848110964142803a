"""What of the chapter's runs can be predicted without training?"""

from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.publish import publish
from workflow.lib.study import theory
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured
from workflow.lib.study.runs import BySeed, by_seed, has_carry, tail
from workflow.lib.study.theory import NO_CARRY_SHARE

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

IMITATOR = theory.imitator(0.3)
"""What a perfect imitator of the weak start's teacher makes of the prompts."""
STANDARD_ERRORS = Within(-4, 4)


def standard_scores(seen: BySeed, expected: BySeed, trials: int) -> BySeed:
    """How many standard errors of so many trials each share is above what was expected."""
    return {
        seed: (seen[seed] - share) / theory.standard_error(share, trials)
        for seed, share in expected.items()
    }


def sampled_expected(runs: Experiments) -> BySeed:
    return by_seed(runs["weak"].before, lambda p: p.probability.mean())


def sampled(runs: Experiments) -> BySeed:
    return runs["weak"].start("accuracy_sampled")


def zero_std_expected(runs: Experiments) -> BySeed:
    size = runs["weak"].settings.num_generations
    return by_seed(runs["weak"].before, lambda p: theory.zero_std_fraction(p.probability, size))


def zero_std(runs: Experiments) -> BySeed:
    """In the first batches of both runs that start from the same checkpoint."""
    first = [runs[name].at(1, "frac_reward_zero_std") for name in ("weak", "long")]
    return {seed: float(np.mean([of_seeds[seed] for of_seeds in first])) for seed in first[0]}


def kl_expected(runs: Experiments) -> BySeed:
    return by_seed(runs["long"].before, lambda p: theory.perfect_kl(p.probability))


def kl(runs: Experiments) -> BySeed:
    return runs["long"].measure(lambda f: tail(f, 200).kl.mean())


def sampled_scores(runs: Experiments) -> BySeed:
    return standard_scores(
        sampled(runs), sampled_expected(runs), runs["weak"].settings.eval_prompts
    )


def zero_std_scores(runs: Experiments) -> BySeed:
    groups = 2 * runs["weak"].settings.num_prompts
    return standard_scores(zero_std(runs), zero_std_expected(runs), groups)


def kl_ratios(runs: Experiments) -> BySeed:
    expected = kl_expected(runs)
    return {seed: seen / expected[seed] for seed, seen in kl(runs).items()}


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
            [
                Measure("expected", sampled_expected),
                Measure("sampled", sampled),
                Measure("difference in standard errors", sampled_scores, STANDARD_ERRORS, digits=1),
            ],
            aside=f"; expected of a perfect imitator {IMITATOR.mean():.3f}",
        ),
        measured(
            "predicted zero-std groups",
            "At the start a group of 8 has zero std with the mean of p^8 + (1 − p)^8 as its "
            "probability",
            "theory",
            [
                Measure("expected", zero_std_expected),
                Measure("first batches of weak and long", zero_std),
                Measure(
                    "difference in standard errors", zero_std_scores, STANDARD_ERRORS, digits=1
                ),
            ],
            aside="; expected of a perfect imitator "
            f"{theory.zero_std_fraction(IMITATOR, size=8):.3f}",
        ),
        measured(
            "predicted KL",
            "A perfect policy's KL to the SFT reference is the mean of ln(1/p)",
            "theory",
            [
                Measure("expected (nats)", kl_expected, digits=2),
                Measure("over the last 200 iterations", kl, digits=2),
                Measure("ratio", kl_ratios, Within(0.8, 1.2), digits=2),
            ],
            aside=f"; expected of a perfect imitator {theory.perfect_kl(IMITATOR):.2f}",
        ),
    ],
    caption="Predictions from the SFT models' own probabilities p of the right answers.",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
