"""The floating-point work that the training cannot do without, and the machine's limit for it.

Only matrix products count (2 operations for each multiply and add), and only those that an exact
computation needs: every position is encoded once for all sequences that agree up to it (the 100
first operands in SFT and in evaluation, the prompt of a group in sampling, but not in the GRPO
update); the first block's queries, keys and values once for each pair of token and position; the
last block beyond its keys and values only at the positions that predict the answer; in the GRPO
update only the completions whose advantage is not zero; in an evaluation each distinct prompt once.
A backward pass is twice a forward pass.
"""

import statistics
import time

import torch

WIDTH, HIDDEN, CLASSES = 64, 128, 13
ANSWERS = 3

PER_ROW_OF_BLOCK1 = WIDTH * WIDTH + 2 * WIDTH * HIDDEN
PER_ROW_KEYS_VALUES = 2 * WIDTH * WIDTH
PER_ANSWER = 2 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + WIDTH * CLASSES
TABLE = 9 * 14 * 3 * WIDTH * WIDTH
"""Multiply-adds of a row (a sequence at a position), and of the first block's table."""


def forward(rows: float, pairs: float, answers: float, answer_pairs: float) -> float:
    """Operations of a forward pass.

    Args:
        rows: positions that are encoded.
        pairs: pairs of a query and a key that it sees, in the first block.
        answers: positions whose logits are needed.
        answer_pairs: pairs of a query and a key in the last block.
    """
    multiply_adds = (
        TABLE
        + rows * (PER_ROW_OF_BLOCK1 + PER_ROW_KEYS_VALUES)
        + answers * PER_ANSWER
        + 2 * WIDTH * (pairs + answer_pairs)
    )
    return 2 * multiply_adds


def answers_after_first_operands(sequences: float) -> float:
    """A forward pass on prompts with their first two answer digits: SFT and evaluation."""
    return forward(
        rows=400 + 5 * sequences,
        pairs=1000 + (5 + 6 + 7 + 8 + 9) * sequences,
        answers=ANSWERS * sequences,
        answer_pairs=(7 + 8 + 9) * sequences,
    )


def distinct(prompts: int) -> float:
    """How many different prompts to expect among so many random ones."""
    return 10_000 * (1 - (1 - 1 / 10_000) ** prompts)


def sft_step(batch: int = 256) -> float:
    return 3 * answers_after_first_operands(batch)


def rollout(prompts: int = 32, group: int = 8) -> float:
    """Sampling: each prompt once, then the first two digits of each completion."""
    sequences = prompts * group
    return forward(
        rows=7 * prompts + 2 * sequences,
        pairs=28 * prompts + (8 + 9) * sequences,
        answers=prompts + 2 * sequences,
        answer_pairs=7 * prompts + (8 + 9) * sequences,
    )


def update(completions: float) -> float:
    """Forward and backward of a minibatch with so many completions whose advantage is not zero."""
    if completions == 0:
        return 0.0
    return 3 * forward(
        rows=9 * completions,
        pairs=45 * completions,
        answers=ANSWERS * completions,
        answer_pairs=(7 + 8 + 9) * completions,
    )


def grpo(zero_std: list[float], iterations: int, eval_every: int = 5) -> float:
    """A whole run, from the recorded shares of zero-std groups (each stands for as many)."""
    heard = 1 - statistics.fmean(zero_std)
    updates = 8 * update(64 * heard)
    evaluation = answers_after_first_operands(distinct(2048))
    return iterations * (rollout() + updates + evaluation / eval_every)


SHAPES = [
    (1680, 64, 64),
    (1680, 64, 128),
    (1680, 128, 64),
    (768, 64, 64),
    (64, 1680, 128),
    (64, 1680, 64),
]
"""Matrix products of an SFT step: rows, inner size, columns."""


def machine_limit(seconds: float = 1.0) -> float:
    """Operations per second of fp32 matrix products of the sizes used here, on one thread."""
    torch.set_num_threads(1)
    pairs = [(torch.randn(m, k), torch.randn(k, n)) for m, k, n in SHAPES]
    work = sum(2 * m * k * n for m, k, n in SHAPES)
    rates = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for a, b in pairs:
            torch.mm(a, b)
        rates.append(work / (time.perf_counter() - start))
    return statistics.quantiles(rates, n=10)[-1]
