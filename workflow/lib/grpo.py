"""GRPO, Group Relative Policy Optimization (Shao et al. 2024, arXiv:2402.03300)."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from workflow.lib import addition
from workflow.lib.adam import Adam
from workflow.lib.evaluation import greedy_accuracy
from workflow.lib.grpo_settings import GrpoSettings
from workflow.lib.model import Transformer
from workflow.lib.randomness import operands, permutation, stream, uniforms

ZERO_STD = 1e-6
"""A group whose rewards have a standard deviation below this carries no signal."""


@dataclass(frozen=True)
class Rollout:
    """N prompts, G sampled completions each, and what the verifier said of them."""

    prompts: Tensor
    """Token ids [N, 7]."""
    completions: Tensor
    """Token ids [N, G, 3]."""
    log_probs: Tensor
    """log π_old(completion | prompt), summed over its tokens [N, G]."""
    rewards: Tensor
    """[N, G]."""


@dataclass(frozen=True)
class Row:
    """The metrics of one recorded iteration."""

    iteration: int
    accuracy: float
    """Greedy accuracy on fresh random prompts, after the iteration's update."""
    accuracy_carry: float
    """The same on those of the prompts that have a carry."""
    reward: float
    """Mean reward of the iteration's completions."""
    kl: float
    """Mean of log π_old − log π_ref over the iteration's completions, in nats per completion."""
    frac_reward_zero_std: float
    """Share of the iteration's groups whose rewards are all the same."""


def train_grpo(
    seed: int,
    run: str,
    reference: Transformer,
    settings: GrpoSettings,
    device: torch.device | str = "cpu",
) -> Iterator[Row]:
    """Correct a model by GRPO, and yield the metrics of each recorded iteration.

    Args:
        seed, run: name the random streams.
        reference: where the policy starts, and what the KL divergence is measured from.
    """
    policy = reference.copy()
    policy.theta.requires_grad_()
    optimizer = Adam(policy.theta, settings.learning_rate)
    prompt_stream = stream(seed, run, "rollout prompts")
    sample_stream = stream(seed, run, "rollout samples")
    order_stream = stream(seed, run, "minibatch order")
    shape = (settings.num_prompts, settings.num_generations, addition.ANSWER_LENGTH)

    for iteration in range(1, settings.iterations + 1):
        a, b = operands(prompt_stream, settings.num_prompts, device)
        samples = uniforms(sample_stream, shape, device)
        rollout = roll_out(policy, a, b, samples, settings.temperature)

        advantages = group_advantages(rollout.rewards, settings.advantage_epsilon)
        recorded = is_recorded(iteration, settings)
        if recorded or settings.beta > 0:
            log_ratio = rollout.log_probs - reference_log_probs(reference, rollout, settings)
            if settings.beta > 0:
                advantages = advantages - settings.beta * log_ratio

        size = advantages.numel()
        for _ in range(settings.num_iterations):
            order = permutation(order_stream, size, device)
            for minibatch in order.split(settings.minibatch_size):
                update(policy, optimizer, rollout, advantages, minibatch, settings)

        if recorded:
            fresh = stream(seed, run, "evaluation prompts", iteration)
            accuracy, accuracy_carry = greedy_accuracy(
                policy, *operands(fresh, settings.eval_prompts, device)
            )
            yield Row(
                iteration=iteration,
                accuracy=accuracy,
                accuracy_carry=accuracy_carry,
                reward=rollout.rewards.double().mean().item(),
                kl=log_ratio.double().mean().item(),
                frac_reward_zero_std=is_silent(rollout.rewards).double().mean().item(),
            )


def is_recorded(iteration: int, settings: GrpoSettings) -> bool:
    """Whether an iteration gets a row: the first, every `eval_every`-th and the last do."""
    return iteration in (1, settings.iterations) or iteration % settings.eval_every == 0


def roll_out(
    policy: Transformer, a: Tensor, b: Tensor, uniforms: Tensor, temperature: float
) -> Rollout:
    """Sample a group of completions per prompt a + b [N], with uniforms [N, G, 3], and judge."""
    prompts = addition.encode_prompts(a, b)
    completions, log_probs = policy.sample(prompts, uniforms, temperature)
    rewards = addition.verify(a[:, None], b[:, None], completions)
    return Rollout(prompts, completions, log_probs, rewards)


def group_advantages(rewards: Tensor, epsilon: float) -> Tensor:
    """(r − mean) / (std + ε) within each prompt's group: rewards [N, G] to advantages [N, G].

    The standard deviation is the unbiased one. A group of equal rewards gets zeros.
    """
    mean = rewards.mean(dim=1, keepdim=True)
    std = rewards.std(dim=1, keepdim=True)
    return (rewards - mean) / (std + epsilon)


def is_silent(rewards: Tensor) -> Tensor:
    """Which groups [N] of the rewards [N, G] have no spread, and so no signal."""
    return rewards.std(dim=1) < ZERO_STD


def completion_log_probs(
    model: Transformer, prompts: Tensor, parent: Tensor, completions: Tensor, temperature: float
) -> Tensor:
    """Log π(completion | prompt) [B], summed over the tokens of completions [B, 3].

    Completion i answers prompts[parent[i]], of prompts [N, 7], each encoded once.
    """
    continuations = torch.cat([prompts[parent, -1:], completions[:, :-1]], dim=1)
    logits = model.answer_logits(prompts[:, :-1], parent, continuations)
    if temperature != 1:
        logits = logits / temperature
    return logits.log_softmax(dim=-1).gather(-1, completions[..., None]).sum(dim=(1, 2))


@torch.no_grad()
def reference_log_probs(reference: Transformer, rollout: Rollout, settings: GrpoSettings) -> Tensor:
    """Log π_ref of a rollout's completions [N, G]."""
    n, g, _ = rollout.completions.shape
    parent = torch.arange(n, device=rollout.prompts.device).repeat_interleave(g)
    return completion_log_probs(
        reference, rollout.prompts, parent, rollout.completions.flatten(0, 1), settings.temperature
    ).view(n, g)


def clipped_loss(log_ratio: Tensor, advantages: Tensor, epsilon: float, size: int) -> Tensor:
    """PPO's clipped loss, with one ratio per completion: −Σ min(ρA, clip(ρ, 1−ε, 1+ε)A) / size.

    Args:
        log_ratio: log π_new − log π_old of each completion [B].
        advantages: [B].
        size: completions to average over; those left out of the batch count as zeros.
    """
    # Of the clip's two bounds only 1+ε can lower the minimum if A > 0, and only 1−ε if A < 0.
    limit = advantages + epsilon * advantages.abs()
    return torch.minimum(log_ratio.exp() * advantages, limit).sum() / -size


def update(
    policy: Transformer,
    optimizer: Adam,
    rollout: Rollout,
    advantages: Tensor,
    minibatch: Tensor,
    settings: GrpoSettings,
) -> None:
    """One optimizer step on the completions of a rollout that `minibatch` [B] indexes.

    A completion of advantage 0 has gradient 0, so only the others are computed. Adam steps even
    where there are none: its moments move the weights all the same.
    """
    advantages = advantages.flatten()[minibatch]
    matter = advantages.nonzero().squeeze(1)
    gradient = torch.zeros_like(policy.theta)
    if len(matter) > 0:
        chosen = minibatch[matter]
        log_probs = completion_log_probs(
            policy,
            rollout.prompts,
            chosen // settings.num_generations,
            rollout.completions.flatten(0, 1)[chosen],
            settings.temperature,
        )
        log_ratio = log_probs - rollout.log_probs.flatten()[chosen]
        loss = clipped_loss(log_ratio, advantages[matter], settings.epsilon, len(minibatch))
        (gradient,) = torch.autograd.grad(loss, policy.theta)
        gradient = clip_norm(gradient, settings.max_grad_norm)
    optimizer.step(gradient)


def clip_norm(gradient: Tensor, max_norm: float) -> Tensor:
    """The gradient, scaled down to a norm of `max_norm` where it has a larger one.

    As `torch.nn.utils.clip_grad_norm_` does it (Pascanu et al. 2013, arXiv:1211.5063).
    """
    return gradient * (max_norm / (gradient.norm() + 1e-6)).clamp(max=1)
