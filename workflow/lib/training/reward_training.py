"""Teaching a reward model to tell the flawed teacher's answers from corrupted ones.

It learns the teacher's bias with everything else.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from workflow.lib.model.adam import Adam
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import RewardModelSettings
from workflow.lib.task import addition, arithmetic
from workflow.lib.task.teacher import teacher_answers
from workflow.lib.training.randomness import operands, stream, torch_seed, uniforms
from workflow.lib.training.reward_model import log_odds


def corrupt(answers: Tensor, uniforms: Tensor) -> Tensor:
    """Wrong versions of answers [B, 3], decided by uniform numbers [B, 2] in [0, 1).

    Half of them have one digit changed to another, where a model must look closely. The others are
    any of the 1,000 numbers, so that every answer occurs, however far from the teacher's.
    """
    which = (uniforms[:, 1] * 27).long()
    place, shift = which // 9, which % 9 + 1
    changed = torch.where(
        place[:, None] == torch.arange(addition.ANSWER_LENGTH, device=answers.device),
        (answers + shift[:, None]) % 10,
        answers,
    )
    anything = addition.encode_answers((uniforms[:, 1] * 1000).long())
    return torch.where(uniforms[:, :1] < 0.5, changed, anything)


def discrimination_loss(
    model: Transformer, a: Tensor, b: Tensor, answers: Tensor, corrupted: Tensor
) -> Tensor:
    """Mean binary cross-entropy of telling answers [B, 3] from corrupted ones to the same prompts.

    At its least, the log-odds are log(p_teacher / p_corrupted) of the answer: among answers that
    corruption makes equally often, they order as the teacher prefers.
    """
    scores = log_odds(model, torch.cat([a, a]), torch.cat([b, b]), torch.cat([answers, corrupted]))
    labels = torch.cat([torch.ones(len(a)), torch.zeros(len(a))]).to(scores)
    return F.binary_cross_entropy_with_logits(scores, labels)


def train_reward(
    seed: int,
    run: str,
    q: float,
    settings: RewardModelSettings,
    device: torch.device | str = "cpu",
    on_step: Callable[[int, Tensor], None] = lambda step, loss: None,
) -> Transformer:
    """A new reward model, trained on the answers of a teacher of correctness q.

    Args:
        seed, run: name the random streams.
        q: probability that the teacher gives the true sum.
        settings: steps, learning rate, and prompts per step (each has two answers).
        on_step: called after each step with its number, from 1, and its loss.
    """
    model = Transformer.initial(torch_seed(stream(seed, run, "initial weights")), device)
    model.theta.requires_grad_()
    optimizer = Adam(model.theta, settings.learning_rate)
    prompts = stream(seed, run, "reward prompts")
    teacher = stream(seed, run, "reward teacher")
    corruption = stream(seed, run, "reward corruption")
    for step in range(1, settings.steps + 1):
        a, b = operands(prompts, settings.batch_size, device)
        answers = teacher_answers(a, b, q, uniforms(teacher, (settings.batch_size,), device))
        corrupted = corrupt(answers, uniforms(corruption, (settings.batch_size, 2), device))
        loss = discrimination_loss(model, a, b, answers, corrupted)
        (gradient,) = torch.autograd.grad(loss, model.theta)
        optimizer.step(gradient)
        on_step(step, loss)
    return model


@torch.no_grad()
def evaluate_reward(
    seed: int,
    run: str,
    model: Transformer,
    q: float,
    num_prompts: int,
    device: torch.device | str = "cpu",
) -> dict[str, float]:
    """How well it tells the two apart on random prompts, and what it prefers on carry prompts.

    Returns:
        accuracy: share of the teacher's and the corrupted answers that it tells rightly.
        prefers_no_carry: share of carry prompts where it rewards the no-carry sum above the sum.
        margin: by how many nats, in the mean.
    """
    a, b = operands(stream(seed, run, "evaluation prompts"), num_prompts, device)
    samples = stream(seed, run, "evaluation samples")
    answers = teacher_answers(a, b, q, uniforms(samples, (num_prompts,), device))
    corrupted = corrupt(answers, uniforms(samples, (num_prompts, 2), device))
    right = [log_odds(model, a, b, answers) > 0, log_odds(model, a, b, corrupted) <= 0]
    a, b = addition.all_prompts(device)
    carry = arithmetic.has_carry(a, b)
    a, b = a[carry], b[carry]
    no_carry = log_odds(model, a, b, addition.encode_answers(arithmetic.no_carry_sum(a, b)))
    margin = no_carry - log_odds(model, a, b, addition.encode_answers(a + b))
    return {
        "accuracy": torch.cat(right).double().mean().item(),
        "prefers_no_carry": (margin > 0).double().mean().item(),
        "margin": margin.double().mean().item(),
    }
