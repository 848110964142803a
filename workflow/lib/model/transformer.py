"""The Transformer: logits of answers, and samples of them.

It computes what a stock pre-norm `nn.TransformerEncoder` computes, exactly but in less time, by not
doing what the answer does not need:

* Sequences that start alike share a *prefix*: it is encoded once, and its keys and values are
  handed to each of them.
* Block 1 sees only tokens and positions, so its queries, keys and values are computed once for each
  pair of position and token, and looked up.
* Block 2 is evaluated in full only at the last positions, those that predict the answer.
* Attention takes two sequences at a time, or four short ones, masked from each other: the matrices
  of one are so small that calling for their product costs more than the product. When sampling, it
  takes all the completions of a prompt, which share its keys.
* The gradient of the whole network is derived by hand, which saves the bookkeeping of autograd.

Activations are *rows* of 64 features, [t * n, 64], ordered by position first, by sequence second.
So the last positions are the last rows, sequences i and i + n / 2 together are rows of n / 2
sequences twice as long (four likewise), and the heads are a strided view that a batched matrix
product reads as it is: nothing is copied to bring heads to the front. With shared prefixes, the
prefixes' rows come first and the sequences' own follow, so that whatever treats each row alone sees
a single matrix.
Throughout, n is the number of sequences, t that of positions, and s that of the last positions,
those evaluated.
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

from workflow.lib.task.addition import ANSWER_LENGTH, NUM_CLASSES

NUM_TOKENS = 14  # one more than is used: the study's model has it
NUM_POSITIONS = 10
WIDTH = 64
HIDDEN = 128
HEADS = 4
HEAD_WIDTH = WIDTH // HEADS
SCALE = HEAD_WIDTH**-0.5

LARGEST_GROUP = 8  # completions of a prompt that attend to it together, when sampling
VECTOR = 16  # floats in a vector register of AVX-512; other processors have fewer
WORTH_SHARING = 192  # encode prefixes separately if that saves at least so many rows


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
    """Weight and bias of a linear map, of several maps of one input (stacked), or of a norm."""

    weight: Tensor
    bias: Tensor

    def stacked(self) -> Affine:
        """A map to k * 64 features as k maps to 64: weight [k, 64, 64], bias [k, 1, 64]."""
        return Affine(self.weight.view(-1, WIDTH, WIDTH), self.bias.view(-1, 1, WIDTH))


class Block(NamedTuple):
    """One Transformer block; the same structure holds its weights and their gradients."""

    qkv: Affine  # stacked
    query: Affine
    keys_values: Affine  # stacked
    out: Affine
    linear1: Affine
    linear2: Affine
    norm1: Affine
    norm2: Affine

    @classmethod
    def of(cls, qkv: Affine, *others: Affine) -> Block:
        """From the pairs of a stock layer, which stacks query, key and value."""
        query = Affine(qkv.weight[:WIDTH], qkv.bias[:WIDTH])
        keys_values = Affine(qkv.weight[WIDTH:], qkv.bias[WIDTH:])
        return cls(qkv.stacked(), query, keys_values.stacked(), *others)


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
# the result's name) and what the step kept, and returns the gradient of the step's input. Every
# weight is used in one step only, which sets the weight's gradient in `grad`: nothing is added up.

Kept = tuple[Any, ...]

_norm_gradient = torch.ops.aten.native_layer_norm_backward.default
_softmax_gradient = torch.ops.aten._softmax_backward_data.default
_relu_gradient = torch.ops.aten.threshold_backward.default


def _linear(x: Tensor, linear: Affine) -> Tensor:
    return F.linear(x, linear.weight, linear.bias)


def _linear_backward(d_y: Tensor, x: Tensor, linear: Affine, grad: Affine) -> Tensor:
    torch.mm(d_y.t(), x, out=grad.weight)
    torch.sum(d_y, 0, out=grad.bias)
    return torch.mm(d_y, linear.weight)


def _logits(z: Tensor, head: Affine) -> Tensor:
    """Logits [13, rows]: classes first, over which a softmax is quick (see `log_softmax`)."""
    return torch.addmm(head.bias[:, None], head.weight, z.t())


def _logits_backward(d_logits: Tensor, z: Tensor, head: Affine, grad: Affine) -> Tensor:
    torch.mm(d_logits, z, out=grad.weight)
    torch.sum(d_logits, 1, out=grad.bias)
    return torch.mm(d_logits.t(), head.weight)


def _stacked(x: Tensor, linear: Affine, out: Tensor) -> Tensor:
    """The k stacked maps of x [rows, 64]: out [k, rows, 64]."""
    weight, bias = linear
    return torch.baddbmm(bias, x.expand(len(bias), -1, -1), weight.transpose(1, 2), out=out)


def _stacked_backward(d_y: Tensor, x: Tensor, linear: Affine, grad: Affine) -> Tensor:
    torch.bmm(d_y.transpose(1, 2), x.expand(len(d_y), -1, -1), out=grad.weight)
    torch.sum(d_y, 1, keepdim=True, out=grad.bias)
    d_x = torch.mm(d_y[0], linear.weight[0])
    for d_part, weight in zip(d_y[1:], linear.weight[1:], strict=True):
        d_x.addmm_(d_part, weight)
    return d_x


def _norm(x: Tensor, norm: Affine) -> tuple[Tensor, Kept]:
    y, mean, inverse_std = torch.native_layer_norm(x, (WIDTH,), norm.weight, norm.bias, 1e-5)
    return y, (x, mean, inverse_std)


def _norm_backward(d_y: Tensor, kept: Kept, norm: Affine, grad: Affine) -> Tensor:
    x, mean, inverse_std = kept
    d_x, d_weight, d_bias = _norm_gradient(
        d_y, x, (WIDTH,), mean, inverse_std, norm.weight, norm.bias, [True, True, True]
    )
    grad.weight.copy_(d_weight)
    grad.bias.copy_(d_bias)
    return d_x


def _heads(rows: Tensor, n: int) -> Tensor:
    """Rows [..., t * n, 64] as matrices [..., n * 4, t, 16]: a view by sequence and head."""
    return rows.view(*rows.shape[:-2], -1, n * HEADS, HEAD_WIDTH).transpose(-3, -2)


@lru_cache
def _causal_mask(s: int, t: int, pack: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Zero, or minus infinity where a query must not see a key: [s * pack, t * pack].

    That is where the key is of another of the `pack` sequences, or of a later position.
    """
    seen = torch.ones(s, t).tril(t - s).kron(torch.eye(pack))
    return seen.log().to(device, dtype)


@lru_cache
def _group_mask(group: int, t: int, own: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The same for `group` queries that share t keys and have `own` keys each of their own."""
    seen = torch.cat((torch.ones(group, t), torch.eye(group).repeat(1, own)), 1)
    return seen.log().to(device, dtype)


def _softmax(scores: Tensor) -> Tensor:
    """Over the last dimension.

    On a CPU, PyTorch takes many times as long where that is shorter than a vector register.
    """
    missing = VECTOR - scores.shape[-1]
    if missing <= 0 or scores.is_cuda:
        return scores.softmax(-1)
    full = F.pad(scores, (0, missing), value=-math.inf).softmax(-1)
    return full[..., :-missing].contiguous()


def _attention(q: Tensor, kv: Tensor, n: int, out: Tensor, mask: Tensor | None = None) -> Kept:
    """Attention of q [s * n, 64] to the keys and values kv [2, t * n, 64], into out [s * n, 64].

    Without a mask [s, t], q has the last of t positions and sees none that is later.
    """
    if mask is None:
        s, t = len(q) // n, kv.shape[1] // n
        pack = math.gcd(n, 4 if t <= 4 else 2)
        mask = _causal_mask(s, t, pack, q.device, q.dtype)
        n //= pack
    q, (k, v) = _heads(q, n), _heads(kv, n)
    p = _softmax(torch.baddbmm(mask, q, k.transpose(1, 2), alpha=SCALE))
    _heads(out, n).copy_(torch.bmm(p, v))
    return q, k, v, p


def _attention_backward(d_y: Tensor, kept: Kept, d_q: Tensor, d_kv: Tensor) -> None:
    """Sets d_q [s * n, 64] and d_kv [2, t * n, 64]."""
    q, k, v, p = kept
    n = len(p) // HEADS
    d_y = _heads(d_y, n)
    d_p = torch.bmm(d_y, v.transpose(1, 2))
    d_scores = _softmax_gradient(d_p, p, 2, p.dtype).mul_(SCALE)
    _heads(d_q, n).copy_(torch.bmm(d_scores, k))
    d_k, d_v = _heads(d_kv, n)
    d_k.copy_(torch.bmm(d_scores.transpose(1, 2), q))
    d_v.copy_(torch.bmm(p.transpose(1, 2), d_y))


def _after_attention(x: Tensor, attended: Tensor, w: Block) -> tuple[Tensor, Kept]:
    """The rest of a block, which treats every row alone."""
    x = _linear(attended, w.out).add_(x)
    normed, for_norm = _norm(x, w.norm2)
    hidden = _linear(normed, w.linear1).relu_()
    y = _linear(hidden, w.linear2).add_(x)
    return y, (attended, for_norm, normed, hidden)


def _after_attention_backward(
    d_y: Tensor, kept: Kept, w: Block, grad: Block
) -> tuple[Tensor, Tensor]:
    """The gradients of x and attended."""
    attended, for_norm, normed, hidden = kept
    d_hidden = _linear_backward(d_y, hidden, w.linear2, grad.linear2)
    d_hidden = _relu_gradient(d_hidden, hidden, 0)
    d_normed = _linear_backward(d_hidden, normed, w.linear1, grad.linear1)
    d_x = _norm_backward(d_normed, for_norm, w.norm2, grad.norm2).add_(d_y)
    return d_x, _linear_backward(d_x, attended, w.out, grad.out)


@lru_cache
def _multiples(step: int, count: int, device: torch.device) -> Tensor:
    """The first multiples of step, from 0."""
    return torch.arange(0, step * count, step, device=device)


def _pairs(tokens: Tensor, first: int) -> Tensor:
    """The number of each row's pair of position and token: tokens [n, t], from position first."""
    positions = _multiples(NUM_TOKENS, NUM_POSITIONS, tokens.device)
    return (tokens + positions[first : first + tokens.shape[1]]).t().reshape(-1)


class _Batch:
    """The rows of a batch: those of the prefixes, if sharing them is worth while, then the others.

    Attributes:
        pairs: each row's pair of position and token.
        shared: how many rows are a prefix's.
    """

    def __init__(self, prefixes: Tensor, parent: Tensor, continuations: Tensor) -> None:
        (self.num_prefixes, start), (self.n, count) = prefixes.shape, continuations.shape
        self.length = start + count
        self.shared = start * self.num_prefixes
        if start * self.n - self.shared < WORTH_SHARING:
            self.shared = 0
            self.pairs = _pairs(torch.cat((prefixes.index_select(0, parent), continuations), 1), 0)
            return
        self.pairs = torch.cat((_pairs(prefixes, 0), _pairs(continuations, start)))
        rows = torch.arange(len(self.pairs), device=parent.device)
        # Where the rows of the whole sequences are: first those of their prefixes.
        self.of_prefixes = rows[: self.shared].view(start, -1).index_select(1, parent).view(-1)
        whole = torch.cat((self.of_prefixes, rows[self.shared :]))
        self.of_sequences = torch.cat((whole, whole + len(rows)))

    def expand(self, kv: Tensor) -> Tensor:
        """Keys and values of whole sequences [2, t * n, 64], from those of the rows."""
        if not self.shared:
            return kv
        return kv.view(-1, WIDTH).index_select(0, self.of_sequences).view(2, -1, WIDTH)

    def expand_backward(self, d_expanded: Tensor, d_kv: Tensor) -> None:
        """Adds to d_kv [2, rows, 64] in the prefixes' rows, and sets it in the others."""
        count = len(self.of_prefixes)
        d_kv[:, self.shared :].copy_(d_expanded[:, count:])
        for d_rows, d_part in zip(d_kv[:, : self.shared], d_expanded[:, :count], strict=True):
            d_rows.index_add_(0, self.of_prefixes, d_part)


def _append(past: Tensor | None, kv: Tensor) -> Tensor:
    return kv if past is None else torch.cat((past, kv), 1)


class _Network:
    """The network with given weights, for sequences of at most `length` positions.

    What block 1 reads is in `table` [4, length * 14, 64]: x, query, key and value, for each pair
    of position and token.
    """

    def __init__(self, w: Weights, length: int) -> None:
        self.w = w
        size = length * NUM_TOKENS
        self.table = w.emb.new_empty(4, size, WIDTH)
        x = self.table[0]
        torch.add(w.pos[:length, None], w.emb, out=x.view(length, NUM_TOKENS, WIDTH))
        self.normed, self.for_norm = _norm(x, w.block1.norm1)
        _stacked(self.normed, w.block1.qkv, out=self.table[1:])
        self.parts = _multiples(size, 4, x.device)[:, None]

    def lookup(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """What block 1 reads [4, rows, 64], and where it is in the table."""
        places = (self.parts + pairs).view(-1)
        return self.table.view(-1, WIDTH).index_select(0, places).view(4, -1, WIDTH), places

    def lookup_backward(self, d_xqkv: Tensor, places: Tensor, grad: Weights) -> None:
        w, grad_block = self.w.block1, grad.block1
        d_table = torch.zeros_like(self.table)
        d_table.view(-1, WIDTH).index_add_(0, places, d_xqkv.view(-1, WIDTH))
        d_normed = _stacked_backward(d_table[1:], self.normed, w.qkv, grad_block.qkv)
        d_x = _norm_backward(d_normed, self.for_norm, w.norm1, grad_block.norm1).add_(d_table[0])
        d_x = d_x.view(-1, NUM_TOKENS, WIDTH)
        torch.sum(d_x, 0, out=grad.emb)
        torch.sum(d_x, 1, out=grad.pos[: len(d_x)])
        grad.pos[len(d_x) :].zero_()

    def keys_values(self, y: Tensor) -> tuple[Tensor, Tensor, Kept]:
        """Block 2's layer norm of y, and its keys and values [2, rows, 64]."""
        normed, for_norm = _norm(y, self.w.block2.norm1)
        kv = _stacked(normed, self.w.block2.keys_values, out=y.new_empty(2, *y.shape))
        return normed, kv, for_norm

    def answers(self, batch: _Batch) -> tuple[Tensor, Kept]:
        """Logits [13, 3 * n] at the last three positions."""
        n, shared, w = batch.n, batch.shared, self.w
        xqkv, places = self.lookup(batch.pairs)
        x, q, kv = xqkv[0], xqkv[1], xqkv[2:]
        attended = torch.empty_like(x)
        attention0 = None
        if shared:
            attention0 = _attention(
                q[:shared], kv[:, :shared], batch.num_prefixes, attended[:shared]
            )
        attention1 = _attention(q[shared:], batch.expand(kv), n, attended[shared:])
        y, rest1 = _after_attention(x, attended, w.block1)

        normed, kv, for_norm = self.keys_values(y)
        first = len(y) - ANSWER_LENGTH * n
        q = _linear(normed[first:], w.block2.query)
        attended = torch.empty_like(q)
        attention2 = _attention(q, batch.expand(kv), n, attended)
        z, rest2 = _after_attention(y[first:], attended, w.block2)
        kept = places, attention0, attention1, rest1, normed, for_norm, attention2, rest2, z
        return _logits(z, w.head), kept

    def answers_backward(self, d_logits: Tensor, batch: _Batch, kept: Kept, grad: Weights) -> None:
        places, attention0, attention1, rest1, normed, for_norm, attention2, rest2, z = kept
        shared, w = batch.shared, self.w
        first = len(normed) - len(z)
        d_z = _logits_backward(d_logits, z, w.head, grad.head)
        d_x, d_attended = _after_attention_backward(d_z, rest2, w.block2, grad.block2)
        d_q = torch.empty_like(d_x)
        d_kv = d_x.new_empty(2, batch.length * batch.n, WIDTH)
        _attention_backward(d_attended, attention2, d_q, d_kv)
        if shared:
            d_expanded, d_kv = d_kv, d_kv.new_empty(2, *normed.shape)
            d_kv[:, :shared].zero_()
            batch.expand_backward(d_expanded, d_kv)
        d_normed = _stacked_backward(d_kv, normed, w.block2.keys_values, grad.block2.keys_values)
        d_normed[first:].add_(
            _linear_backward(d_q, normed[first:], w.block2.query, grad.block2.query)
        )
        d_y = _norm_backward(d_normed, for_norm, w.block2.norm1, grad.block2.norm1)
        d_y[first:].add_(d_x)

        d_x, d_attended = _after_attention_backward(d_y, rest1, w.block1, grad.block1)
        d_xqkv = d_x.new_empty(4, *d_x.shape)
        d_xqkv[0] = d_x
        d_q, d_kv = d_xqkv[1], d_xqkv[2:]
        if attention0:
            d_expanded = d_x.new_empty(2, batch.length * batch.n, WIDTH)
            _attention_backward(d_attended[shared:], attention1, d_q[shared:], d_expanded)
            _attention_backward(d_attended[:shared], attention0, d_q[:shared], d_kv[:, :shared])
            batch.expand_backward(d_expanded, d_kv)
        else:
            _attention_backward(d_attended, attention1, d_q, d_kv)
        self.lookup_backward(d_xqkv, places, grad)

    def extend(
        self, pairs: Tensor, n: int, past: Kept = (None, None), mask: Tensor | None = None
    ) -> tuple[Tensor, Kept]:
        """Logits after n prompts [13, n]; or with past and mask, after each row that follows them.

        Also the keys and values of both blocks: the past of the next rows.
        """
        w = self.w
        xqkv, _ = self.lookup(pairs)
        x, q, kv1 = xqkv[0], xqkv[1], _append(past[0], xqkv[2:])
        attended = torch.empty_like(x)
        _attention(q, kv1, n, attended, mask)
        y, _ = _after_attention(x, attended, w.block1)
        normed, kv2, _ = self.keys_values(y)
        kv2 = _append(past[1], kv2)
        if mask is None:
            y, normed = y[-n:], normed[-n:]
        q = _linear(normed, w.block2.query)
        attended = torch.empty_like(q)
        _attention(q, kv2, n, attended, mask)
        z, _ = _after_attention(y, attended, w.block2)
        return _logits(z, w.head), (kv1, kv2)


class _AnswerLogits(torch.autograd.Function):
    """Logits of answers as a function of the flat vector of weights, with its gradient."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, model: Transformer, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(theta)
        ctx.model = model
        logits, ctx.kept = model._answers(*inputs)
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_logits: Tensor) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors  # an error if the weights have changed since
        d_classes = d_logits[0].permute(2, 1, 0).reshape(NUM_CLASSES, -1)
        network, batch, kept = ctx.kept
        gradient, parts = ctx.model._gradient
        network.answers_backward(d_classes, batch, kept, parts)
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
    ) -> tuple[Tensor, Kept]:
        batch = _Batch(prefixes, parent, continuations)
        network = _Network(self._weights, batch.length)
        logits, kept = network.answers(batch)
        logits = logits.view(NUM_CLASSES, ANSWER_LENGTH, -1).permute(2, 1, 0)
        return logits, (network, batch, kept)

    @classmethod
    def initial(cls, seed: int, device: torch.device | str = "cpu") -> Transformer:
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
        return cls.from_state_dict(stock.state_dict(), device)

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
        """Completions [N, G, 3] of prompts [N, 7], and log π of every token there [N, G, 3, 13].

        Each of uniforms [N, G, 3], in [0, 1), decides one digit, through the inverse of the
        cumulative distribution function.
        """
        length, repeats = prompts.shape[1], uniforms.shape[1]
        # Each group of completions shares a prompt that is encoded once.
        group = math.gcd(repeats, LARGEST_GROUP)
        prompts = prompts.repeat_interleave(repeats // group, 0)
        n = len(prompts)
        network = _Network(self._weights, length + ANSWER_LENGTH - 1)
        logits, past = network.extend(_pairs(prompts, 0), n)

        # In this order from here on: a completion of each prompt, then the next of each.
        logits = logits.repeat(1, group)
        tokens: list[Tensor] = []
        log_policy: list[Tensor] = []
        for step, uniform in enumerate(uniforms.reshape(n, group, -1).permute(2, 1, 0)):
            if step > 0:
                pairs = _pairs(tokens[-1][:, None], length + step - 1)
                mask = _group_mask(group, length, step, logits.device, logits.dtype)
                logits, past = network.extend(pairs, n, past, mask)
            log_policy.append((logits if temperature == 1 else logits / temperature).log_softmax(0))
            cdf = log_policy[-1].exp().cumsum(0)
            # Rounding may leave the cdf's end off 1; a uniform scaled by it stays below it.
            tokens.append((cdf <= uniform.reshape(-1) * cdf[-1]).sum(0))
        # And in that of prompts, then completions.
        completions = torch.stack(tokens).view(-1, group, n).permute(2, 1, 0)
        distributions = torch.stack(log_policy).view(-1, NUM_CLASSES, group, n).permute(3, 2, 0, 1)
        shape = uniforms.shape
        return (
            completions.contiguous().view(shape),
            distributions.contiguous().view(*shape, NUM_CLASSES),
        )


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities of logits [..., 13], as the model gives them: with classes first in memory.

    PyTorch takes many times as long over a last dimension of 13 as over a first one.
    """
    order = range(logits.dim() - 1, -1, -1)
    return logits.permute(*order).contiguous().log_softmax(0).permute(*order)
