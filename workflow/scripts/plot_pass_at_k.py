"""Draw pass@k before GRPO and after, a panel for each experiment.

Input: the tables of its experiments, in their order, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.extension_figures import pass_at_k
from workflow.lib.figures import save
from workflow.lib.files import whole_file
from workflow.lib.fingerprint import digest
from workflow.lib.job import job
from workflow.lib.questions import QUESTIONS
from workflow.lib.tables import PASS_AT_K_COLUMNS, read_experiments

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    tables = read_experiments(
        snakemake.input.tables,
        snakemake.params.experiments,
        snakemake.params.seeds,
        PASS_AT_K_COLUMNS,
    )
    with whole_file(snakemake.output.figure) as beside:
        save(
            pass_at_k(tables),
            beside,
            QUESTIONS["fig5_pass_at_k"],
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
