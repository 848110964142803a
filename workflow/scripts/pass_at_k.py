"""How often one of k samples is right on carry prompts, before GRPO and after.

Input: the SFT model and the final policy of one seed. Output: a row for each k, with the unbiased
estimate from samples and the value that the model's own probabilities give.
"""

from typing import TYPE_CHECKING

import torch

from workflow.lib.jobs.files import load_checkpoint, write_csv
from workflow.lib.jobs.job import job
from workflow.lib.model.transformer import Transformer
from workflow.lib.task.addition import all_prompts, has_carry
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.evaluation import score_prompts
from workflow.lib.training.pass_at_k import count_right, exact_pass_at_k, pass_at_k
from workflow.lib.training.randomness import permutation, stream

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    device = prepare_torch(snakemake.config["device"], snakemake.resources.gpu)
    seed, run = snakemake.params.seed, snakemake.params.run
    samples = snakemake.params.num_samples
    a, b = all_prompts(device)
    carry = has_carry(a, b).nonzero().squeeze(1)
    order = permutation(stream(seed, run, "carry prompts"), len(carry), device)
    chosen = carry[order[: snakemake.params.num_prompts]]
    a, b = a[chosen], b[chosen]

    ks = [2**power for power in range(samples.bit_length()) if 2**power <= samples]
    rows = [{"k": float(k)} for k in ks]
    for name, path in snakemake.input.items():
        model = Transformer.from_state_dict(load_checkpoint(path), device)
        right = count_right(model, a, b, samples, stream(seed, run, f"{name} samples"))
        _, log_probs = score_prompts(model, a, b)
        print(f"{name}: {torch.mean(right / samples):.4f} of the samples are right", flush=True)
        for row, k in zip(rows, ks, strict=True):
            row[name] = pass_at_k(right, samples, k).mean().item()
            row[f"{name}_exact"] = exact_pass_at_k(log_probs, k).mean().item()
    write_csv(snakemake.output.table, rows)


with job(
    snakemake,
    {
        "seed": snakemake.params.seed,
        "run": snakemake.params.run,
        "num_prompts": snakemake.params.num_prompts,
        "num_samples": snakemake.params.num_samples,
    },
):
    main()
