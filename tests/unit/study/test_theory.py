"""Predictions without training, against counting and sampling."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow.lib.study import theory

probabilities = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5)


def chance(outcome: tuple[bool, ...], p: float) -> float:
    """Of just these right and wrong samples."""
    return float(np.prod([p if right else 1 - p for right in outcome]))


@given(probabilities, st.integers(1, 6))
def test_pass_at_k_is_the_chance_of_any_right_sample(ps: list[float], k: int) -> None:
    outcomes = list(itertools.product([True, False], repeat=k))
    expected = [sum(chance(one, p) for one in outcomes if any(one)) for p in ps]
    assert theory.pass_at_k(np.array(ps), k) == pytest.approx(np.mean(expected))


def test_pass_at_k_of_what_is_certain() -> None:
    assert theory.pass_at_k(np.array([1.0]), 5) == 1
    assert theory.pass_at_k(np.array([0.0]), 10**6) == 0
    assert theory.pass_at_k(np.array([1 + 1e-7]), 3) == 1, "rounding makes it no more than certain"
    assert theory.pass_at_k(np.array([0.0, 1.0]), 256) == 0.5


@given(probabilities, st.integers(2, 6))
def test_a_group_has_zero_std_where_all_samples_are_alike(ps: list[float], size: int) -> None:
    outcomes = list(itertools.product([True, False], repeat=size))
    expected = [sum(chance(one, p) for one in outcomes if len(set(one)) == 1) for p in ps]
    assert theory.zero_std_fraction(np.array(ps), size) == pytest.approx(np.mean(expected))


def test_zero_std_groups_by_hand() -> None:
    half = np.array([0.5, 1.0, 0.0])
    assert theory.zero_std_fraction(half, 2) == pytest.approx((0.5 + 1 + 1) / 3)


def test_a_perfect_policy_s_kl_by_hand() -> None:
    """One answer has all of its weight: the KL is ln(1/p) of it."""
    assert theory.perfect_kl(np.array([1.0, 0.5])) == pytest.approx(np.log(2) / 2)


def test_what_a_perfect_imitator_of_the_weak_teacher_makes() -> None:
    p = theory.imitator(0.3)
    assert p.shape == (10_000,)
    assert (p == 1).sum() == 3025 and (p == 0.3).sum() == 6975
    assert p.mean() == pytest.approx(0.51175)
    assert theory.zero_std_fraction(p, 8) == pytest.approx(0.343, abs=5e-4)
    assert theory.perfect_kl(p) == pytest.approx(0.840, abs=5e-4)


def test_an_imitator_of_no_carry_is_right_without_one() -> None:
    assert theory.imitator(0.0).mean() == theory.NO_CARRY_SHARE


@given(st.floats(0, 1), st.integers(1, 8))
def test_a_standard_error_is_the_spread_of_the_share(share: float, trials: int) -> None:
    shares = np.arange(trials + 1) / trials
    weights = [comb(trials, n) * share**n * (1 - share) ** (trials - n) for n in range(trials + 1)]
    variance = np.dot(weights, (shares - share) ** 2)
    assert theory.standard_error(share, trials) == pytest.approx(np.sqrt(variance), abs=1e-9)
