"""Decide what the chapter claimed from what the runs left behind.

Input: for each seed the SFT metrics, the verdicts on all prompts and the GRPO metrics of the
chapter's experiments, as far as the study has them. Output: the table of claims.
"""

from typing import TYPE_CHECKING

import pandas as pd

from workflow.lib.jobs.files import write_csv
from workflow.lib.jobs.job import job
from workflow.lib.study.claims import check
from workflow.lib.study.tables import GRPO_COLUMNS, PROMPT_COLUMNS, SFT_COLUMNS, read_metrics

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

COLUMNS = {"sft": SFT_COLUMNS, "prompts": PROMPT_COLUMNS, "grpo": GRPO_COLUMNS}
"""What a file must hold, by the first part of its name among the inputs."""


def main() -> None:
    results: dict[int, dict[str, pd.DataFrame]] = {seed: {} for seed in snakemake.params.seeds}
    for name, files in snakemake.input.items():
        columns = COLUMNS[name.split("_")[0]]
        for seed, file in zip(results, files, strict=True):
            results[seed][name] = read_metrics(file, columns)
    deviations = dict(snakemake.params.deviations)
    for seed, files in zip(results, snakemake.params.benchmarks, strict=True):
        try:
            seconds = [float(pd.read_csv(file, sep="\t")["s"].item()) for file in files]
            results[seed]["time"] = pd.DataFrame({"seconds": seconds})
        except (OSError, KeyError, ValueError):
            deviations.setdefault("time", "a training job's benchmark file is missing or damaged")
    table = check(results, deviations)
    write_csv(snakemake.output.table, table)
    print(pd.DataFrame(table).to_string())


with job(snakemake, snakemake.params.seeds):
    main()
