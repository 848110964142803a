"""Train the reward model of one seed and teacher correctness, and measure what it prefers.

Output: its state dict, and one row of metrics.
"""

from typing import TYPE_CHECKING

from workflow.lib.jobs.files import save_checkpoint, write_csv
from workflow.lib.jobs.job import job
from workflow.lib.jobs.progress import Progress
from workflow.lib.study.sft_settings import SftSettings
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.reward_training import evaluate_reward, train_reward

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    device = prepare_torch(snakemake.config["device"], snakemake.resources.gpu)
    seed, run, q = snakemake.params.seed, snakemake.params.run, snakemake.params.q
    settings = SftSettings(**snakemake.params.settings)
    progress = Progress(settings.steps, "step")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    model = train_reward(seed, run, q, settings, device, progress.on_step)
    metrics = evaluate_reward(seed, run, model, q, snakemake.params.eval_prompts, device)
    print(metrics)
    write_csv(snakemake.output.metrics, [metrics])
    save_checkpoint(snakemake.output.checkpoint, model.state_dict())


with job(
    snakemake,
    {
        "seed": snakemake.params.seed,
        "run": snakemake.params.run,
        "teacher_correctness": snakemake.params.q,
        "reward_model": snakemake.params.settings,
        "eval_prompts": snakemake.params.eval_prompts,
    },
):
    main()
