"""GRPO, Group Relative Policy Optimization (Shao et al. 2024, arXiv:2402.03300).

`train_grpo` is the algorithm. What completions are rewarded for is in `rewards`, what makes an
advantage of a reward in `advantages`, and what is recorded in `metrics`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from workflow.lib.model.adam import Adam
from workflow.lib.model.transformer import Transformer, log_softmax
from workflow.lib.study.metrics import Row
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.task import addition
from workflow.lib.task.rewards import Reward, flip
from workflow.lib.training.advantages import ADVANTAGES
from workflow.lib.training.evaluation import greedy_accuracy
from workflow.lib.training.metrics import batch_metrics, update_metrics
from workflow.lib.training.randomness import operands, permutation, stream, uniforms


@dataclass(frozen=True)
class Rollout:
    """N prompts with G sampled completions each."""

    prompts: Tensor
    """Token ids [N, 7]."""
    completions: Tensor
    """Token ids [N, G, 3]."""
    log_policy: Tensor
    """log π_old of every token at each place of the completions [N, G, 3, 13]."""
    log_probs: Tensor
    """log π_old(completion | prompt), summed over its tokens [N, G]."""


def train_grpo(
    seed: int,
    run: str,
    policy: Transformer,
    reward: Reward,
    settings: GrpoSettings,
    device: torch.device | str = "cpu",
) -> Iterator[Row]:
    """Correct a policy, in place, by GRPO, and yield the metrics of each recorded iteration.

    Args:
        seed, run: name the random streams.
        policy: what it starts as is the reference that the KL divergence is measured from.
        reward: judges completions.
    """
    reference = policy.copy()
    policy.theta.requires_grad_()
    optimizer = Adam(policy.theta, settings.learning_rate)
    estimate_advantages = ADVANTAGES[settings.advantage]
    prompt_stream = stream(seed, run, "rollout prompts")
    sample_stream = stream(seed, run, "rollout samples")
    noise_stream = stream(seed, run, "reward noise")
    order_stream = stream(seed, run, "minibatch order")
    shape = (settings.num_prompts, settings.num_generations)

    for iteration in range(1, settings.iterations + 1):
        a, b = operands(prompt_stream, settings.num_prompts, device)
        samples = uniforms(sample_stream, (*shape, addition.ANSWER_LENGTH), device)
        rollout = roll_out(policy, a, b, samples, settings.temperature)

        rewards = reward(a[:, None], b[:, None], rollout.completions)
        if settings.reward_noise > 0:
            rewards = flip(rewards, uniforms(noise_stream, shape, device), settings.reward_noise)
        advantages = estimate_advantages(rewards, settings.advantage_epsilon)

        recorded = is_recorded(iteration, settings)
        if recorded or settings.beta > 0:
            log_reference = log_policy_of(reference, rollout, settings.temperature)
            log_ratio = rollout.log_probs - completion_log_probs(log_reference, rollout.completions)
            if settings.beta > 0:
                advantages = advantages - settings.beta * log_ratio

        updates = []
        for _ in range(settings.num_iterations):
            order = permutation(order_stream, advantages.numel(), device)
            for minibatch in order.split(settings.minibatch_size):
                updates.append(update(policy, optimizer, rollout, advantages, minibatch, settings))

        if recorded:
            fresh = stream(seed, run, "evaluation prompts", iteration)
            accuracy = greedy_accuracy(policy, *operands(fresh, settings.eval_prompts, device))
            right = addition.verify(a[:, None], b[:, None], rollout.completions)
            yield Row(
                iteration=iteration,
                **accuracy._asdict(),
                **batch_metrics(rollout.log_policy, log_reference, log_ratio, rewards, right),
                **update_metrics(*zip(*updates, strict=True)),
            )


def is_recorded(iteration: int, settings: GrpoSettings) -> bool:
    """Whether an iteration gets a row: the first, every `eval_every`-th and the last do."""
    return iteration in (1, settings.iterations) or iteration % settings.eval_every == 0


def roll_out(
    policy: Transformer, a: Tensor, b: Tensor, uniforms: Tensor, temperature: float
) -> Rollout:
    """Sample a group of completions per prompt a + b [N], with uniforms [N, G, 3]."""
    prompts = addition.encode_prompts(a, b)
    completions, log_policy = policy.sample(prompts, uniforms, temperature)
    return Rollout(prompts, completions, log_policy, completion_log_probs(log_policy, completions))


def completion_log_probs(log_policy: Tensor, completions: Tensor) -> Tensor:
    """Log π(completion | prompt) [...], the sum over the tokens of completions [..., 3].

    Args:
        log_policy: log π of every token at each place of the completions [..., 3, 13].
    """
    return log_policy.gather(-1, completions[..., None]).sum(dim=(-2, -1))


def log_policy(
    model: Transformer, prompts: Tensor, parent: Tensor, completions: Tensor, temperature: float
) -> Tensor:
    """Log π of every token at each place of completions [B, 3]: [B, 3, 13].

    Completion i answers prompts[parent[i]], of prompts [N, 7], each encoded once.
    """
    continuations = torch.cat([prompts[parent, -1:], completions[:, :-1]], dim=1)
    logits = model.answer_logits(prompts[:, :-1], parent, continuations)
    if temperature != 1:
        logits = logits / temperature
    return log_softmax(logits)


@torch.no_grad()
def log_policy_of(model: Transformer, rollout: Rollout, temperature: float) -> Tensor:
    """The same of another model along the completions of a rollout: [N, G, 3, 13]."""
    n, g, _ = rollout.completions.shape
    parent = torch.arange(n, device=rollout.prompts.device).repeat_interleave(g)
    completions = rollout.completions.flatten(0, 1)
    return log_policy(model, rollout.prompts, parent, completions, temperature).view(n, g, 3, -1)


def clipped_loss(
    log_ratio: Tensor, advantages: Tensor, epsilon: float, size: int
) -> tuple[Tensor, Tensor]:
    """PPO's clipped loss, with one ratio per completion: −Σ min(ρA, clip(ρ, 1−ε, 1+ε)A) / size.

    Args:
        log_ratio: log π_new − log π_old of each completion [B].
        advantages: [B].
        size: completions to average over; those left out of the batch count as zeros.

    Returns:
        The loss, and the share of completions that the clip deprives of their gradient.
    """
    # Of the clip's two bounds only 1+ε can lower the minimum if A > 0, and only 1−ε if A < 0.
    limit = advantages + epsilon * advantages.abs()
    surrogate = log_ratio.exp() * advantages
    clipped = (surrogate.detach() > limit).sum() / size
    return surrogate.clamp(max=limit).sum() / -size, clipped


def update(
    policy: Transformer,
    optimizer: Adam,
    rollout: Rollout,
    advantages: Tensor,
    minibatch: Tensor,
    settings: GrpoSettings,
) -> tuple[Tensor, Tensor]:
    """One optimizer step on the completions of a rollout that `minibatch` [B] indexes.

    A completion of advantage 0 has gradient 0, so only the others are computed. Adam steps even
    where there are none: its moments move the weights all the same.

    Returns:
        The share of completions that were clipped, and the gradient's norm before its own clip.
    """
    advantages = advantages.flatten()[minibatch]
    matter = advantages.nonzero().squeeze(1)
    if len(matter) > 0:
        chosen = minibatch[matter]
        completions = rollout.completions.flatten(0, 1)[chosen]
        parent = chosen // settings.num_generations
        log_probs = completion_log_probs(
            log_policy(policy, rollout.prompts, parent, completions, settings.temperature),
            completions,
        )
        log_ratio = log_probs - rollout.log_probs.flatten()[chosen]
        loss, clipped = clipped_loss(
            log_ratio, advantages[matter], settings.epsilon, len(minibatch)
        )
        (gradient,) = torch.autograd.grad(loss, policy.theta)
        norm = gradient.norm()
        gradient *= clip_factor(norm, settings.max_grad_norm)
    else:
        gradient = torch.zeros_like(policy.theta)
        clipped = norm = gradient.new_zeros(())
    optimizer.step(gradient)
    return clipped, norm


def clip_factor(norm: Tensor, max_norm: float) -> Tensor:
    """What a gradient is multiplied by so that its norm is at most `max_norm`.

    As `torch.nn.utils.clip_grad_norm_` does it (Pascanu et al. 2013, arXiv:1211.5063).
    """
    return (max_norm / (norm + 1e-6)).clamp(max=1)
