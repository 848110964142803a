"""Train the SFT model of one seed and teacher correctness, and measure it.

Output: its state dict; its accuracies (one row); for every prompt there is, whether its greedy
answer is right and the probability that it gives the right answer.
"""

from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.job import Script, job
from workflow.lib.jobs.progress import Progress
from workflow.lib.model.checkpoints import save_checkpoint
from workflow.lib.study.settings import SftSettings
from workflow.lib.study.tables import write_csv
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.evaluation import table_of_all_prompts
from workflow.lib.training.sft import evaluate_sft, train_sft

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script, job: dict[str, Any]) -> None:
    device = prepare_torch(script.config["device"], script.resources.gpu)
    seed, run, q = job["seed"], job["run"], job["teacher_correctness"]
    settings = SftSettings(**job["sft"])
    progress = Progress(settings.steps, "step")

    print(f"{run}, seed {seed}, on {device}: {settings}")
    model = train_sft(seed, run, q, settings, device, progress.on_step)
    metrics = evaluate_sft(seed, run, model, job["eval_prompts"], device)
    print(metrics)
    state = model.state_dict()
    parameters = sum(weight.numel() for weight in state.values())

    write_csv(script.output.prompts, table_of_all_prompts(model))
    write_csv(script.output.metrics, [{**metrics, "parameters": parameters}])
    save_checkpoint(script.output.checkpoint, state)


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
