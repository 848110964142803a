"""Pass@k: its estimator by hand and on average, and its exact value."""

import itertools
import math

import pytest
import torch

from workflow.lib.study.sft_settings import SftSettings
from workflow.lib.task import addition
from workflow.lib.training.evaluation import score_prompts
from workflow.lib.training.pass_at_k import count_right, exact_pass_at_k, pass_at_k
from workflow.lib.training.randomness import stream
from workflow.lib.training.sft import train_sft


@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize("right", [0, 1, 3, 8])
def test_the_estimate_counts_subsets(right: int, k: int, n: int = 8) -> None:
    samples = [True] * right + [False] * (n - right)
    subsets = list(itertools.combinations(samples, k))
    expected = sum(any(subset) for subset in subsets) / len(subsets)
    assert pass_at_k(torch.tensor([right]), n, k).item() == pytest.approx(expected)


def test_the_estimate_is_unbiased() -> None:
    """Over all outcomes of n samples with p, its mean is 1 − (1 − p)^k."""
    n, k, p = 10, 4, 0.2
    estimates = pass_at_k(torch.arange(n + 1), n, k)
    weights = torch.tensor(
        [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)], dtype=torch.float64
    )
    assert (weights * estimates).sum().item() == pytest.approx(1 - (1 - p) ** k)
    assert exact_pass_at_k(torch.tensor([p]).log(), k).item() == pytest.approx(1 - (1 - p) ** k)


def test_large_numbers_stay_finite() -> None:
    assert pass_at_k(torch.tensor([1]), 100_000, 100_000).item() == 1
    assert pass_at_k(torch.tensor([0]), 100_000, 99_999).item() == 0


def test_more_than_was_sampled_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@9 cannot be estimated from 8 samples"):
        pass_at_k(torch.tensor([1]), 8, 9)


def test_samples_are_right_as_often_as_the_model_says() -> None:
    model = train_sft(1, "sft/q0.5", 0.5, SftSettings(steps=150, batch_size=128))
    a, b = (operand[::97] for operand in addition.all_prompts())
    counts = count_right(model, a, b, 64, stream(1, "test", "samples"))
    assert counts.shape == a.shape and counts.max() <= 64
    _, log_probs = score_prompts(model, a, b)
    p = log_probs.exp()
    error = (p * (1 - p) / 64).sum().sqrt() / len(p)
    assert (counts / 64).mean().item() == pytest.approx(p.mean().item(), abs=5 * error.item())
