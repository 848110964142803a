"""Train the SFT model of one seed and teacher correctness, and measure it.

Output: its state dict; its accuracies (one row); for every prompt there is, its greedy verdict and
the probability that it gives the right answer.
"""

from typing import TYPE_CHECKING

from workflow.lib.jobs.files import save_checkpoint, write_csv
from workflow.lib.jobs.job import job
from workflow.lib.jobs.progress import Progress
from workflow.lib.study.sft_settings import SftSettings
from workflow.lib.task.addition import all_prompts
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.evaluation import score_prompts
from workflow.lib.training.sft import evaluate_sft, train_sft

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    device = prepare_torch(snakemake.config["device"], snakemake.resources.gpu)
    seed, run, q = snakemake.params.seed, snakemake.params.run, snakemake.params.q
    settings = SftSettings(**snakemake.params.settings)
    progress = Progress(settings.steps, "step")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    model = train_sft(seed, run, q, settings, device, progress.on_step)
    metrics = evaluate_sft(seed, run, model, snakemake.params.eval_prompts, device)
    print(metrics)
    state = model.state_dict()
    parameters = sum(weight.numel() for weight in state.values())

    a, b = all_prompts(device)
    solved, log_probs = score_prompts(model, a, b)
    prompts = zip(
        a.tolist(), b.tolist(), solved.int().tolist(), log_probs.exp().tolist(), strict=True
    )
    columns = ("a", "b", "solved", "probability")
    write_csv(snakemake.output.prompts, [dict(zip(columns, row, strict=True)) for row in prompts])
    write_csv(snakemake.output.metrics, [{**metrics, "parameters": parameters}])
    save_checkpoint(snakemake.output.checkpoint, state)


with job(
    snakemake,
    {
        "seed": snakemake.params.seed,
        "run": snakemake.params.run,
        "teacher_correctness": snakemake.params.q,
        "sft": snakemake.params.settings,
        "eval_prompts": snakemake.params.eval_prompts,
    },
):
    main()
