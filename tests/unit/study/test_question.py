"""The form of a question: bounds, what is measured against them, and how claims are decided."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.questions.examples import changed, make_runs
from workflow.lib.study import question, theory
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Measure,
    Observed,
    Question,
    Source,
    Within,
    decided,
    measured,
    zero_std_as_predicted,
)
from workflow.lib.study.runs import BySeed, read_claims
from workflow.lib.study.tables import write_csv

numbers = st.floats(-10, 10)


@given(numbers, numbers, numbers)
def test_both_bounds_are_included(low: float, high: float, value: float) -> None:
    assert (value in Within(low, high)) == (low <= value <= high)
    assert (value in Within(low=low)) == (value >= low)
    assert (value in Within(high=high)) == (value <= high)
    assert low in Within(low=low) and high in Within(high=high)


@pytest.mark.parametrize("bounds", [Within(), Within(0, 1), Within(low=0), Within(high=0)])
def test_nan_lies_nowhere(bounds: Within) -> None:
    assert np.nan not in bounds


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (Within(0.25, 0.42), "0.25 to 0.42"),
        (Within(high=0.15), "at most 0.15"),
        (Within(low=0.9), "at least 0.9"),
        (Within(0.3025, 0.3025), "exactly 0.3025"),
        (Within(-4, 4), "-4 to 4"),
        (Within(high=0.0), "at most 0"),
    ],
)
def test_bounds_have_words(bounds: Within, words: str) -> None:
    assert str(bounds) == words


def seeds(*values: float) -> BySeed:
    return dict(enumerate(values))


@given(st.lists(numbers, min_size=1, max_size=5), st.tuples(numbers, numbers))
def test_each_seed_is_held_to_its_bound(values: list[float], ends: tuple[float, float]) -> None:
    bounds = Within(*sorted(ends))
    measure = Measure("x", lambda runs: {}, each=bounds)
    assert measure.holds(seeds(*values)) == all(value in bounds for value in values)


@given(st.lists(numbers, min_size=1, max_size=5), numbers)
def test_only_of_three_seeds_or_more_something_is_asked_of_their_mean(
    values: list[float], low: float
) -> None:
    for measure, middle in [
        (Measure("x", lambda runs: {}, mean=Within(low=low)), np.mean(values)),
        (Measure("x", lambda runs: {}, median=Within(low=low)), np.median(values)),
    ]:
        assert measure.holds(seeds(*values)) == (len(values) < 3 or middle >= low)


def test_mean_and_median_are_not_each_other() -> None:
    values = seeds(0.0, 1.0, 8.0)  # mean 3, median 1
    assert Measure("x", lambda runs: {}, mean=Within(3, 3)).holds(values)
    assert Measure("x", lambda runs: {}, median=Within(1, 1)).holds(values)
    assert not Measure("x", lambda runs: {}, median=Within(3, 3)).holds(values)


def test_every_bound_of_a_measure_counts() -> None:
    """Means of those that pass each seed's bound fail, and a good mean excuses no seed."""
    measure = Measure("x", lambda runs: {}, each=Within(low=0.9), mean=Within(low=0.97))
    assert measure.holds(seeds(0.95, 0.99, 0.99))
    assert not measure.holds(seeds(0.95, 0.95, 0.95))
    assert not measure.holds(seeds(0.89, 1.02, 1.02))
    assert measure.holds(seeds(0.95, 0.95))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_hold_nothing(value: float) -> None:
    for measure in (
        Measure("x", lambda runs: {}, each=Within(0, 1)),
        Measure("x", lambda runs: {}, mean=Within(0, 1)),
        Measure("x", lambda runs: {}, median=Within(0, 1)),
    ):
        assert not measure.holds(seeds(value, value, 0.5))


def test_a_measure_without_bounds_is_only_shown() -> None:
    claim = measured("n", "s", "theory", [Measure("a", lambda runs: seeds(1, 2, 3))])
    assert claim.decide({}) == Observed("a: 1.000, 2.000, 3.000", holds=True)


bounded = st.builds(
    Measure,
    words=st.sampled_from(["greedy", "carry", "KL"]),
    of=st.just(lambda runs: seeds(0.5)),
    each=st.none() | st.builds(Within, st.just(-np.inf), st.integers(0, 99)),
    mean=st.none() | st.builds(Within, st.integers(0, 99)),
    median=st.none() | st.builds(Within, st.integers(-99, 0), st.integers(0, 99)),
)


@given(st.lists(bounded, min_size=1, max_size=4))
def test_a_rule_says_every_bound_that_decides(measures: list[Measure]) -> None:
    rule = measured("n", "s", "chapter", measures).rule
    each, *others = rule.split("; ")
    parts = {"each": each.removeprefix("Each seed: ")}
    parts |= {other.partition(" ")[0]: other.partition(": ")[2] for other in others}
    for kind in ("each", "mean", "median"):
        said = [f"{m.words} {getattr(m, kind)}" for m in measures if getattr(m, kind)]
        assert parts.get(kind, "") == ", ".join(said)
        assert (kind in parts) == (bool(said) or kind == "each")
    for other in others:
        assert " of 3 seeds or more: " in other


def test_a_claim_says_what_was_measured() -> None:
    claim = measured(
        "fast",
        "It is fast",
        "chapter",
        [
            Measure("first", lambda runs: seeds(5, np.inf, 15), median=Within(high=25), digits=0),
            Measure("KL", lambda runs: seeds(0.123, -0.0001, 1), digits=2),
        ],
        chapter="a curve",
        aside="; and so on",
    )
    observed = claim.decide({})
    assert observed.text == ("first: 5, never, 15; median 15; KL: 0.12, 0.00, 1.00; and so on")
    assert observed.holds and claim.chapter == "a curve"


def test_a_claim_of_some_measures_holds_where_all_do() -> None:
    good = Measure("a", lambda runs: seeds(1), Within(1, 1))
    bad = Measure("b", lambda runs: seeds(2), Within(1, 1))
    for measures, holds in [([good, good], True), ([good, bad], False), ([bad, good], False)]:
        assert measured("n", "s", "theory", measures).decide({}).holds == holds


def a_question(source: Source, seen: Observed) -> Question:
    claim = Claim("name", "statement", source, "rule", lambda runs: seen, chapter="printed")
    return Question(title="title", claims=[claim], caption="caption")


@pytest.mark.parametrize(
    ("source", "seen", "verdict"),
    [
        ("chapter", Observed("seen", True), REPRODUCED),
        ("chapter", Observed("seen", False), NOT_REPRODUCED),
        ("theory", Observed("seen", True), AS_EXPECTED),
        ("theory", Observed("seen", False), NOT_AS_EXPECTED),
        ("expectation", Observed("seen", True), AS_EXPECTED),
        ("expectation", Observed("seen", False), NOT_AS_EXPECTED),
        ("chapter", Observed("seen", False, contradicts=True), CONTRADICTED),
    ],
)
def test_a_verdict_is_of_what_was_seen_and_who_claimed_it(
    source: Source, seen: Observed, verdict: str
) -> None:
    assert decided("fig1_x", a_question(source, seen), {}, "") == [
        {
            "claim": "name",
            "question": "fig1_x",
            "source": source,
            "statement": "statement",
            "chapter": "printed",
            "rule": "rule",
            "observed": "seen",
            "verdict": verdict,
        }
    ]


def test_what_was_run_otherwise_is_not_even_looked_at() -> None:
    claim = Claim("n", "s", "chapter", "r", lambda runs: pytest.fail("it was looked at"))
    table = decided("q", Question(title="t", claims=[claim], caption="c"), {}, "β is 1, not 0")
    [row] = table
    assert (row["observed"], row["verdict"]) == ("β is 1, not 0", NOT_APPLICABLE)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(st.lists(st.fixed_dictionaries({"claim": texts, "observed": texts}), min_size=1))
def test_claims_are_read_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, claims: list[dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    write_csv(path, claims)
    assert read_claims(path) == claims


def test_a_question_s_claims_are_read_back(tmp_path: Path) -> None:
    table = decided("q", a_question("theory", Observed('a "b", c;\nd', True)), {}, "")
    write_csv(tmp_path / "claims.csv", table)
    assert read_claims(tmp_path / "claims.csv") == table


def test_a_question_is_about_what_it_declares_and_what_it_draws() -> None:
    asks = Question("t", [], "c", experiments={"b": {}, "a": {}}, draws=["weak"])
    assert asks.names == ["weak", "b", "a"]


def test_numbers_are_told_by_seed_and_by_setting() -> None:
    assert question.in_order({9: 1.0, 1: np.inf, 2: -0.0001}) == "1.000, never, 0.000"
    values = {0.1: seeds(1, 2), 10: seeds(0.5), "G = 2": seeds(-1e-9)}
    assert question.by_setting(values, 2) == "0.1: 1.50, 10: 0.50, G = 2: 0.00"
    reached = {0.1: seeds(5, np.inf), "G = 2": seeds(10)}
    assert question.iterations_by_setting(reached) == "0.1: 5, never, G = 2: 10"


def test_first_batches_may_be_off_by_four_standard_errors_and_one_group() -> None:
    run = make_runs()
    claim = zero_std_as_predicted("n", lambda runs: {0.3: runs["weak"]})
    share = theory.zero_std_fraction(run.before[42].probability, 8)
    allowed = 4 * np.sqrt(share * (1 - share) / (3 * 32)) + 1 / 32
    for off, holds in [(0.99, True), (-0.99, True), (1.01, False), (-1.01, False)]:
        seen = changed(run, "metrics", {"frac_reward_zero_std": share + off * allowed})
        observed = claim.decide({"weak": seen})
        assert observed.holds == holds
        assert observed.text == f"0.3: {share + off * allowed:.3f}, expected 0.3: {share:.3f}"
