"""Decide what was expected of the questions that the chapter left open.

Input: the metrics of all experiments that the extensions' figures draw, what the SFT models that
they start from make of every prompt, the metrics of the reward models, and pass@k. Output: the
table of findings.
"""

from typing import TYPE_CHECKING

import pandas as pd

from workflow.lib.jobs.files import write_csv
from workflow.lib.jobs.job import job
from workflow.lib.study.findings import Evidence, check
from workflow.lib.study.runs import read_runs
from workflow.lib.study.tables import (
    PASS_AT_K_COLUMNS,
    REWARD_COLUMNS,
    read_experiments,
    read_metrics,
)

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    seeds, figures = snakemake.params.seeds, snakemake.params.figures
    runs = read_runs(
        snakemake.params.experiments, seeds, snakemake.input.metrics, snakemake.input.prompts
    )
    evidence = Evidence(
        runs={figure: {name: runs[name] for name in names} for figure, names in figures.items()},
        pass_at_k=read_experiments(
            snakemake.input.pass_at_k, figures.get("fig5_pass_at_k", []), seeds, PASS_AT_K_COLUMNS
        ),
        reward_models=[
            read_metrics(path, REWARD_COLUMNS) for path in snakemake.input.reward_models
        ],
    )
    table = check(evidence)
    write_csv(snakemake.output.table, table)
    print(pd.DataFrame(table).to_string())


with job(
    snakemake,
    {"seeds": snakemake.params.seeds, "figures": snakemake.params.figures},
):
    main()
