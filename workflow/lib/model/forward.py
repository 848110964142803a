"""The forward pass, from token ids to logits.

It computes what a stock pre-norm `nn.TransformerEncoder` of two blocks computes, exactly but in
less time, by leaving out what the answer does not need:

* Sequences that begin alike share a *prefix*. It is encoded once, and each of them attends to its
  keys and values.
* Block 1 sees only tokens and positions. So its queries, keys and values are computed once for each
  pair of position and token, and looked up.
* Block 2 computes keys and values at all positions, but the rest only where an answer's digit is
  predicted.

There are two passes over the network. `answer_logits` takes whole sequences, and keeps what
`gradient` needs. `next_logits` takes some positions at a time, and returns the keys and values that
later positions attend to; sampling uses it.

Throughout, n is the number of sequences, t that of positions, and s that of the last positions,
where queries are. `layers` describes the order of rows.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import torch
from torch import Tensor

from workflow.lib.model.layers import (
    Attention,
    BlockEnd,
    Norm,
    attend,
    class_logits,
    finish_block,
    layer_norm,
    linear,
    stacked_linear,
)
from workflow.lib.model.weights import NUM_POSITIONS, NUM_TOKENS, WIDTH, Block, Weights
from workflow.lib.task.addition import ANSWER_LENGTH, NUM_CLASSES

WORTH_SHARING = 192
"""Prefixes are encoded separately if that saves at least so many rows.

Sharing has a cost of its own: gathering keys and values, and one more attention. Measured on an AMD
EPYC with 32 prefixes of 6 tokens, logits and gradient: it takes 5 % longer where it saves 96 rows,
as long where it saves 144 to 192, and 7 % less where it saves 288.
"""


@lru_cache
def multiples(step: int, count: int, device: torch.device) -> Tensor:
    """The first `count` multiples of step, from 0."""
    return torch.arange(0, step * count, step, device=device)


def pairs_of(tokens: Tensor, first: int) -> Tensor:
    """The number of each row's pair of position and token [t * n]: position * 14 + token.

    Args:
        tokens: [n, t], at the positions from `first`.
    """
    positions = multiples(NUM_TOKENS, NUM_POSITIONS, tokens.device)
    return (tokens + positions[first : first + tokens.shape[1]]).t().reshape(-1)


class Table(NamedTuple):
    """What block 1 computes before its attention, for every pair of position and token."""

    xqkv: Tensor  # [4, pairs, 64]: embedding, query, key and value
    norm: Norm  # of the embedding
    offsets: Tensor  # [4, 1]: where each of the four begins in the flat table


def make_table(w: Weights, length: int) -> Table:
    """The table for sequences of at most `length` positions."""
    xqkv = w.emb.new_empty(4, length * NUM_TOKENS, WIDTH)
    x = xqkv[0]
    torch.add(w.pos[:length, None], w.emb, out=x.view(length, NUM_TOKENS, WIDTH))
    norm = layer_norm(x, w.block1.norm1)
    stacked_linear(norm.y, w.block1.qkv, out=xqkv[1:])
    return Table(xqkv, norm, multiples(len(x), 4, x.device)[:, None])


def look_up(table: Table, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Embedding, query, key and value of rows [4, rows, 64], and their places in the flat table."""
    places = (table.offsets + pairs).view(-1)
    return table.xqkv.view(-1, WIDTH).index_select(0, places).view(4, -1, WIDTH), places


class Batch:
    """The rows of a batch of sequences.

    If sharing prefixes is worth while, the rows of the prefixes come first and those of the
    continuations follow. Then whatever treats each row alone sees a single matrix.

    Attributes:
        n, length: how many sequences there are, and how many positions each has.
        pairs: the number of each row's pair of position and token [rows].
        shared: how many rows are a prefix's; 0 where none is shared.
        num_prefixes: how many prefixes there are.
    """

    def __init__(self, prefixes: Tensor, parent: Tensor, continuations: Tensor) -> None:
        (self.num_prefixes, start), (self.n, count) = prefixes.shape, continuations.shape
        self.length = start + count
        self.shared = start * self.num_prefixes
        if start * self.n - self.shared < WORTH_SHARING:
            self.shared = 0
            self.pairs = pairs_of(
                torch.cat((prefixes.index_select(0, parent), continuations), 1), 0
            )
            return
        self.pairs = torch.cat((pairs_of(prefixes, 0), pairs_of(continuations, start)))
        rows = torch.arange(len(self.pairs), device=parent.device)
        # The rows that each sequence reads: those of its prefix, then its own.
        self.of_prefixes = rows[: self.shared].view(start, -1).index_select(1, parent).view(-1)
        whole = torch.cat((self.of_prefixes, rows[self.shared :]))
        self.of_sequences = torch.cat((whole, whole + len(rows)))

    def whole(self, kv: Tensor) -> Tensor:
        """Keys and values of whole sequences [2, length * n, 64], from those of rows."""
        if not self.shared:
            return kv
        return kv.view(-1, WIDTH).index_select(0, self.of_sequences).view(2, -1, WIDTH)


class LastBlock(NamedTuple):
    """What block 2 computes: norm, keys and values at all rows, the rest at the last ones."""

    norm: Norm
    kv: Tensor  # what the queries attend to
    attention: Attention
    end: BlockEnd


def last_block(
    y: Tensor,
    count: int,
    n: int,
    w: Block,
    whole: Callable[[Tensor], Tensor],
    mask: Tensor | None = None,
) -> LastBlock:
    """Block 2, at the last `count` of the rows y [rows, 64] that block 1 gave.

    Args:
        whole: makes the keys and values to attend to from those of the rows.
    """
    norm = layer_norm(y, w.norm1)
    kv = whole(stacked_linear(norm.y, w.keys_values, out=y.new_empty(2, *y.shape)))
    q = linear(norm.y[-count:], w.query)
    attended = torch.empty_like(q)
    attention = attend(q, kv, n, attended, mask)
    return LastBlock(norm, kv, attention, finish_block(y[-count:], attended, w))


class Activations(NamedTuple):
    """What `answer_logits` computed and its gradient needs."""

    batch: Batch
    table: Table
    places: Tensor
    prefix_attention: Attention | None
    attention: Attention
    end: BlockEnd
    last: LastBlock


def answer_logits(
    w: Weights, prefixes: Tensor, parent: Tensor, continuations: Tensor
) -> tuple[Tensor, Activations]:
    """Logits [n, 3, 13] at the last three positions, and what their gradient needs.

    Sequence i is prefixes[parent[i]] followed by continuations[i].
    """
    batch = Batch(prefixes, parent, continuations)
    n, shared = batch.n, batch.shared
    table = make_table(w, batch.length)

    # Block 1: the prefixes attend to themselves, then the sequences' own rows to the whole.
    xqkv, places = look_up(table, batch.pairs)
    x, q, kv = xqkv[0], xqkv[1], xqkv[2:]
    attended = torch.empty_like(x)
    prefix_attention = None
    if shared:
        prefix_attention = attend(q[:shared], kv[:, :shared], batch.num_prefixes, attended[:shared])
    attention = attend(q[shared:], batch.whole(kv), n, attended[shared:])
    end = finish_block(x, attended, w.block1)

    # Block 2 and the head, where the answer's digits are predicted.
    last = last_block(end.y, ANSWER_LENGTH * n, n, w.block2, batch.whole)
    logits = class_logits(last.end.y, w.head).view(NUM_CLASSES, ANSWER_LENGTH, n)
    kept = Activations(batch, table, places, prefix_attention, attention, end, last)
    return logits.permute(2, 1, 0), kept


Past = tuple[Tensor, Tensor]
"""Of each block, the keys and values [2, rows, 64] at the positions so far."""


def _append(past: Tensor | None, kv: Tensor) -> Tensor:
    return kv if past is None else torch.cat((past, kv), 1)


def next_logits(
    w: Weights,
    table: Table,
    pairs: Tensor,
    n: int,
    past: Past | tuple[None, None] = (None, None),
    mask: Tensor | None = None,
) -> tuple[Tensor, Past]:
    """Logits of the next tokens, and the keys and values that these attend to.

    Without a past, the rows are those of n prompts, and the logits [13, n] follow the last position
    of each. With a past and a mask, the rows continue these prompts, and the logits [13, rows]
    follow each row.
    """
    # Block 1.
    xqkv, _ = look_up(table, pairs)
    x, q, kv = xqkv[0], xqkv[1], _append(past[0], xqkv[2:])
    attended = torch.empty_like(x)
    attend(q, kv, n, attended, mask)
    y = finish_block(x, attended, w.block1).y

    # Block 2 and the head.
    count = n if mask is None else len(y)
    last = last_block(y, count, n, w.block2, partial(_append, past[1]), mask)
    return class_logits(last.end.y, w.head), (kv, last.kv)
