"""The policy: logits of answers, samples of them, and its weights."""

import math
from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from workflow.lib.model.forward import answer_logits, make_table, next_logits, pairs_of
from workflow.lib.model.gradient import AnswerLogits, Gradient
from workflow.lib.model.layers import group_mask
from workflow.lib.model.weights import (
    HEADS,
    HIDDEN,
    NUM_POSITIONS,
    NUM_TOKENS,
    SHAPES,
    WIDTH,
    Weights,
    views,
)
from workflow.lib.task.addition import ANSWER_LENGTH, NUM_CLASSES

LARGEST_GROUP = 8
"""At most so many completions of a prompt attend to it together when sampling.

The larger the group, the fewer the matrix products, but the more of their scores are masked.
Measured on an AMD EPYC with 32 prompts and 16 to 64 completions of each: groups of 4 take over 20 %
longer, those of 16 are within 5 % of those of 8, and those of 32 take longer again.
"""


class Transformer:
    """The policy: every weight is a view into one flat vector.

    So the optimizer, the gradient norm and its clipping see a single tensor.
    """

    def __init__(self, theta: Tensor) -> None:
        self.theta = theta  # [69325]
        flat = theta.detach()
        self.weights = dict(zip(SHAPES, views(flat), strict=True))
        self._weights = Weights.within(flat)
        # Only once: for a small batch, making the views takes a good part of the whole backward.
        self._gradient = Gradient.like(flat)

    @classmethod
    def initial(cls, seed: int, device: torch.device | str = "cpu") -> Self:
        """A model with the weights that PyTorch's stock modules start with, for this seed."""
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
    ) -> Self:
        """A model with the weights of a state dict.

        Raises:
            ValueError: if a key is missing or unexpected, or has the wrong shape.
        """
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

    def copy(self) -> "Transformer":
        """An independent model with the same weights; it does not require a gradient."""
        return Transformer(self.theta.detach().clone())

    def answer_logits(self, prefixes: Tensor, parent: Tensor, continuations: Tensor) -> Tensor:
        """Logits [B, 3, 13] at the last three positions: those that predict the answer's digits.

        Sequence b is prefixes[parent[b]] followed by continuations[b], where prefixes [N, P] begin
        with BOS, parent is [B], and continuations [B, C] have C >= 3. Autograd tracks theta, unless
        theta requires no gradient or gradients are off.
        """
        inputs = (prefixes, parent, continuations)
        if torch.is_grad_enabled() and self.theta.requires_grad:
            logits: Tensor = AnswerLogits.apply(self.theta, self._weights, self._gradient, *inputs)
            return logits
        return answer_logits(self._weights, *inputs)[0]

    @torch.no_grad()
    def sample(
        self, prompts: Tensor, uniforms: Tensor, temperature: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Completions [N, G, 3] of prompts [N, 7], and log π of every token there [N, G, 3, 13].

        Each of uniforms [N, G, 3], in [0, 1), decides one digit, through the inverse of the
        cumulative distribution function.
        """
        length, repeats = prompts.shape[1], uniforms.shape[1]
        # Completions of a prompt attend to its keys in groups, with one matrix product per group.
        group = math.gcd(repeats, LARGEST_GROUP)
        prompts = prompts.repeat_interleave(repeats // group, 0)
        n = len(prompts)
        table = make_table(self._weights, length + ANSWER_LENGTH - 1)
        logits, past = next_logits(self._weights, table, pairs_of(prompts, 0), n)

        # The columns from here on: the first completion of each prompt, then the second of each...
        logits = logits.repeat(1, group)
        tokens: list[Tensor] = []
        log_policy: list[Tensor] = []
        for step, uniform in enumerate(uniforms.reshape(n, group, -1).permute(2, 1, 0)):
            if step > 0:
                pairs = pairs_of(tokens[-1][:, None], length + step - 1)
                mask = group_mask(group, length, step, logits.device, logits.dtype)
                logits, past = next_logits(self._weights, table, pairs, n, past, mask)
            log_policy.append((logits if temperature == 1 else logits / temperature).log_softmax(0))
            cdf = log_policy[-1].exp().cumsum(0)
            # Rounding may leave the cdf's end off 1; a uniform scaled by it stays below it.
            tokens.append((cdf <= uniform.reshape(-1) * cdf[-1]).sum(0))
        # In the order of prompts, then completions, again.
        completions = torch.stack(tokens).view(-1, group, n).permute(2, 1, 0)
        distributions = torch.stack(log_policy).view(-1, NUM_CLASSES, group, n).permute(3, 2, 0, 1)
        return (
            completions.contiguous().view(uniforms.shape),
            distributions.contiguous().view(*uniforms.shape, NUM_CLASSES),
        )


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities of logits [..., 13], which have classes first in memory, as the model's do.

    PyTorch takes many times as long over a last dimension of 13 as over a first one.
    """
    order = range(logits.dim() - 1, -1, -1)
    return logits.permute(*order).contiguous().log_softmax(0).permute(*order)
