"""Random streams: named, independent, and the same numbers every time."""

import itertools

import numpy as np
import torch

from workflow.lib.training import randomness

RUNS = ["sft/q0.3", "sft/q0", "grpo/weak", "grpo/long", "grpo/cold"]
PURPOSES = [
    "initial weights",
    "SFT prompts",
    "SFT teacher",
    "rollout prompts",
    "rollout samples",
    "minibatch order",
    "evaluation prompts",
    "evaluation samples",
]


def test_the_same_name_gives_the_same_numbers() -> None:
    one, two = (randomness.stream(42, "grpo/weak", "rollout prompts") for _ in range(2))
    assert one.random(100).tolist() == two.random(100).tolist()


def test_no_two_streams_of_a_study_share_numbers() -> None:
    names = itertools.product([42, 43, 44], RUNS, PURPOSES, [0, 1, 5])
    draws = [tuple(randomness.stream(*name).integers(2**63, size=8)) for name in names]
    assert len(set(draws)) == len(draws)
    assert len(set(itertools.chain(*draws))) == 8 * len(draws)


def test_the_numbers_are_these() -> None:
    """A change of numpy or of the derivation would change every result: it must not go unseen."""
    a, b = randomness.operands(randomness.stream(42, "grpo/weak", "rollout prompts"), 4)
    assert a.tolist() == [40, 6, 12, 74] and b.tolist() == [91, 76, 45, 36]


def test_operands_are_uniform_and_independent() -> None:
    a, b = randomness.operands(np.random.default_rng(0), 400_000)
    assert a.dtype == torch.int64 and a.min() >= 0 and a.max() <= 99
    counts = torch.bincount(a // 10 * 10 + b // 10, minlength=100).double()
    chi_squared = ((counts - 4000) ** 2 / 4000).sum().item()
    assert chi_squared < 99 + 5 * (2 * 99) ** 0.5


def test_uniforms_lie_below_one() -> None:
    numbers = randomness.uniforms(np.random.default_rng(0), (1000, 3))
    assert numbers.dtype == torch.float32 and numbers.shape == (1000, 3)
    assert numbers.min() >= 0 and numbers.max() < 1


def test_permutation_holds_every_index_once() -> None:
    assert sorted(randomness.permutation(np.random.default_rng(0), 256).tolist()) == list(
        range(256)
    )
