"""Rewards that are rules: the verifier, its holes, its noise."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workflow.lib.task import addition, arithmetic
from workflow.lib.task.rewards import RULES, flip
from workflow.lib.training.randomness import stream, uniforms


@pytest.mark.parametrize(
    ("answer", "verifier", "within_10", "without_hundreds"),
    [
        ([0, 8, 5], 1, 1, 1),  # 47 + 38
        ([0, 7, 5], 0, 1, 0),  # without the carry: ten less
        ([0, 9, 5], 0, 1, 0),
        ([0, 7, 4], 0, 0, 0),
        ([0, 9, 6], 0, 0, 0),
        ([1, 8, 5], 0, 0, 1),
        ([12, 8, 5], 0, 0, 1),
        ([0, 7, 12], 0, 0, 0),  # BOS is no digit, whatever its id
    ],
)
def test_rules_by_hand(
    answer: list[int], verifier: int, within_10: int, without_hundreds: int
) -> None:
    a, b, answers = torch.tensor(47), torch.tensor(38), torch.tensor(answer)
    verdicts = {name: rule(a, b, answers).item() for name, rule in RULES.items()}
    assert verdicts == {
        "verifier": verifier,
        "within_10": within_10,
        "without_hundreds": without_hundreds,
    }


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 999))
def test_what_is_right_passes_every_rule(a: int, b: int, answer: int) -> None:
    x, y = torch.tensor(a), torch.tensor(b)
    truth, answers = (addition.encode_answers(torch.tensor(n)) for n in (a + b, answer))
    for rule in RULES.values():
        assert rule(x, y, truth) == 1
        assert rule(x, y, answers) >= RULES["verifier"](x, y, answers)
    assert RULES["within_10"](x, y, answers) == (abs(answer - a - b) <= 10)
    assert RULES["without_hundreds"](x, y, answers) == ((answer - a - b) % 100 == 0)


def test_the_holes_let_through_what_the_teacher_gets_wrong() -> None:
    """Within 10: where the sum lacks only the ten carried, also from 90 to 100.

    No hundreds: where only the tens carry.
    """
    a, b = addition.all_prompts()
    wrong = addition.encode_answers(arithmetic.no_carry_sum(a, b))
    units, tens = arithmetic.carries(a, b)
    carry = units | tens
    passed = {name: rule(a, b, wrong).bool() & carry for name, rule in RULES.items()}
    assert not passed["verifier"].any()
    ten_less = units & (a // 10 + b // 10 <= 9)
    assert passed["within_10"].equal(ten_less)
    assert (ten_less & ~tens).sum() == 2025 and ten_less.sum() == 2475
    assert passed["without_hundreds"].equal(tens & ~units)


def test_rules_take_groups() -> None:
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    answers = addition.encode_answers(a + b)[:, None].expand(2, 5, 3)
    for rule in RULES.values():
        assert rule(a[:, None], b[:, None], answers).equal(torch.ones(2, 5))


def test_verdicts_are_flipped_with_a_probability() -> None:
    verdicts = torch.tensor([0.0, 1.0]).repeat(20_000)
    numbers = uniforms(stream(0, "test", "noise"), (40_000,))
    flipped = (flip(verdicts, numbers, 0.3) != verdicts).double().mean().item()
    assert flipped == pytest.approx(0.3, abs=5 * (0.21 / 40_000) ** 0.5)
    assert flip(verdicts, numbers, 0.0).equal(verdicts)
    assert flip(verdicts, numbers, 1.0).equal(1 - verdicts)
