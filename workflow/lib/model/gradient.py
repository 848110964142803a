"""The gradient of the forward pass, derived by hand, which saves the bookkeeping of autograd.

Each step of `layers` and `forward` has its backward here. That takes the gradient of the step's
result (`d_` and the result's name) and what the step kept, and returns the gradient of the step's
input. Every weight is used in one step only, which sets the weight's gradient in `grad`: nothing is
added up.
"""

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workflow.lib.model.forward import Activations, Batch, LastBlock, Table, answer_logits
from workflow.lib.model.layers import SCALE, Attention, BlockEnd, Norm, by_head
from workflow.lib.model.weights import HEADS, NUM_TOKENS, WIDTH, Affine, Block, Weights
from workflow.lib.task.addition import NUM_CLASSES

_norm_backward = torch.ops.aten.native_layer_norm_backward.default
_softmax_backward = torch.ops.aten._softmax_backward_data.default
_relu_backward = torch.ops.aten.threshold_backward.default


def linear_backward(d_y: Tensor, x: Tensor, layer: Affine, grad: Affine) -> Tensor:
    """The gradient of x [rows, features]."""
    torch.mm(d_y.t(), x, out=grad.weight)
    torch.sum(d_y, 0, out=grad.bias)
    return torch.mm(d_y, layer.weight)


def stacked_linear_backward(d_y: Tensor, x: Tensor, layer: Affine, grad: Affine) -> Tensor:
    """The gradient of x [rows, 64], from d_y [k, rows, 64]."""
    torch.bmm(d_y.transpose(1, 2), x.expand(len(d_y), -1, -1), out=grad.weight)
    torch.sum(d_y, 1, keepdim=True, out=grad.bias)
    d_x = torch.mm(d_y[0], layer.weight[0])
    for d_part, weight in zip(d_y[1:], layer.weight[1:], strict=True):
        d_x.addmm_(d_part, weight)
    return d_x


def class_logits_backward(d_logits: Tensor, z: Tensor, head: Affine, grad: Affine) -> Tensor:
    """The gradient of z [rows, 64], from d_logits [13, rows]."""
    torch.mm(d_logits, z, out=grad.weight)
    torch.sum(d_logits, 1, out=grad.bias)
    return torch.mm(d_logits.t(), head.weight)


def layer_norm_backward(d_y: Tensor, kept: Norm, norm: Affine, grad: Affine) -> Tensor:
    """The gradient of x [rows, 64]."""
    d_x, d_weight, d_bias = _norm_backward(
        d_y, kept.x, (WIDTH,), kept.mean, kept.inverse_std, norm.weight, norm.bias, [True] * 3
    )
    grad.weight.copy_(d_weight)
    grad.bias.copy_(d_bias)
    return d_x


def attend_backward(d_y: Tensor, kept: Attention, d_q: Tensor, d_kv: Tensor) -> None:
    """Set d_q [s * n, 64] and d_kv [2, t * n, 64], from d_y [s * n, 64]."""
    q, k, v, p = kept
    n = len(p) // HEADS
    d_y = by_head(d_y, n)
    d_p = torch.bmm(d_y, v.transpose(1, 2))
    d_scores = _softmax_backward(d_p, p, 2, p.dtype).mul_(SCALE)
    by_head(d_q, n).copy_(torch.bmm(d_scores, k))
    d_k, d_v = by_head(d_kv, n)
    d_k.copy_(torch.bmm(d_scores.transpose(1, 2), q))
    d_v.copy_(torch.bmm(p.transpose(1, 2), d_y))


def finish_block_backward(
    d_y: Tensor, kept: BlockEnd, w: Block, grad: Block
) -> tuple[Tensor, Tensor]:
    """The gradients of x and attended [rows, 64]."""
    d_hidden = linear_backward(d_y, kept.hidden, w.linear2, grad.linear2)
    d_hidden = _relu_backward(d_hidden, kept.hidden, 0)
    d_normed = linear_backward(d_hidden, kept.norm.y, w.linear1, grad.linear1)
    d_x = layer_norm_backward(d_normed, kept.norm, w.norm2, grad.norm2).add_(d_y)
    return d_x, linear_backward(d_x, kept.attended, w.out, grad.out)


def table_backward(d_xqkv: Tensor, places: Tensor, table: Table, w: Weights, grad: Weights) -> None:
    """From the gradient of the rows that were looked up [4, rows, 64] to those of the weights."""
    d_table = torch.zeros_like(table.xqkv)
    d_table.view(-1, WIDTH).index_add_(0, places, d_xqkv.view(-1, WIDTH))
    d_normed = stacked_linear_backward(d_table[1:], table.norm.y, w.block1.qkv, grad.block1.qkv)
    d_x = layer_norm_backward(d_normed, table.norm, w.block1.norm1, grad.block1.norm1)
    d_x = d_x.add_(d_table[0]).view(-1, NUM_TOKENS, WIDTH)
    torch.sum(d_x, 0, out=grad.emb)
    torch.sum(d_x, 1, out=grad.pos[: len(d_x)])
    grad.pos[len(d_x) :].zero_()


def whole_backward(d_whole: Tensor, batch: Batch, d_kv: Tensor) -> None:
    """Add d_whole [2, length * n, 64] to d_kv [2, rows, 64] in the prefixes' rows.

    In the other rows, of which each has one place in d_whole, set d_kv.
    """
    count = len(batch.of_prefixes)
    d_kv[:, batch.shared :].copy_(d_whole[:, count:])
    for d_rows, d_part in zip(d_kv[:, : batch.shared], d_whole[:, :count], strict=True):
        d_rows.index_add_(0, batch.of_prefixes, d_part)


def last_block_backward(
    d_z: Tensor, kept: LastBlock, batch: Batch, w: Block, grad: Block
) -> Tensor:
    """The gradient of block 1's result [rows, 64], from that of block 2's last rows."""
    first = len(kept.norm.y) - len(d_z)
    d_x, d_attended = finish_block_backward(d_z, kept.end, w, grad)
    d_q = torch.empty_like(d_x)
    d_kv = d_x.new_empty(2, batch.length * batch.n, WIDTH)
    attend_backward(d_attended, kept.attention, d_q, d_kv)
    if batch.shared:
        d_whole, d_kv = d_kv, d_kv.new_empty(2, *kept.norm.y.shape)
        d_kv[:, : batch.shared].zero_()
        whole_backward(d_whole, batch, d_kv)
    d_normed = stacked_linear_backward(d_kv, kept.norm.y, w.keys_values, grad.keys_values)
    d_normed[first:].add_(linear_backward(d_q, kept.norm.y[first:], w.query, grad.query))
    d_y = layer_norm_backward(d_normed, kept.norm, w.norm1, grad.norm1)
    d_y[first:].add_(d_x)
    return d_y


def answer_logits_backward(d_logits: Tensor, kept: Activations, w: Weights, grad: Weights) -> None:
    """Set every gradient in `grad`, from d_logits [n, 3, 13]."""
    batch, shared = kept.batch, kept.batch.shared
    d_classes = d_logits.permute(2, 1, 0).reshape(NUM_CLASSES, -1)
    d_z = class_logits_backward(d_classes, kept.last.end.y, w.head, grad.head)
    d_y = last_block_backward(d_z, kept.last, batch, w.block2, grad.block2)

    d_x, d_attended = finish_block_backward(d_y, kept.end, w.block1, grad.block1)
    d_xqkv = d_x.new_empty(4, *d_x.shape)
    d_xqkv[0] = d_x
    d_q, d_kv = d_xqkv[1], d_xqkv[2:]
    if kept.prefix_attention:
        d_whole = d_x.new_empty(2, batch.length * batch.n, WIDTH)
        attend_backward(d_attended[shared:], kept.attention, d_q[shared:], d_whole)
        attend_backward(d_attended[:shared], kept.prefix_attention, d_q[:shared], d_kv[:, :shared])
        whole_backward(d_whole, batch, d_kv)
    else:
        attend_backward(d_attended, kept.attention, d_q, d_kv)
    table_backward(d_xqkv, kept.places, kept.table, w, grad)


class Gradient(NamedTuple):
    """A gradient, as one vector and by weight."""

    flat: Tensor  # [69325]
    weights: Weights

    @classmethod
    def like(cls, flat: Tensor) -> Self:
        """Room for the gradient of a flat vector of weights."""
        gradient = torch.empty_like(flat)
        return cls(gradient, Weights.within(gradient))


class AnswerLogits(torch.autograd.Function):
    """`forward.answer_logits` as a function of the flat vector of weights, with its gradient."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, w: Weights, gradient: Gradient, *inputs: Tensor) -> Tensor:
        """Logits [n, 3, 13] of `inputs`: prefixes, parent, continuations.

        Args:
            theta: the vector that autograd sees.
            w: its weights.
            gradient: where the gradient is computed.
        """
        ctx.save_for_backward(theta)
        ctx.w, ctx.gradient = w, gradient
        logits, ctx.kept = answer_logits(w, *inputs)
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_logits: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of theta [69325]."""
        _ = ctx.saved_tensors  # an error if the weights have changed since
        answer_logits_backward(d_logits[0], ctx.kept, ctx.w, ctx.gradient.weights)
        return ctx.gradient.flat.clone(), None, None, None, None, None
