"""The sizes of the model, and its weights as views into one flat vector."""

import math
from typing import NamedTuple, Self

from torch import Tensor

from workflow.lib.task.addition import NUM_CLASSES

NUM_TOKENS = 14
"""Rows of the token embedding: the 13 token ids and one that is not used, as in the chapter."""
NUM_POSITIONS = 10
WIDTH = 64
HIDDEN = 128
HEADS = 4
HEAD_WIDTH = WIDTH // HEADS


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
NUM_PARAMETERS = sum(SIZES)
"""69,325."""


def views(flat: Tensor) -> list[Tensor]:
    """The parameters, in the order of SHAPES, as views into a flat vector [69325]."""
    return [
        part.view(shape) for part, shape in zip(flat.split(SIZES), SHAPES.values(), strict=True)
    ]


class Affine(NamedTuple):
    """Weight and bias of a linear map, or of a layer norm.

    A *stacked* Affine holds k linear maps of the same input: weight [k, 64, 64], bias [k, 1, 64].
    """

    weight: Tensor
    bias: Tensor

    def stacked(self) -> "Affine":
        """One map from 64 to k * 64 features as k maps from 64 to 64."""
        return Affine(self.weight.view(-1, WIDTH, WIDTH), self.bias.view(-1, 1, WIDTH))


class Block(NamedTuple):
    """The weights of one Transformer block, or their gradients.

    `query` and `keys_values` are parts of `qkv`: block 1 uses the whole, block 2 the parts.
    """

    qkv: Affine  # stacked
    query: Affine
    keys_values: Affine  # stacked
    out: Affine
    linear1: Affine
    linear2: Affine
    norm1: Affine
    norm2: Affine

    @classmethod
    def of(cls, qkv: Affine, *others: Affine) -> Self:
        """From the parameters of a stock layer, in its order."""
        query = Affine(qkv.weight[:WIDTH], qkv.bias[:WIDTH])
        keys_values = Affine(qkv.weight[WIDTH:], qkv.bias[WIDTH:])
        return cls(qkv.stacked(), query, keys_values.stacked(), *others)


class Weights(NamedTuple):
    """All weights, or their gradients."""

    emb: Tensor  # [14, 64]
    pos: Tensor  # [10, 64]
    block1: Block
    block2: Block
    head: Affine

    @classmethod
    def within(cls, flat: Tensor) -> Self:
        """As views into a flat vector [69325]."""
        emb, pos, *others = views(flat)
        pairs = list(map(Affine, others[::2], others[1::2]))
        return cls(emb, pos, Block.of(*pairs[:6]), Block.of(*pairs[6:12]), pairs[12])
