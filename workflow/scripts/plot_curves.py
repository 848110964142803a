"""Draw a figure that the configuration describes: metrics of experiments against the iteration.

Input: the metrics of its experiments, in their order, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.figures import curves, save
from workflow.lib.files import whole_file
from workflow.lib.fingerprint import digest
from workflow.lib.job import job
from workflow.lib.tables import read_experiments

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    metrics, title = snakemake.params.metrics, snakemake.params.title
    columns = ["iteration", *metrics]
    experiments = read_experiments(
        snakemake.input.metrics, snakemake.params.experiments, snakemake.params.seeds, columns
    )
    with whole_file(snakemake.output.figure) as beside:
        save(
            curves(experiments, metrics, title),
            beside,
            title,
            Subject=f"settings {digest(snakemake.params.settings)}",
            Keywords=f"code {digest(snakemake.params.code)}",
        )


with job(
    snakemake.log[0],
    snakemake.input,
    snakemake.output,
    snakemake.output.record,
    snakemake.params.code,
    snakemake.params.software,
    snakemake.params.settings,
):
    main()
