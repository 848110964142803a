"""Correct the SFT model of one seed by GRPO.

Input: its state dict, and that of the reward model if the reward is learned. Output: one row of
metrics for each recorded iteration; the final policy's state dict; what it makes of every prompt
there is; what it and the SFT model answer to a few prompts.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.job import Script, job
from workflow.lib.jobs.progress import Progress
from workflow.lib.model.checkpoints import load_checkpoint, save_checkpoint
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.study.tables import write_csv
from workflow.lib.task.rewards import RULES
from workflow.lib.training.answers import answers_table
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.evaluation import table_of_all_prompts
from workflow.lib.training.grpo import train_grpo
from workflow.lib.training.reward_model import learned_reward

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script, job: dict[str, Any]) -> None:
    device = prepare_torch(script.config["device"], script.resources.gpu)
    seed, run = job["seed"], job["run"]
    settings = GrpoSettings(**job["grpo"])
    progress = Progress(settings.iterations, "iteration")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    policy = Transformer.from_state_dict(load_checkpoint(script.input.checkpoint), device)
    start = policy.copy()
    if settings.reward == "learned":
        state = load_checkpoint(script.input.reward_model)
        reward = learned_reward(Transformer.from_state_dict(state, device))
    else:
        reward = RULES[settings.reward]

    rows = []
    for row in train_grpo(seed, run, policy, reward, settings, device):
        rows.append(asdict(row))
        progress.report(row.iteration, rows[-1])
    write_csv(script.output.answers, answers_table({"sft": start, "grpo": policy}))
    write_csv(script.output.prompts, table_of_all_prompts(policy))
    save_checkpoint(script.output.policy, policy.state_dict())
    write_csv(script.output.metrics, rows)


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
