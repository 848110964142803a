"""Correct the SFT model of one seed by GRPO.

Input: its state dict. Output: one row of metrics for each recorded iteration.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING

from workflow.lib.files import load_checkpoint, write_csv
from workflow.lib.grpo import train_grpo
from workflow.lib.grpo_settings import GrpoSettings
from workflow.lib.hardware import prepare_torch
from workflow.lib.job import job
from workflow.lib.model import Transformer
from workflow.lib.progress import Progress

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    device = prepare_torch(snakemake.config["device"])
    seed, run = snakemake.params.seed, snakemake.params.run
    settings = GrpoSettings(**snakemake.params.settings)
    progress = Progress(settings.iterations, "iteration")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    reference = Transformer.from_state_dict(load_checkpoint(snakemake.input.checkpoint), device)
    rows = []
    for row in train_grpo(seed, run, reference, settings, device):
        progress.report(
            row.iteration,
            accuracy=row.accuracy,
            carry=row.accuracy_carry,
            reward=row.reward,
            kl=row.kl,
        )
        rows.append(asdict(row))
    write_csv(snakemake.output.metrics, rows)


with job(
    snakemake.log[0],
    snakemake.output.record,
    snakemake.params.code,
    snakemake.params.software,
    {"seed": snakemake.params.seed, "run": snakemake.params.run, **snakemake.params.settings},
):
    main()
