"""Whether one of k samples is right: pass@k."""

import numpy as np
import torch
from torch import Tensor

from workflow.lib.model.transformer import Transformer
from workflow.lib.task import addition
from workflow.lib.training.randomness import uniforms

PROMPTS_AT_A_TIME = 32


def count_right(
    model: Transformer, a: Tensor, b: Tensor, num_samples: int, rng: np.random.Generator
) -> Tensor:
    """How many of so many samples of each prompt a + b [B] are right: integers [B]."""
    counts = []
    for a_chunk, b_chunk in zip(
        a.split(PROMPTS_AT_A_TIME), b.split(PROMPTS_AT_A_TIME), strict=True
    ):
        shape = (len(a_chunk), num_samples, addition.ANSWER_LENGTH)
        prompts = addition.encode_prompts(a_chunk, b_chunk)
        completions, _ = model.sample(prompts, uniforms(rng, shape, a.device))
        right = addition.verify(a_chunk[:, None], b_chunk[:, None], completions)
        counts.append(right.long().sum(dim=1))
    return torch.cat(counts)


def pass_at_k(right: Tensor, num_samples: int, k: int) -> Tensor:
    """The probability that one of k samples is right, estimated without bias for each prompt [B].

    1 − C(n − c, k) / C(n, k), for c = right [B] of n samples (Chen et al. 2021, arXiv:2107.03374,
    equation 1).

    Raises:
        ValueError: where k exceeds the number of samples.
    """
    if k > num_samples:
        raise ValueError(f"pass@{k} cannot be estimated from {num_samples} samples of a prompt.")
    wrong = num_samples - right
    # The product of (wrong − i) / (n − i) over i < k: the chance that k of the n are all wrong.
    i = torch.arange(k, device=right.device)
    factors = (wrong[:, None] - i).clamp(min=0).double() / (num_samples - i).double()
    return 1 - factors.prod(dim=1)


def exact_pass_at_k(log_probs: Tensor, k: int) -> Tensor:
    """The same from the log-probability of the right answer to each prompt [B]: 1 − (1 − p)^k."""
    return 1 - (1 - log_probs.double().exp()).clamp(min=0) ** k
