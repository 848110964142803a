"""Which random stream each part of a run draws from.

Every purpose has a stream of its own, derived from the seed, the run and the purpose, so that what
one part draws never moves the numbers of another: evaluating more often changes no training, and
two runs of a seed share nothing. Numbers are drawn on the CPU and then moved, so that a run sees
the same ones on every device.
"""

import hashlib

import numpy as np
import torch
from torch import Tensor

from workflow.lib.task.addition import NUM_OPERANDS


def stream(seed: int, run: str, purpose: str, index: int = 0) -> np.random.Generator:
    """The random stream of one purpose of one run.

    Args:
        seed: the study's seed.
        run: the run's own name, such as `sft/q0.3` or `grpo/weak`.
        purpose: what the numbers are for, such as `rollout prompts`.
        index: tells apart the streams of a purpose that starts afresh, such as each evaluation.
    """
    name = hashlib.sha256(f"{run}\n{purpose}".encode()).digest()
    return np.random.default_rng([seed, index, *np.frombuffer(name, dtype="<u4").tolist()])


def torch_seed(rng: np.random.Generator) -> int:
    """A seed for torch's own generator, for the one thing that torch itself draws: weights."""
    return int(rng.integers(2**63))


def operands(
    rng: np.random.Generator, count: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """`count` random prompts: independent uniform operands (a [count], b [count])."""
    a, b = rng.integers(NUM_OPERANDS, size=(2, count))
    return torch.from_numpy(a).to(device), torch.from_numpy(b).to(device)


def uniforms(
    rng: np.random.Generator, shape: tuple[int, ...], device: torch.device | str = "cpu"
) -> Tensor:
    """Uniform float32 numbers in [0, 1)."""
    return torch.from_numpy(rng.random(shape, dtype=np.float32)).to(device)


def permutation(rng: np.random.Generator, count: int, device: torch.device | str = "cpu") -> Tensor:
    """A random order of 0..count-1."""
    return torch.from_numpy(rng.permutation(count)).to(device)
