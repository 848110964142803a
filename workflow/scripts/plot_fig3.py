"""Figure 3: from a cold start, groups are silent and nothing is learned.

Input: the metrics of `weak` and of `cold`, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.figures import cold_start, save
from workflow.lib.jobs.job import job
from workflow.lib.study.tables import GRPO_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    seeds = snakemake.params.seeds
    figure = cold_start(
        weak=read_seeds(snakemake.input.weak, seeds, GRPO_COLUMNS),
        cold=read_seeds(snakemake.input.cold, seeds, GRPO_COLUMNS),
    )
    save(
        figure,
        snakemake.output.figure,
        "Cold start: all-same groups carry no gradient",
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
