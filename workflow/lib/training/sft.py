"""Teaching the model what a flawed teacher says."""

from collections.abc import Callable

import torch
from torch import Tensor

from workflow.lib.model.adam import Adam
from workflow.lib.model.transformer import Transformer, log_softmax
from workflow.lib.study.settings import SftSettings
from workflow.lib.task.teacher import teacher_answers
from workflow.lib.training.evaluation import (
    greedy_accuracy,
    sampled_accuracy,
    teacher_forced_logits,
)
from workflow.lib.training.randomness import operands, stream, torch_seed, uniforms


def answer_loss(model: Transformer, a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """Mean negative log-likelihood of the answer's tokens [B, 3]; the prompt carries no loss."""
    logits = teacher_forced_logits(model, a, b, answers)
    return -log_softmax(logits).gather(-1, answers[..., None]).mean()


def train_sft(
    seed: int,
    run: str,
    q: float,
    settings: SftSettings,
    device: torch.device | str = "cpu",
    on_step: Callable[[int, Tensor], None] = lambda step, loss: None,
) -> Transformer:
    """A new model, trained on fresh random prompts with the answers of a teacher of correctness q.

    Args:
        seed, run: name the random streams.
        q: probability that the teacher gives the true sum.
        on_step: called after each step with its number, from 1, and its loss.
    """
    model = Transformer.initial(torch_seed(stream(seed, run, "initial weights")), device)
    model.theta.requires_grad_()
    optimizer = Adam(model.theta, settings.learning_rate)
    prompts = stream(seed, run, "SFT prompts")
    teacher = stream(seed, run, "SFT teacher")
    for step in range(1, settings.steps + 1):
        a, b = operands(prompts, settings.batch_size, device)
        answers = teacher_answers(a, b, q, uniforms(teacher, (settings.batch_size,), device))
        loss = answer_loss(model, a, b, answers)
        (gradient,) = torch.autograd.grad(loss, model.theta)
        optimizer.step(gradient)
        on_step(step, loss)
    return model


def evaluate_sft(
    seed: int, run: str, model: Transformer, num_prompts: int, device: torch.device | str = "cpu"
) -> dict[str, float]:
    """Greedy accuracy, the same on carry prompts, and accuracy of one sample, on random prompts."""
    rng = stream(seed, run, "evaluation prompts")
    greedy = greedy_accuracy(model, *operands(rng, num_prompts, device))
    a, b = operands(rng, num_prompts, device)
    samples = uniforms(stream(seed, run, "evaluation samples"), (num_prompts, 3), device)
    return {
        "accuracy": greedy.accuracy,
        "accuracy_carry": greedy.accuracy_carry,
        "accuracy_sampled": sampled_accuracy(model, a, b, samples),
    }
