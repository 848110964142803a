"""The layers of the network: linear maps, layer norm, attention, and the rest of a block.

Activations are *rows* of 64 features, [t * n, 64], for n sequences of t positions. They are ordered
by position first and by sequence second, so that the last positions are the last rows. Heads are a
strided view of rows, which a batched matrix product reads as it is: nothing is copied.

Where the gradient of a layer needs more than its result, the layer returns a named tuple with what
it needs (`gradient` reads it).
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from workflow.lib.model.weights import HEAD_WIDTH, HEADS, WIDTH, Affine, Block

SCALE = HEAD_WIDTH**-0.5
"""Attention scores are products of queries and keys times this."""
VECTOR = 16
"""Scores that a CPU's softmax takes at a time: a register of AVX-512 has 512 bits, a number 32."""


def linear(x: Tensor, layer: Affine) -> Tensor:
    """A linear map of each row of x."""
    return F.linear(x, layer.weight, layer.bias)


def stacked_linear(x: Tensor, layer: Affine, out: Tensor) -> Tensor:
    """The k stacked maps of x [rows, 64]: out [k, rows, 64]."""
    weight, bias = layer
    return torch.baddbmm(bias, x.expand(len(bias), -1, -1), weight.transpose(1, 2), out=out)


def class_logits(z: Tensor, head: Affine) -> Tensor:
    """Logits [13, rows] of z [rows, 64].

    Classes come first because PyTorch's softmax is much faster over a first dimension of 13 than
    over a last one.
    """
    return torch.addmm(head.bias[:, None], head.weight, z.t())


class Norm(NamedTuple):
    """A layer norm y of x, both [rows, 64]."""

    y: Tensor
    x: Tensor
    mean: Tensor
    inverse_std: Tensor


def layer_norm(x: Tensor, norm: Affine) -> Norm:
    """The layer norm of each row of x."""
    y, mean, inverse_std = torch.native_layer_norm(x, (WIDTH,), norm.weight, norm.bias, 1e-5)
    return Norm(y, x, mean, inverse_std)


def softmax(scores: Tensor) -> Tensor:
    """Softmax over the last dimension.

    PyTorch's CPU kernel is slow where that is shorter than a vector register, so minus infinity
    pads it to VECTOR. With AVX-512 that saves 3 to 10 % of the first 40 iterations of GRPO
    (docs/speed.md). With AVX2, whose registers hold 8 numbers, a padded softmax over 7 scores was
    1.6 times as fast, one over 10 or 15 scores 0.85 times (measured on an AMD EPYC).
    """
    missing = VECTOR - scores.shape[-1]
    if missing <= 0 or scores.is_cuda:
        return scores.softmax(-1)
    padded = F.pad(scores, (0, missing), value=-math.inf).softmax(-1)
    return padded[..., :-missing].contiguous()


def by_head(rows: Tensor, n: int) -> Tensor:
    """Rows [..., t * n, 64] as matrices [..., n * 4, t, 16], one per sequence and head: a view."""
    return rows.view(*rows.shape[:-2], -1, n * HEADS, HEAD_WIDTH).transpose(-3, -2)


@lru_cache
def causal_mask(s: int, t: int, pack: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The mask [s * pack, t * pack] of `pack` sequences with queries at the last s of t positions.

    It is added to the scores: minus infinity where the key is of a later position or of another
    sequence, else zero.
    """
    seen = torch.ones(s, t).tril(t - s).kron(torch.eye(pack))
    return seen.log().to(device, dtype)


@lru_cache
def group_mask(group: int, t: int, own: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The mask [group, t + own * group] of one query each of `group` completions of a prompt.

    All see the prompt's t keys, and each sees `own` keys of its own completion.
    """
    seen = torch.cat((torch.ones(group, t), torch.eye(group).repeat(1, own)), 1)
    return seen.log().to(device, dtype)


class Attention(NamedTuple):
    """Queries, keys, values and attention probabilities, by sequence and head."""

    q: Tensor  # [n * 4, s, 16]
    k: Tensor  # [n * 4, t, 16]
    v: Tensor  # [n * 4, t, 16]
    p: Tensor  # [n * 4, s, t]


def attend(q: Tensor, kv: Tensor, n: int, out: Tensor, mask: Tensor | None = None) -> Attention:
    """Attention of q [s * n, 64] to the keys and values kv [2, t * n, 64], into out [s * n, 64].

    Without a mask [s, t] it is causal, and the queries are those of the last s of t positions.
    """
    if mask is None:
        s, t = len(q) // n, kv.shape[1] // n
        # The matrices of one sequence are so small that calling for their product costs more than
        # computing it. So two sequences, or four short ones, count as one, masked from each other.
        # Because sequence comes second in the order of rows, that is only another view. More at a
        # time was measured to be slower (docs/speed.md): most of the scores are then masked.
        pack = math.gcd(n, 4 if t <= 4 else 2)
        mask = causal_mask(s, t, pack, q.device, q.dtype)
        n //= pack
    q, (k, v) = by_head(q, n), by_head(kv, n)
    p = softmax(torch.baddbmm(mask, q, k.transpose(1, 2), alpha=SCALE))
    by_head(out, n).copy_(torch.bmm(p, v))
    return Attention(q, k, v, p)


class BlockEnd(NamedTuple):
    """What follows attention in a block."""

    attended: Tensor  # [rows, 64]
    norm: Norm
    hidden: Tensor  # [rows, 128]
    y: Tensor  # [rows, 64], the block's result


def finish_block(x: Tensor, attended: Tensor, w: Block) -> BlockEnd:
    """From a block's input x and its attention's result, both [rows, 64], to the block's result."""
    x = linear(attended, w.out).add_(x)
    norm = layer_norm(x, w.norm2)
    hidden = linear(norm.y, w.linear1).relu_()
    y = linear(hidden, w.linear2).add_(x)
    return BlockEnd(attended, norm, hidden, y)
