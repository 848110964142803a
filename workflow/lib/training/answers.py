"""What a model answers to a few prompts: the systematic error, and its cure, one by one."""

import torch
from torch import Tensor

from workflow.lib.model.transformer import Transformer
from workflow.lib.task import addition, arithmetic
from workflow.lib.training.evaluation import teacher_forced_logits

PROMPTS = (
    (12, 34),  # carries nowhere
    (40, 50),
    (3, 5),
    (47, 38),  # in the units
    (19, 6),
    (28, 55),
    (71, 62),  # in the tens
    (90, 45),
    (53, 86),
    (87, 46),  # in both
    (95, 7),
    (99, 99),
)
"""Three prompts of each kind."""


@torch.no_grad()
def greedy_answers(model: Transformer, a: Tensor, b: Tensor) -> Tensor:
    """The likeliest token at each place, after those before it: [B, 3]."""
    answers = torch.zeros(len(a), addition.ANSWER_LENGTH, dtype=torch.long, device=a.device)
    for place in range(addition.ANSWER_LENGTH):
        answers[:, place] = teacher_forced_logits(model, a, b, answers)[:, place].argmax(dim=-1)
    return answers


@torch.no_grad()
def probability_of(model: Transformer, a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """How probable answers [B, 3] to a + b are when they are sampled at temperature 1: [B]."""
    log_policy = teacher_forced_logits(model, a, b, answers).log_softmax(dim=-1)
    return log_policy.gather(-1, answers[..., None]).sum(dim=(1, 2)).exp()


def answers_table(models: dict[str, Transformer]) -> list[dict[str, float]]:
    """A row for each of `PROMPTS`, with what each model makes of it.

    Columns are the operands a and b and, after each model's name: `greedy`, its greedy answer as a
    number (−1 if that is none); `right` and `no_carry`, the probabilities of the true sum and of
    the no-carry sum.
    """
    rows = [{"a": float(a), "b": float(b)} for a, b in PROMPTS]
    for name, model in models.items():
        a, b = torch.tensor(PROMPTS, device=model.theta.device).unbind(dim=1)
        greedy = greedy_answers(model, a, b)
        digits = torch.tensor([100, 10, 1], device=a.device)
        numbers = torch.where((greedy <= 9).all(dim=1), (greedy * digits).sum(dim=1), -1)
        right = probability_of(model, a, b, addition.encode_answers(a + b))
        no_carry_sum = addition.encode_answers(arithmetic.no_carry_sum(a, b))
        no_carry = probability_of(model, a, b, no_carry_sum)
        for row, *values in zip(
            rows, numbers.tolist(), right.tolist(), no_carry.tolist(), strict=True
        ):
            for column, value in zip(("greedy", "right", "no_carry"), values, strict=True):
                row[f"{name}_{column}"] = float(value)
    return rows
