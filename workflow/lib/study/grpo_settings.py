"""The settings of GRPO; the defaults are the chapter's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GrpoSettings:
    """One GRPO run; names as in TRL's GRPOConfig where it has them."""

    iterations: int = 300
    """Rollouts, each followed by its updates."""
    num_prompts: int = 32
    """Prompts per rollout (N)."""
    num_generations: int = 8
    """Completions per prompt: the group size (G)."""
    reward: str = "verifier"
    """What completions are rewarded for: a name in `rewards.RULES`, or `learned`."""
    reward_noise: float = 0.0
    """Probability that a verdict is flipped."""
    num_iterations: int = 2
    """Epochs over each rollout."""
    minibatch_size: int = 64
    """Completions per optimizer step."""
    learning_rate: float = 1e-4
    epsilon: float = 0.2
    """The ratio is clipped to 1 ± epsilon."""
    beta: float = 0.0
    """Weight of the KL penalty that is subtracted from the advantage."""
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    """Of the policy whose completions are sampled and whose log-probabilities are taken."""
    advantage: str = "group"
    """What makes an advantage of a reward: a name in `advantages.ADVANTAGES`."""
    advantage_epsilon: float = 1e-4
    """Added to the standard deviation that rewards are divided by."""
    eval_every: int = 5
    """Iterations from one recorded row to the next."""
    eval_prompts: int = 2048
    """Fresh random prompts per evaluation."""
