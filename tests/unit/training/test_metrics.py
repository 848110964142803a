"""The recorded metrics, of batches small enough to be worked out by hand."""

import math
from dataclasses import fields

import pytest
import torch

from workflow.lib.drawing.look import metric_label
from workflow.lib.study.metrics import Row
from workflow.lib.training.metrics import batch_metrics, update_metrics

RIGHT = torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])


def metrics(
    policy: list[float], reference: list[float], rewards: torch.Tensor = RIGHT
) -> dict[str, float]:
    """Of 3 groups of 2 completions, all of whose 3 tokens have the same two-token distribution."""
    log_policy, log_reference = (
        torch.tensor(p).log().expand(3, 2, 3, 2) for p in (policy, reference)
    )
    ratio = torch.tensor([[0.5, -0.5], [1.0, 0.0], [-2.0, 0.0]])
    return batch_metrics(log_policy, log_reference, ratio, rewards, RIGHT)


def test_by_hand() -> None:
    found = metrics([0.25, 0.75], [0.5, 0.5])
    divergence = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found == pytest.approx(
        {
            "reward": 0.5,
            "kl": -1 / 6,
            "frac_reward_zero_std": 2 / 3,
            "kl_full": 3 * divergence,
            "reward_std": 0.5**0.5 / 3,
            "accuracy_sampled": 0.5,
            "frac_all_right": 1 / 3,
            "frac_all_wrong": 1 / 3,
            "entropy": entropy,
        },
        rel=1e-5,
    )


def test_impossible_tokens_count_for_nothing() -> None:
    found = metrics([1.0, 0.0], [0.5, 0.5])
    assert found["entropy"] == 0
    assert found["kl_full"] == pytest.approx(3 * math.log(2))
    assert metrics([1.0, 0.0], [1.0, 0.0])["kl_full"] == 0


def test_a_zero_std_group_is_mastered_or_out_of_reach_by_the_truth() -> None:
    """A hole in the verifier passes all: every group has zero std, but some are not mastered."""
    found = metrics([0.5, 0.5], [0.5, 0.5], rewards=torch.ones(3, 2))
    assert found["frac_reward_zero_std"] == 1
    assert found["frac_all_right"] == found["frac_all_wrong"] == pytest.approx(1 / 3)


def test_updates() -> None:
    shares, norms = [torch.tensor(0.25), torch.tensor(0.0)], [torch.tensor(2.0), torch.tensor(1.0)]
    assert update_metrics(shares, norms) == {"clip_ratio": 0.125, "grad_norm": 1.5}


def test_every_metric_is_explained_and_has_a_label() -> None:
    names = [field.name for field in fields(Row)]
    assert names[:6] == [
        *("iteration", "accuracy", "accuracy_carry"),
        *("reward", "kl", "frac_reward_zero_std"),
    ]
    for name in names:
        assert metric_label(name) != name.replace("_", " ").capitalize() or name in {"iteration"}
