"""What is recorded of a GRPO iteration."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """The metrics of one recorded iteration; names as in TRL where it has them.

    Accuracies are greedy ones, on fresh random prompts, after the iteration's update. All else is
    of the iteration's own batch, which was sampled before, and of its updates.
    """

    iteration: int
    accuracy: float
    """Greedy accuracy."""
    accuracy_carry: float
    """The same on the prompts that have a carry."""
    reward: float
    """Mean reward of the batch's completions, as the training saw it."""
    kl: float
    """KL divergence to the reference, sampled: the mean of log π_old − log π_ref over the batch's
    completions, in nats per completion. This estimator (k1 in Schulman 2020, "Approximating KL
    divergence") is unbiased, and can be negative."""
    frac_reward_zero_std: float
    """Share of groups whose rewards are all the same."""
    kl_full: float
    """KL divergence to the reference, from the whole vocabulary: Σ_v π_old(v) log(π_old(v) /
    π_ref(v)) at each token, summed over a completion's tokens, and averaged over the batch's
    completions, in nats. It estimates the same with less noise; only rounding makes it negative."""
    reward_std: float
    """Standard deviation of the rewards within a group, mean over the groups."""
    accuracy_sampled: float
    """Share of the batch's completions that are right, whatever they were rewarded for."""
    frac_all_right: float
    """Share of zero-std groups with all completions right: the prompt is mastered."""
    frac_all_wrong: float
    """Share of zero-std groups with all completions wrong: the prompt is out of reach."""
    entropy: float
    """Entropy of the policy, in nats per token, mean over the tokens of the batch's completions."""
    clip_ratio: float
    """Share of the updates' completions whose ratio was clipped, so that they had no gradient."""
    grad_norm: float
    """Norm of the gradient before it was clipped, mean over the updates."""
    accuracy_units: float
    """Greedy accuracy on the prompts that carry in the units only."""
    accuracy_tens: float
    """Greedy accuracy on the prompts that carry in the tens only."""
    accuracy_both: float
    """Greedy accuracy on the prompts that carry in both."""
