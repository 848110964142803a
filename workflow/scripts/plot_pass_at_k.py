"""Draw pass@k before GRPO and after, a panel for each experiment.

Input: the tables of its experiments, in their order, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.extension_figures import pass_at_k
from workflow.lib.drawing.figures import save
from workflow.lib.jobs.job import job
from workflow.lib.study.questions import QUESTIONS
from workflow.lib.study.tables import PASS_AT_K_COLUMNS, read_experiments

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    tables = read_experiments(
        snakemake.input.tables,
        snakemake.params.experiments,
        snakemake.params.seeds,
        PASS_AT_K_COLUMNS,
    )
    save(
        pass_at_k(tables),
        snakemake.output.figure,
        QUESTIONS["fig5_pass_at_k"],
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
