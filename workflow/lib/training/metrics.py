"""What the recorded metrics are, computed from a batch and its updates."""

from collections.abc import Sequence

import torch
from torch import Tensor

from workflow.lib.training.advantages import has_zero_std


def batch_metrics(
    log_policy: Tensor,
    log_reference: Tensor,
    log_ratio: Tensor,
    rewards: Tensor,
    right: Tensor,
) -> dict[str, float]:
    """What `Row` records of an iteration's batch of N groups of G completions.

    Args:
        log_policy, log_reference: log π_old and log π_ref of every token at each place of the
            completions [N, G, 3, 13].
        log_ratio: log π_old − log π_ref of the completions themselves [N, G].
        rewards: as the training sees them [N, G].
        right: 1.0 for a right completion, else 0.0 [N, G].
    """
    zero_std = has_zero_std(rewards)
    policy = log_policy.exp()
    # A probability of zero has a logarithm of −∞, and counts for nothing.
    surprise = torch.where(policy > 0, log_policy, 0.0)
    divergence = (policy * (surprise - torch.where(policy > 0, log_reference, 0.0))).sum(dim=-1)
    return {
        "reward": _mean(rewards),
        "kl": _mean(log_ratio),
        "frac_reward_zero_std": _mean(zero_std),
        "kl_full": _mean(divergence.sum(dim=-1)),
        "reward_std": _mean(rewards.std(dim=1)),
        "accuracy_sampled": _mean(right),
        "frac_all_right": _mean(zero_std & (right == 1).all(dim=1)),
        "frac_all_wrong": _mean(zero_std & (right == 0).all(dim=1)),
        "entropy": -_mean((policy * surprise).sum(dim=-1)),
    }


def update_metrics(clipped: Sequence[Tensor], norms: Sequence[Tensor]) -> dict[str, float]:
    """What `Row` records of updates: each one's share of clipped completions, and gradient norm."""
    return {
        "clip_ratio": _mean(torch.stack(list(clipped))),
        "grad_norm": _mean(torch.stack(list(norms))),
    }


def _mean(values: Tensor) -> float:
    return values.double().mean().item()
