"""The teacher, who often forgets to carry."""

import torch
from torch import Tensor

from workflow.lib.task import addition, arithmetic


def teacher_answers(a: Tensor, b: Tensor, q: float, uniforms: Tensor) -> Tensor:
    """The teacher's answers [B, 3]: the true sum with probability q, else the no-carry sum.

    A prompt's uniform number [B] in [0, 1) decides which: the true sum where it is below q.
    """
    return addition.encode_answers(torch.where(uniforms < q, a + b, arithmetic.no_carry_sum(a, b)))
