"""The Transformer: logits of answers, and samples of them.

It computes what a stock pre-norm `nn.TransformerEncoder` computes, exactly but in less time, by not
doing what the answer does not need:

* Sequences that start alike share a *prefix*: it is encoded once, and its keys and values are
  handed to each of them.
* Block 1 sees only tokens and positions, so its queries, keys and values are computed once for each
  pair of position and token, and looked up.
* Block 2 is evaluated in full only at the last positions, those that predict the answer.
* The gradient of the whole network is derived by hand, which saves the bookkeeping of autograd.

Activations are *rows* of 64 features, [t * n, 64], ordered by position first, by sequence second.
So the last positions are the last rows, and the heads of all sequences are a strided view that a
batched matrix product reads as it is: nothing is copied to bring heads to the front. Throughout, n
is the number of sequences, t that of positions, and s that of the last positions, those evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

NUM_TOKENS = 14  # one more than is used: the study's model has it
NUM_POSITIONS = 10
NUM_CLASSES = 13
ANSWER_LENGTH = 3
WIDTH = 64
HIDDEN = 128
HEADS = 4
HEAD_WIDTH = WIDTH // HEADS
SCALE = HEAD_WIDTH**-0.5

WORTH_SHARING = 512  # encode prefixes separately if that saves at least so many rows


def _shapes() -> dict[str, tuple[int, ...]]:
    """Names and shapes of the parameters, in the order of the stock module's state dict."""
    shapes: dict[str, tuple[int, ...]] = {
        "emb.weight": (NUM_TOKENS, WIDTH),
        "pos.weight": (NUM_POSITIONS, WIDTH),
    }
    for layer in range(2):
        for name, shape in {
            "self_attn.in_proj_weight": (3 * WIDTH, WIDTH),
            "self_attn.in_proj_bias": (3 * WIDTH,),
            "self_attn.out_proj.weight": (WIDTH, WIDTH),
            "self_attn.out_proj.bias": (WIDTH,),
            "linear1.weight": (HIDDEN, WIDTH),
            "linear1.bias": (HIDDEN,),
            "linear2.weight": (WIDTH, HIDDEN),
            "linear2.bias": (WIDTH,),
            "norm1.weight": (WIDTH,),
            "norm1.bias": (WIDTH,),
            "norm2.weight": (WIDTH,),
            "norm2.bias": (WIDTH,),
        }.items():
            shapes[f"encoder.layers.{layer}.{name}"] = shape
    shapes["head.weight"] = (NUM_CLASSES, WIDTH)
    shapes["head.bias"] = (NUM_CLASSES,)
    return shapes


SHAPES = _shapes()
SIZES = [math.prod(shape) for shape in SHAPES.values()]
NUM_PARAMETERS = sum(SIZES)  # 69,325


def _views(flat: Tensor) -> list[Tensor]:
    """The parameters, in the order of SHAPES, as views into one flat vector."""
    return [
        part.view(shape) for part, shape in zip(flat.split(SIZES), SHAPES.values(), strict=True)
    ]


class Affine(NamedTuple):
    """Weight and bias of a linear map or of a layer norm."""

    weight: Tensor
    bias: Tensor


class Block(NamedTuple):
    """One Transformer block; the same structure holds its weights and their gradients."""

    qkv: Affine
    query: Affine
    key: Affine
    value: Affine
    out: Affine
    linear1: Affine
    linear2: Affine
    norm1: Affine
    norm2: Affine

    @classmethod
    def of(cls, qkv: Affine, *others: Affine) -> Block:
        """From the pairs of a stock layer, which stacks query, key and value."""
        return cls(qkv, *map(Affine, qkv.weight.chunk(3), qkv.bias.chunk(3)), *others)


class Weights(NamedTuple):
    """All the weights, or the gradient of each, as views into one flat vector."""

    emb: Tensor
    pos: Tensor
    block1: Block
    block2: Block
    head: Affine

    @classmethod
    def within(cls, flat: Tensor) -> Weights:
        emb, pos, *others = _views(flat)
        pairs = list(map(Affine, others[::2], others[1::2]))
        return cls(emb, pos, Block.of(*pairs[:6]), Block.of(*pairs[6:12]), pairs[12])


# Each step below comes with its backward. That takes the gradient of the step's result (`d_` and
# the result's name) and what the step kept, adds to the weights' gradients in `grad`, and returns
# the gradient of the step's input.

Kept = tuple[Any, ...]

_norm_gradient = torch.ops.aten.native_layer_norm_backward.default
_softmax_gradient = torch.ops.aten._softmax_backward_data.default
_relu_gradient = torch.ops.aten.threshold_backward.default


def _linear(x: Tensor, linear: Affine) -> Tensor:
    return F.linear(x, linear.weight, linear.bias)


def _linear_backward(d_y: Tensor, x: Tensor, linear: Affine, grad: Affine) -> Tensor:
    grad.weight.addmm_(d_y.t(), x)
    grad.bias.add_(d_y.sum(0))
    return torch.mm(d_y, linear.weight)


def _norm(x: Tensor, norm: Affine) -> tuple[Tensor, Kept]:
    y, mean, inverse_std = torch.native_layer_norm(x, (WIDTH,), norm.weight, norm.bias, 1e-5)
    return y, (x, mean, inverse_std)


def _norm_backward(d_y: Tensor, kept: Kept, norm: Affine, grad: Affine) -> Tensor:
    x, mean, inverse_std = kept
    d_x, d_weight, d_bias = _norm_gradient(
        d_y, x, (WIDTH,), mean, inverse_std, norm.weight, norm.bias, [True, True, True]
    )
    grad.weight.add_(d_weight)
    grad.bias.add_(d_bias)
    return d_x


@lru_cache
def _causal_mask(s: int, t: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Minus infinity where a key comes after a query [s, t]; the queries are the last positions."""
    return torch.full((s, t), -torch.inf, device=device, dtype=dtype).triu(t - s + 1)


def _heads(rows: Tensor, n: int) -> Tensor:
    """Rows as matrices [n * 4, t, 16], one for each sequence and head (a view)."""
    return rows.view(-1, n * HEADS, HEAD_WIDTH).transpose(0, 1)


def _rows(heads: Tensor) -> Tensor:
    """The reverse of _heads (a copy)."""
    return heads.transpose(0, 1).reshape(-1, WIDTH)


def _attention(q: Tensor, k: Tensor, v: Tensor, n: int) -> tuple[Tensor, Kept]:
    """Causal attention of the last positions to all: q [s * n, 64], k and v [t * n, 64]."""
    q, k, v = _heads(q, n), _heads(k, n), _heads(v, n)
    mask = _causal_mask(q.shape[1], k.shape[1], q.device, q.dtype)
    p = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=SCALE).softmax(2)
    return _rows(torch.bmm(p, v)), (q, k, v, p)


def _attention_backward(d_y: Tensor, kept: Kept) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v, p = kept
    d_y = _heads(d_y, len(p) // HEADS)
    d_p = torch.bmm(d_y, v.transpose(1, 2))
    d_scores = _softmax_gradient(d_p, p, 2, p.dtype).mul_(SCALE)
    d_q = torch.bmm(d_scores, k)
    d_k = torch.bmm(d_scores.transpose(1, 2), q)
    d_v = torch.bmm(p.transpose(1, 2), d_y)
    return _rows(d_q), _rows(d_k), _rows(d_v)


def _block(x: Tensor, q: Tensor, k: Tensor, v: Tensor, n: int, w: Block) -> tuple[Tensor, Kept]:
    """A block from its queries, keys and values on: x and q [s * n, 64], k and v [t * n, 64]."""
    attended, for_attention = _attention(q, k, v, n)
    x = _linear(attended, w.out).add_(x)
    normed, for_norm = _norm(x, w.norm2)
    hidden = _linear(normed, w.linear1).relu_()
    y = _linear(hidden, w.linear2).add_(x)
    return y, (for_attention, attended, for_norm, normed, hidden)


def _block_backward(
    d_y: Tensor, kept: Kept, w: Block, grad: Block
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of x, q, k and v."""
    for_attention, attended, for_norm, normed, hidden = kept
    d_hidden = _linear_backward(d_y, hidden, w.linear2, grad.linear2)
    d_hidden = _relu_gradient(d_hidden, hidden, 0)
    d_normed = _linear_backward(d_hidden, normed, w.linear1, grad.linear1)
    d_x = _norm_backward(d_normed, for_norm, w.norm2, grad.norm2).add_(d_y)
    d_attended = _linear_backward(d_x, attended, w.out, grad.out)
    return d_x, *_attention_backward(d_attended, for_attention)


class Encoded(NamedTuple):
    """What block 2 reads: x, its layer norm, keys and values; or the gradient of each."""

    x: Tensor
    normed: Tensor
    k: Tensor
    v: Tensor

    def last(self, rows: int) -> Encoded:
        """With x and normed, but not keys and values, only in the last rows."""
        return Encoded(self.x[-rows:], self.normed[-rows:], self.k, self.v)

    def after(self, k: Tensor, v: Tensor) -> Encoded:
        """With the keys and values of earlier positions in front."""
        return Encoded(self.x, self.normed, torch.cat((k, self.k)), torch.cat((v, self.v)))


def _select(rows: Tensor, parent: Tensor, n: int) -> Tensor:
    """For each sequence the rows of its parent, one of n: [t * n, 64] -> [t * B, 64]."""
    return rows.view(-1, n, WIDTH).index_select(1, parent).view(-1, WIDTH)


def _select_backward(d_y: Tensor, parent: Tensor, n: int) -> Tensor:
    d_y = d_y.view(-1, len(parent), WIDTH)
    return d_y.new_zeros(len(d_y), n, WIDTH).index_add_(1, parent, d_y).view(-1, WIDTH)


class _Network:
    """The network with given weights, for sequences of at most `length` positions.

    What block 1 reads is in `table`: x, query, key and value, each [length * 14, 64], with a row
    for each pair of position and token.
    """

    def __init__(self, w: Weights, length: int) -> None:
        self.w = w
        x = (w.pos[:length, None] + w.emb).view(-1, WIDTH)
        self.normed, self.for_norm = _norm(x, w.block1.norm1)
        self.table = (x, *_linear(self.normed, w.block1.qkv).chunk(3, 1))
        self.first_row = torch.arange(0, length * NUM_TOKENS, NUM_TOKENS, device=x.device)

    def encode(self, tokens: Tensor, s: int) -> tuple[Encoded, Kept]:
        """Block 1 and what block 2 makes of it, at the last s positions of tokens [n, t]."""
        n, t = tokens.shape
        keys = (tokens + self.first_row[:t]).t().reshape(-1)
        queries = keys[(t - s) * n :]
        x, q = (part.index_select(0, queries) for part in self.table[:2])
        k, v = (part.index_select(0, keys) for part in self.table[2:])
        y, for_block1 = _block(x, q, k, v, n, self.w.block1)
        normed, for_norm = _norm(y, self.w.block2.norm1)
        k, v = _linear(normed, self.w.block2.key), _linear(normed, self.w.block2.value)
        encoded = Encoded(y, normed, k, v)
        return encoded, (for_block1, queries, keys, for_norm, normed)

    def encode_backward(self, d: Encoded, kept: Kept, grad: Weights, d_table: Tensor) -> None:
        """Adds to the gradients of the weights and of the table [4, length * 14, 64].

        Of x and normed, d has the gradients at the last positions, if any.
        """
        for_block1, queries, keys, for_norm, normed = kept
        w, grad_block = self.w.block2, grad.block2
        first = len(normed) - len(d.x)
        d_normed = _linear_backward(d.k, normed, w.key, grad_block.key)
        d_normed.add_(_linear_backward(d.v, normed, w.value, grad_block.value))
        d_normed[first:].add_(d.normed)
        d_y = _norm_backward(d_normed, for_norm, w.norm1, grad_block.norm1)
        d_y[first:].add_(d.x)
        d_xqkv = _block_backward(d_y, for_block1, self.w.block1, grad.block1)
        for part, rows, d_part in zip(d_table, (queries, queries, keys, keys), d_xqkv, strict=True):
            part.index_add_(0, rows, d_part)

    def table_backward(self, d_table: Tensor, grad: Weights) -> None:
        w, grad_block = self.w.block1, grad.block1
        d_x, *d_qkv = d_table
        d_normed = _linear_backward(torch.cat(d_qkv, 1), self.normed, w.qkv, grad_block.qkv)
        d_x = _norm_backward(d_normed, self.for_norm, w.norm1, grad_block.norm1).add_(d_x)
        d_x = d_x.view(-1, NUM_TOKENS, WIDTH)
        grad.emb.add_(d_x.sum(0))
        grad.pos[: len(d_x)].add_(d_x.sum(1))

    def predict(self, encoded: Encoded, n: int) -> tuple[Tensor, Kept]:
        """Block 2 and the head where x and normed are given: logits [s * n, 13]."""
        x, normed, k, v = encoded
        q = _linear(normed, self.w.block2.query)
        y, for_block2 = _block(x, q, k, v, n, self.w.block2)
        return _linear(y, self.w.head), (for_block2, normed, y)

    def predict_backward(self, d_logits: Tensor, kept: Kept, grad: Weights) -> Encoded:
        for_block2, normed, y = kept
        w, grad_block = self.w.block2, grad.block2
        d_y = _linear_backward(d_logits, y, self.w.head, grad.head)
        d_x, d_q, d_k, d_v = _block_backward(d_y, for_block2, w, grad_block)
        d_normed = _linear_backward(d_q, normed, w.query, grad_block.query)
        return Encoded(d_x, d_normed, d_k, d_v)

    def answers(
        self, prefixes: Tensor, parent: Tensor, continuations: Tensor
    ) -> tuple[Tensor, Kept]:
        """Logits [3 * B, 13]."""
        (num_prefixes, length), (n, s) = prefixes.shape, continuations.shape
        tokens = torch.cat((prefixes.index_select(0, parent), continuations), 1)
        shared = length * (n - num_prefixes) >= WORTH_SHARING
        encoded, for_sequences = self.encode(tokens, s if shared else length + s)
        for_prefixes = None
        if shared:
            of_prefixes, for_prefixes = self.encode(prefixes, length)
            k, v = (_select(part, parent, num_prefixes) for part in of_prefixes[2:])
            encoded = encoded.after(k, v)
        logits, for_answers = self.predict(encoded.last(ANSWER_LENGTH * n), n)
        return logits, (for_sequences, for_prefixes, for_answers, parent, num_prefixes)

    def answers_backward(self, d_logits: Tensor, kept: Kept, grad: Weights) -> None:
        for_sequences, for_prefixes, for_answers, parent, num_prefixes = kept
        d_table = d_logits.new_zeros((len(self.table), *self.table[0].shape))
        d = self.predict_backward(d_logits, for_answers, grad)
        if for_prefixes:
            own = len(for_sequences[-1])  # the rows that are not a prefix's
            d_k, d_v = (_select_backward(part[:-own], parent, num_prefixes) for part in d[2:])
            nothing = d_k[:0]
            d_prefixes = Encoded(nothing, nothing, d_k, d_v)
            self.encode_backward(d_prefixes, for_prefixes, grad, d_table)
            d = Encoded(d.x, d.normed, d.k[-own:], d.v[-own:])
        self.encode_backward(d, for_sequences, grad, d_table)
        self.table_backward(d_table, grad)


class _AnswerLogits(torch.autograd.Function):
    """Logits of answers as a function of the flat vector of weights, with its gradient."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, model: Transformer, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(theta)
        ctx.model = model
        logits, ctx.network, ctx.kept = model._answers(*inputs)
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_logits: Tensor) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors  # an error if the weights have changed since
        d_rows = d_logits[0].transpose(0, 1).reshape(-1, NUM_CLASSES)
        gradient, parts = ctx.model._gradient
        gradient.zero_()
        ctx.network.answers_backward(d_rows, ctx.kept, parts)
        return gradient.clone(), None, None, None, None


class Transformer:
    """The policy: every weight is a view into one flat vector.

    So the optimizer, the gradient norm and its clipping see a single tensor.
    """

    def __init__(self, theta: Tensor) -> None:
        self.theta = theta  # [69325]
        flat = theta.detach()
        self.weights = dict(zip(SHAPES, _views(flat), strict=True))
        self._weights = Weights.within(flat)
        # Made once: for a small batch, making the views is a good part of the whole backward.
        gradient = torch.empty_like(flat)
        self._gradient = gradient, Weights.within(gradient)

    def _answers(
        self, prefixes: Tensor, parent: Tensor, continuations: Tensor
    ) -> tuple[Tensor, _Network, Kept]:
        network = _Network(self._weights, prefixes.shape[1] + continuations.shape[1])
        logits, kept = network.answers(prefixes, parent, continuations)
        return logits.view(ANSWER_LENGTH, -1, NUM_CLASSES).transpose(0, 1), network, kept

    @classmethod
    def initial(cls, seed: int) -> Transformer:
        """The weights with which PyTorch's stock modules start."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # In this order, which decides what each draws from the random stream.
            embeddings = nn.Embedding(NUM_TOKENS, WIDTH), nn.Embedding(NUM_POSITIONS, WIDTH)
            layer = nn.TransformerEncoderLayer(
                WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True, norm_first=True
            )
            encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            modules = (*embeddings, encoder, nn.Linear(WIDTH, NUM_CLASSES))
        names = ("emb", "pos", "encoder", "head")
        stock = nn.ModuleDict(dict(zip(names, modules, strict=True)))
        return cls.from_state_dict(stock.state_dict())

    @classmethod
    def from_state_dict(
        cls, state: Mapping[str, Tensor], device: torch.device | str = "cpu"
    ) -> Transformer:
        """Raises ValueError if a key is missing or unexpected, or has the wrong shape."""
        for key in [*SHAPES, *state]:
            if key not in state:
                raise ValueError(f"the state dict lacks {key!r}")
            if key not in SHAPES:
                raise ValueError(f"the state dict has an unexpected key {key!r}")
            if state[key].shape != SHAPES[key]:
                raise ValueError(
                    f"{key!r} has shape {tuple(state[key].shape)}, expected {SHAPES[key]}"
                )
        flat = torch.cat([state[key].detach().reshape(-1) for key in SHAPES])
        return cls(flat.to(device=device, dtype=torch.float32))

    def state_dict(self) -> dict[str, Tensor]:
        """Copies of the weights on the CPU, under the stock module's keys."""
        return {key: weight.cpu().clone() for key, weight in self.weights.items()}

    def copy(self) -> Transformer:
        """An independent model with the same weights; it doesn't require a gradient."""
        return Transformer(self.theta.detach().clone())

    def answer_logits(self, prefixes: Tensor, parent: Tensor, continuations: Tensor) -> Tensor:
        """Logits [B, 3, 13] at the last three positions: those that predict the answer's digits.

        Sequence b is prefixes[parent[b]] followed by continuations[b], where prefixes [N, P] begin
        with BOS, parent is [B], and continuations [B, C] have C >= 3. The gradient with respect to
        theta is kept track of unless theta doesn't require it or gradients are off.
        """
        if torch.is_grad_enabled() and self.theta.requires_grad:
            inputs = (prefixes, parent, continuations)
            logits: Tensor = _AnswerLogits.apply(self.theta, self, *inputs)
            return logits
        return self._answers(prefixes, parent, continuations)[0]

    @torch.no_grad()
    def sample(
        self, prompts: Tensor, uniforms: Tensor, temperature: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Completions [N, G, 3] of prompts [N, 7] and their log-probabilities [N, G].

        Each of uniforms [N, G, 3], in [0, 1), decides one digit, through the inverse of the
        cumulative distribution function. The prompt is encoded once for its G completions.
        """
        (num_prompts, prompt_length), repeats = prompts.shape, uniforms.shape[1]
        network = _Network(self._weights, prompt_length + ANSWER_LENGTH - 1)
        encoded, _ = network.encode(prompts, prompt_length)
        logits, _ = network.predict(encoded.last(num_prompts), num_prompts)

        # From here on each prompt stands for `repeats` sequences.
        n = num_prompts * repeats
        parent = torch.arange(num_prompts, device=prompts.device).repeat_interleave(repeats)
        k, v = (_select(part, parent, num_prompts) for part in encoded[2:])
        tokens, logits = prompts.index_select(0, parent), logits.index_select(0, parent)
        log_probs = torch.zeros_like(logits[:, :1])
        for step, uniform in enumerate(uniforms.reshape(n, ANSWER_LENGTH).split(1, 1)):
            if step > 0:
                encoded = network.encode(tokens, 1)[0].after(k, v)
                logits, _ = network.predict(encoded, n)
                k, v = encoded[2:]
            log_p = torch.log_softmax(logits / temperature, 1)
            cdf = log_p.exp().cumsum(1)
            # Rounding may leave the cdf's end off 1; a uniform scaled by it stays below it.
            token = (cdf <= uniform * cdf[:, -1:]).sum(1, keepdim=True)
            log_probs += log_p.gather(1, token)
            tokens = torch.cat((tokens, token), 1)
        return tokens[:, prompt_length:].view(uniforms.shape), log_probs.view(num_prompts, repeats)
