"""Train the reward model of one seed and teacher correctness, and measure what it prefers.

Output: its state dict, and one row of metrics.
"""

from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.job import Script, job
from workflow.lib.jobs.progress import Progress
from workflow.lib.model.checkpoints import save_checkpoint
from workflow.lib.study.settings import RewardModelSettings
from workflow.lib.study.tables import write_csv
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.reward_training import evaluate_reward, train_reward

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script, job: dict[str, Any]) -> None:
    device = prepare_torch(script.config["device"], script.resources.gpu)
    seed, run, q = job["seed"], job["run"], job["teacher_correctness"]
    settings = RewardModelSettings(**job["reward_model"])
    progress = Progress(settings.steps, "step")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    model = train_reward(seed, run, q, settings, device, progress.on_step)
    metrics = evaluate_reward(seed, run, model, q, job["eval_prompts"], device)
    print(metrics)
    write_csv(script.output.metrics, [metrics])
    save_checkpoint(script.output.checkpoint, model.state_dict())


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
