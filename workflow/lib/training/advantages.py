"""From the rewards of a batch to the advantages of its completions.

Each function takes rewards [N, G], of N prompts with a group of G completions each, and returns
advantages [N, G]: how much more each completion is worth than a baseline. ε is added to the
standard deviation that some of them divide by; all standard deviations are the unbiased ones.
"""

from collections.abc import Callable, Mapping

from torch import Tensor

ZERO_STD = 1e-6
"""A group whose rewards have a standard deviation below this is a zero-std group."""


def has_zero_std(rewards: Tensor) -> Tensor:
    """Which groups [N] of the rewards [N, G] have no spread, and so no signal."""
    return rewards.std(dim=1) < ZERO_STD


def group(rewards: Tensor, epsilon: float) -> Tensor:
    """The deviation (r − mean) / (std + ε) within each group; zeros for a group of equal rewards.

    As in GRPO (Shao et al. 2024, arXiv:2402.03300).
    """
    return group_mean(rewards, epsilon) / (rewards.std(dim=1, keepdim=True) + epsilon)


def group_mean(rewards: Tensor, epsilon: float) -> Tensor:
    """The difference r − mean within each group.

    As in Dr. GRPO (Liu et al. 2025, arXiv:2503.20783).
    """
    # From the first of the group, so that equal rewards give zeros and not the mean's rounding.
    apart = rewards - rewards[:, :1]
    return apart - apart.mean(dim=1, keepdim=True)


def leave_one_out(rewards: Tensor, epsilon: float) -> Tensor:
    """The difference r − mean of the group's other rewards.

    As in RLOO (Ahmadian et al. 2024, arXiv:2402.14740).
    """
    size = rewards.shape[1]
    return group_mean(rewards, epsilon) * (size / (size - 1))


def batch(rewards: Tensor, epsilon: float) -> Tensor:
    """The deviation (r − mean) / (std + ε) over the whole batch: REINFORCE, rewards whitened."""
    return (rewards - rewards.mean()) / (rewards.std() + epsilon)


def none(rewards: Tensor, epsilon: float) -> Tensor:
    """The rewards themselves, as REINFORCE without a baseline (Williams 1992)."""
    return rewards


ADVANTAGES: Mapping[str, Callable[[Tensor, float], Tensor]] = {
    function.__name__: function for function in (group, group_mean, leave_one_out, batch, none)
}
"""The values of the setting `advantage`."""
