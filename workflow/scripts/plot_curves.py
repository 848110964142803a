"""Draw a figure that the configuration describes: metrics of experiments against the iteration.

Input: the metrics of its experiments, in their order, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.figures import curves, save
from workflow.lib.jobs.job import job
from workflow.lib.study.tables import read_experiments

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    metrics, title = snakemake.params.metrics, snakemake.params.title
    columns = ["iteration", *metrics]
    experiments = read_experiments(
        snakemake.input.metrics, snakemake.params.experiments, snakemake.params.seeds, columns
    )
    save(
        curves(experiments, metrics, title),
        snakemake.output.figure,
        title,
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
