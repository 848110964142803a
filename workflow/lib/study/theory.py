"""What can be predicted without training, from the probability p of each right answer.

A checkpoint's own p are known for all 10,000 prompts, so each prediction is exact for it.
"""

import numpy as np
import pandas as pd

Probabilities = pd.Series | np.ndarray
"""p of each prompt [10000]."""

NO_CARRY_SHARE = 0.3025
"""Share of the prompts without a carry: 3,025 of 10,000."""


def imitator(q: float) -> np.ndarray:
    """P of a model [10000] that imitates a teacher of correctness q perfectly, without order."""
    return np.where(np.arange(10_000) < 10_000 * NO_CARRY_SHARE, 1.0, q)


def zero_std_fraction(p: Probabilities, size: int) -> float:
    """Expected share of zero-std groups: of `size` completions that are all right or all wrong.

    The mean of p^G + (1 − p)^G.
    """
    return float(np.mean(p**size + (1 - p) ** size))


def perfect_kl(p: Probabilities) -> float:
    """KL of a policy that is always right to the model of these p, in nats: the mean of ln(1/p)."""
    return float(-np.log(p).mean())


def pass_at_k(p: Probabilities, k: int) -> float:
    """Probability that at least one of k samples is right: the mean of 1 − (1 − p)^k."""
    return float(np.mean(1 - (1 - p).clip(0) ** k))


def standard_error(share: float, trials: int) -> float:
    """Of a share of so many independent trials, if it is this in expectation."""
    return float(np.sqrt(share * (1 - share) / trials))
