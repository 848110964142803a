"""Advantages of groups small enough to be worked out by hand."""

import pytest
import torch

from tests import plain
from workflow.lib.training.advantages import ADVANTAGES, has_zero_std

EPSILON = 1e-4

ONE_RIGHT = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
"""One of four is right, and then none. Over the batch: mean 1/8, variance (49 + 7) / 64 / 7."""
BATCH_STD = (1 / 8) ** 0.5


@pytest.mark.parametrize(
    ("name", "right", "wrong", "zero_std"),
    [
        # The group's mean is 1/4, its unbiased variance (9/16 + 3/16) / 3 = 1/4.
        ("group", 0.75 / (0.5 + EPSILON), -0.25 / (0.5 + EPSILON), 0.0),
        ("group_mean", 0.75, -0.25, 0.0),
        ("leave_one_out", 1.0, -1 / 3, 0.0),
        ("batch", 0.875 / (BATCH_STD + EPSILON), *[-0.125 / (BATCH_STD + EPSILON)] * 2),
        ("none", 1.0, 0.0, 0.0),
    ],
)
def test_one_right_of_four_and_a_group_all_wrong(
    name: str, right: float, wrong: float, zero_std: float
) -> None:
    found = ADVANTAGES[name](torch.tensor(ONE_RIGHT), EPSILON)
    expected = torch.tensor([[right, wrong, wrong, wrong], [zero_std] * 4])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        # The mean is 1/2, the unbiased variance (1/4 + 1/4) / 1.
        ("group", 0.5 / (0.5**0.5 + EPSILON), -0.5 / (0.5**0.5 + EPSILON)),
        ("group_mean", 0.5, -0.5),
        ("leave_one_out", 1.0, -1.0),
        ("batch", 0.5 / (0.5**0.5 + EPSILON), -0.5 / (0.5**0.5 + EPSILON)),
        ("none", 1.0, 0.0),
    ],
)
def test_a_group_of_two(name: str, right: float, wrong: float) -> None:
    found = ADVANTAGES[name](torch.tensor([[0.0, 1.0]]), EPSILON)
    torch.testing.assert_close(found, torch.tensor([[wrong, right]]))


@pytest.mark.parametrize("size", [2, 7, 8, 16])
@pytest.mark.parametrize("name", ["group", "group_mean", "leave_one_out"])
def test_a_group_of_equal_rewards_teaches_nothing(name: str, size: int) -> None:
    """Exactly nothing, so that it costs nothing: also where rewards are any numbers."""
    values = 8 * torch.randn(500, 1, generator=torch.Generator().manual_seed(0))
    for rewards in (values.expand(-1, size), torch.zeros(3, size), torch.ones(3, size)):
        assert ADVANTAGES[name](rewards, EPSILON).eq(0).all()


def test_a_batch_of_equal_verdicts_teaches_nothing() -> None:
    for rewards in (torch.zeros(3, 8), torch.ones(3, 8)):
        assert has_zero_std(rewards).all()
        assert ADVANTAGES["batch"](rewards, EPSILON).eq(0).all()


def test_leave_one_out_is_the_distance_from_the_others_mean() -> None:
    rewards = torch.rand(5, 6, generator=torch.Generator().manual_seed(0))
    others = (rewards.sum(dim=1, keepdim=True) - rewards) / 5
    torch.testing.assert_close(ADVANTAGES["leave_one_out"](rewards, EPSILON), rewards - others)


@pytest.mark.parametrize(
    "rewards",
    [
        [[0.0, 0.0, 0.0, 0.0]],
        [[1.0, 1.0, 1.0, 1.0]],
        [[1.0, 0.0, 0.0, 0.0]],
        [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]],
        [[0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], [1.0] * 8],
    ],
)
def test_those_of_grpo_are_the_plain_implementations(rewards: list[list[float]]) -> None:
    given = torch.tensor(rewards)
    assert ADVANTAGES["group"](given, EPSILON).equal(plain.advantages(given))
    assert has_zero_std(given).equal(plain.zero_signal(given))
