"""The form of a question: its experiments, its figure, its claims, and the rules that decide them.

A claim has a rule that can fail. Most rules are bounds on a few numbers of each seed: those are
`measured`, so that the words of the rule and its code have the bounds from one place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workflow.lib.study import theory
from workflow.lib.study.runs import BySeed, Runs, by_seed, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
CONTRADICTED = "contradicted by the chapter's own code"
AS_EXPECTED = "as expected"
NOT_AS_EXPECTED = "not as expected"
NOT_APPLICABLE = "not applicable"

Source = Literal["chapter", "theory", "expectation"]
VERDICTS: Mapping[Source, tuple[str, str]] = {
    "chapter": (REPRODUCED, NOT_REPRODUCED),
    "theory": (AS_EXPECTED, NOT_AS_EXPECTED),
    "expectation": (AS_EXPECTED, NOT_AS_EXPECTED),
}
"""The verdicts on a claim whose rule holds, and on one whose rule does not, by its source."""

Experiments = Mapping[str, Runs]
"""The runs of a question, by experiment."""

MANY_SEEDS = 3
"""Seeds from which on a rule asks something of their mean."""


@dataclass(frozen=True)
class Observed:
    """What a rule saw, and whether that is what was claimed."""

    text: str
    holds: bool
    contradicts: bool = False
    """Whether the chapter's own code says otherwise, as this run does."""


@dataclass(frozen=True)
class Claim:
    """A statement and the rule that decides it."""

    name: str
    statement: str
    source: Source
    """The chapter; theory; or what was expected before the runs, from a single run or a guess."""
    rule: str
    """In words."""
    decide: Callable[[Experiments], Observed]
    chapter: str = ""
    """The numbers that the chapter printed, or what it says instead."""


@dataclass(frozen=True)
class Question:
    """Everything about one question; nothing about it stands anywhere else."""

    title: str
    """The question, or what its figure shows, in words."""
    claims: Sequence[Claim]
    caption: str
    """What to see, in reStructuredText; what the claims saw is appended to it."""
    experiments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By name, what differs from the chapter's settings: its teacher correctness, GRPO settings."""
    draws: Sequence[str] = ()
    """Experiments that other questions declare."""
    draw: Callable[[Experiments], "Figure"] | None = None
    of_chapter: bool = False
    """Whether the chapter asks it; the others are what the chapter left open."""

    @property
    def names(self) -> list[str]:
        """All experiments that it is about."""
        return [*self.draws, *self.experiments]


@dataclass(frozen=True)
class Within:
    """Bounds, both included."""

    low: float = -np.inf
    high: float = np.inf

    def __contains__(self, value: float) -> bool:
        """NaN lies nowhere."""
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        if np.isinf(self.low):
            return f"at most {self.high:g}"
        if np.isinf(self.high):
            return f"at least {self.low:g}"
        if self.low == self.high:
            return f"exactly {self.low:g}"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Measure:
    """One number of each seed, and the bounds that a claim sets on it."""

    words: str
    of: Callable[[Experiments], BySeed]
    each: Within | None = None
    """Of every seed."""
    mean: Within | None = None
    """Of the mean over the seeds, where there are `MANY_SEEDS`; below, of their median."""
    median: Within | None = None
    digits: int = 3
    """After the point, where the numbers are shown."""

    def holds(self, values: BySeed) -> bool:
        """Whether the numbers lie within the bounds."""
        numbers = list(values.values())
        many = len(numbers) >= MANY_SEEDS
        return (
            (self.each is None or all(value in self.each for value in numbers))
            and (self.mean is None or not many or float(np.mean(numbers)) in self.mean)
            and (self.median is None or not many or float(np.median(numbers)) in self.median)
        )

    def shown(self, values: BySeed) -> str:
        """The seeds' numbers in their order, and their median where it decides."""
        median = f"; median {np.median(list(values.values())):g}" if self.median else ""
        return f"{self.words}: {in_order(values, self.digits)}{median}"


def measured(
    name: str,
    statement: str,
    source: Source,
    measures: Sequence[Measure],
    chapter: str = "",
    aside: str = "",
) -> Claim:
    """A claim whose rule is the bounds on some measures.

    Args:
        aside: what is worth knowing besides what was measured.
    """

    def decide(runs: Experiments) -> Observed:
        seen = [(measure, measure.of(runs)) for measure in measures]
        text = "; ".join(measure.shown(values) for measure, values in seen)
        return Observed(text + aside, all(measure.holds(values) for measure, values in seen))

    def bounds(of: str) -> str:
        return ", ".join(f"{m.words} {getattr(m, of)}" for m in measures if getattr(m, of))

    rules = [f"Each seed: {bounds('each')}"]
    for of in ("mean", "median"):
        if words := bounds(of):
            rules.append(f"{of} of {MANY_SEEDS} seeds or more: {words}")
    return Claim(name, statement, source, "; ".join(rules), decide, chapter)


def decided(
    name: str, question: Question, runs: Experiments, difference: str
) -> list[dict[str, str]]:
    """The table of a question's claims, a row each.

    Args:
        name: of the question.
        difference: how the experiments were not run as the question declares them, or nothing. A
            claim applies if and only if they were.
    """
    table = []
    for claim in question.claims:
        if difference:
            observed, verdict = difference, NOT_APPLICABLE
        else:
            seen = claim.decide(runs)
            observed = seen.text
            good, bad = VERDICTS[claim.source]
            verdict = CONTRADICTED if seen.contradicts else good if seen.holds else bad
        table.append(
            {
                "claim": claim.name,
                "question": name,
                "source": claim.source,
                "statement": claim.statement,
                "chapter": claim.chapter,
                "rule": claim.rule,
                "observed": observed,
                "verdict": verdict,
            }
        )
    return table


def in_order(values: BySeed, digits: int = 3) -> str:
    """The seeds' numbers, in the seeds' order."""
    return ", ".join(
        "never" if np.isinf(value) else f"{value:z.{digits}f}" for value in values.values()
    )


def by_setting(values: Mapping[Any, BySeed], digits: int = 3) -> str:
    """The means over the seeds, each with the value of the setting that it belongs to."""
    return ", ".join(
        f"{key if isinstance(key, str) else format(key, 'g')}: {mean(of_seeds):z.{digits}f}"
        for key, of_seeds in values.items()
    )


def iterations_by_setting(reached: Mapping[Any, BySeed]) -> str:
    """When each seed reached something, with the value of the setting that it belongs to."""
    return ", ".join(
        f"{key if isinstance(key, str) else format(key, 'g')}: {in_order(of_seeds, 0)}"
        for key, of_seeds in reached.items()
    )


def zero_std_at_first(run: Runs) -> tuple[BySeed, BySeed]:
    """The share of zero-std groups in each seed's first batch, and what its checkpoint predicts."""
    size = run.settings.num_generations
    expected = by_seed(run.before, lambda p: theory.zero_std_fraction(p.probability, size))
    return run.at(1, "frac_reward_zero_std"), expected


def zero_std_as_predicted(
    name: str, by_value: Callable[[Experiments], Mapping[Any, Runs]]
) -> Claim:
    """The claim that first batches have as many zero-std groups as their checkpoints predict.

    Args:
        by_value: the runs by the value of the setting that the question varies.
    """
    errors = 4

    def decide(runs: Experiments) -> Observed:
        seen, expected, near = {}, {}, []
        for value, run in by_value(runs).items():
            seen[value], expected[value] = zero_std_at_first(run)
            groups = run.settings.num_prompts
            share = mean(expected[value])
            error = theory.standard_error(share, trials=groups * len(seen[value]))
            near.append(abs(mean(seen[value]) - share) <= errors * error + 1 / groups)
        return Observed(f"{by_setting(seen)}, expected {by_setting(expected)}", all(near))

    return Claim(
        name,
        "The first batch has as many zero-std groups as the checkpoint's own probabilities say: "
        "the mean of p^G + (1 − p)^G",
        "theory",
        f"Within {errors} standard errors and one group",
        decide,
    )
