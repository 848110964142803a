"""How good a model is at the task."""

from typing import NamedTuple

import torch
from torch import Tensor

from workflow.lib.model.transformer import Transformer, log_softmax
from workflow.lib.task import addition, arithmetic

CHUNK = 512
"""Prompts per forward pass: few enough for the activations to stay in a processor's cache.

512 prompts have some 2,700 rows of 64 numbers, 0.7 MB. Measured on an AMD EPYC (0.5 MB of L2 cache
per core): 256 prompts take 10 to 20 % longer, and 1,024 take 5 to 15 % less. Another size rounds
differently in the last digits, so a change of it changes the recorded numbers.
"""


def teacher_forced_logits(
    model: Transformer,
    a: Tensor,
    b: Tensor,
    answers: Tensor,
    first_operands: tuple[int, int] = (0, addition.NUM_OPERANDS - 1),
) -> Tensor:
    """Logits [B, 3, 13] of the answer's three digits, each after the digits [B, 3] before it.

    Prompts share their beginnings `BOS tens units +`, each encoded once: those of all first
    operands from the one to the other of `first_operands`, between which every one of `a` lies.
    """
    lowest, highest = first_operands
    beginnings = addition.first_operands(a.device)[lowest : highest + 1]
    rest = addition.encode_prompts(a, b)[:, addition.FIRST_OPERAND_LENGTH :]
    continuations = torch.cat([rest, answers[:, :-1]], dim=1)
    return model.answer_logits(beginnings, a - lowest, continuations)


@torch.no_grad()
def score_prompts(model: Transformer, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """What the model does with the right answer to each prompt.

    Greedy decoding gives the right answer exactly where every digit is the most likely one after
    the right digits before it, so one forward pass decides it, without decoding. A prompt that
    occurs twice is looked at once, and the prompts of a chunk are neighbours, with few beginnings.

    Returns:
        Whether the greedy answer is right (bool [B]), and log p(right answer | prompt) (float [B]).
    """
    prompts, occurrences = torch.unique(a * addition.NUM_OPERANDS + b, return_inverse=True)
    solved, log_probs = [], []
    for chunk in prompts.split(CHUNK):
        a, b = chunk // addition.NUM_OPERANDS, chunk % addition.NUM_OPERANDS
        answers = addition.encode_answers(a + b)
        logits = teacher_forced_logits(model, a, b, answers, (int(a[0]), int(a[-1])))
        solved.append((logits.argmax(dim=-1) == answers).all(dim=-1))
        token_log_probs = log_softmax(logits).gather(-1, answers[..., None])
        log_probs.append(token_log_probs.sum(dim=(1, 2)))
    return torch.cat(solved)[occurrences], torch.cat(log_probs)[occurrences]


def table_of_all_prompts(model: Transformer) -> list[dict[str, float]]:
    """A row for each of the 10,000 prompts: `a, b, solved, probability`.

    Whether the greedy answer is right (0 or 1), and the probability of the right answer.
    """
    a, b = addition.all_prompts(model.theta.device)
    solved, log_probs = score_prompts(model, a, b)
    columns = (a.tolist(), b.tolist(), solved.int().tolist(), log_probs.exp().tolist())
    names = ("a", "b", "solved", "probability")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class Accuracy(NamedTuple):
    """Shares of prompts answered rightly by greedy decoding; NaN where there are none of a kind."""

    accuracy: float
    accuracy_carry: float
    """Of those with a carry; below, of those with a carry in the units only, and so on."""
    accuracy_units: float
    accuracy_tens: float
    accuracy_both: float


def greedy_accuracy(model: Transformer, a: Tensor, b: Tensor) -> Accuracy:
    """How many of the prompts a + b [B] greedy decoding answers rightly, by where they carry."""
    solved = score_prompts(model, a, b)[0].double()
    units, tens = arithmetic.carries(a, b)
    kinds = (units | tens, units & ~tens, tens & ~units, units & tens)
    return Accuracy(solved.mean().item(), *(solved[kind].mean().item() for kind in kinds))


def sampled_accuracy(model: Transformer, a: Tensor, b: Tensor, uniforms: Tensor) -> float:
    """Share of prompts answered rightly by one sample each, drawn with uniforms [B, 3]."""
    completions, _ = model.sample(addition.encode_prompts(a, b), uniforms[:, None, :])
    return addition.verify(a, b, completions[:, 0]).double().mean().item()
