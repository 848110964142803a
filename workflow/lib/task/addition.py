"""The task: two-digit addition as tokens, and the verifier."""

import torch
from torch import Tensor

PLUS, EQUALS, BOS = 10, 11, 12
"""Token ids; the digits 0-9 are their own ids."""
NUM_CLASSES = 13
"""Token ids that the model can predict."""
NUM_OPERANDS = 100
"""Operands are 0..99."""
PROMPT_LENGTH = 7
"""Tokens of a prompt: BOS, tens(a), units(a), `+`, tens(b), units(b), `=`."""
FIRST_OPERAND_LENGTH = 4
"""Tokens of a prompt up to and including the `+`."""
ANSWER_LENGTH = 3
"""Digits of an answer: the sum, zero-padded."""


def encode_prompts(a: Tensor, b: Tensor) -> Tensor:
    """Token ids [..., 7] of the prompts `a + b =`, for operands [...] in 0..99."""
    bos, plus, equals = (torch.full_like(a, token) for token in (BOS, PLUS, EQUALS))
    return torch.stack([bos, a // 10, a % 10, plus, b // 10, b % 10, equals], dim=-1)


def encode_answers(total: Tensor) -> Tensor:
    """The three digits [..., 3] of totals [...] in 0..999."""
    return torch.stack([total // 100, total // 10 % 10, total % 10], dim=-1)


def verify(a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """The verifiable reward [...]: 1.0 where all three digits [..., 3] are right, else 0.0."""
    return (answers == encode_answers(a + b)).all(dim=-1).float()


def all_prompts(device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """The operands (a [10000], b [10000]) of every prompt there is, a major."""
    n = torch.arange(NUM_OPERANDS**2, device=device)
    return n // NUM_OPERANDS, n % NUM_OPERANDS


def first_operands(device: torch.device | str = "cpu") -> Tensor:
    """The beginnings `BOS tens units +` [100, 4] of all prompts: row a is the one of operand a."""
    a = torch.arange(NUM_OPERANDS, device=device)
    return encode_prompts(a, a)[:, :FIRST_OPERAND_LENGTH]
