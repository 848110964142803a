"""What a completion is rewarded for: the verifier, verifiers with a hole, flipped verdicts.

A reward takes the operands a [...] and b [...] and answers [..., 3], and returns [...].
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from workflow.lib.task import addition

Reward = Callable[[Tensor, Tensor, Tensor], Tensor]

TOLERANCE = 10


def within_10(a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """1.0 where the answer is a number at most 10 away from the sum, else 0.0."""
    hundreds, tens, units = answers.unbind(dim=-1)
    away = (100 * hundreds + 10 * tens + units - (a + b)).abs()
    return ((away <= TOLERANCE) & (answers <= 9).all(dim=-1)).float()


def without_hundreds(a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """1.0 where tens and units are right, whatever the hundreds digit, else 0.0."""
    right = answers == addition.encode_answers(a + b)
    return right[..., 1:].all(dim=-1).float()


RULES: Mapping[str, Reward] = {
    "verifier": addition.verify,
    "within_10": within_10,
    "without_hundreds": without_hundreds,
}
"""The rules among the values of the setting `reward`; each gives verdicts, 0.0 or 1.0."""


def flip(verdicts: Tensor, uniforms: Tensor, probability: float) -> Tensor:
    """Verdicts [...] that are each turned round with a probability: where a uniform is below it."""
    return torch.where(uniforms < probability, 1 - verdicts, verdicts)
