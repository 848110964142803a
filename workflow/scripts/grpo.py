"""Correct the SFT model of one seed by GRPO.

Input: its state dict, and that of the reward model if the reward is learned. Output: one row of
metrics for each recorded iteration; where the study wants the final policy, its state dict and what
it and the SFT model answer to a few prompts.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING

from workflow.lib.jobs.files import load_checkpoint, save_checkpoint, write_csv
from workflow.lib.jobs.job import job
from workflow.lib.jobs.progress import Progress
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.grpo_settings import GrpoSettings
from workflow.lib.task.rewards import RULES
from workflow.lib.training.answers import answers_table
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.grpo import train_grpo
from workflow.lib.training.reward_model import learned_reward

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    device = prepare_torch(snakemake.config["device"], snakemake.resources.gpu)
    seed, run = snakemake.params.seed, snakemake.params.run
    settings = GrpoSettings(**snakemake.params.settings)
    progress = Progress(settings.iterations, "iteration")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    policy = Transformer.from_state_dict(load_checkpoint(snakemake.input.checkpoint), device)
    if settings.reward == "learned":
        state = load_checkpoint(snakemake.input.reward_model)
        reward = learned_reward(Transformer.from_state_dict(state, device))
    else:
        reward = RULES[settings.reward]

    keeps_policy = "policy" in snakemake.output.keys()  # noqa: SIM118
    start = policy.copy()
    rows = []
    for row in train_grpo(seed, run, policy, reward, settings, device):
        progress.report(
            row.iteration,
            accuracy=row.accuracy,
            carry=row.accuracy_carry,
            reward=row.reward,
            kl=row.kl,
        )
        rows.append(asdict(row))
    if keeps_policy:
        write_csv(snakemake.output.answers, answers_table({"sft": start, "grpo": policy}))
        save_checkpoint(snakemake.output.policy, policy.state_dict())
    write_csv(snakemake.output.metrics, rows)


with job(
    snakemake,
    {"seed": snakemake.params.seed, "run": snakemake.params.run, **snakemake.params.settings},
):
    main()
