"""Draw one of the figures on the questions that the chapter left open.

Input: the metrics of its experiments and what the SFT models that they start from make of every
prompt, experiment by experiment, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.extension_figures import FIGURES
from workflow.lib.drawing.figures import save
from workflow.lib.jobs.job import job
from workflow.lib.study.questions import QUESTIONS
from workflow.lib.study.runs import read_runs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    runs = read_runs(
        snakemake.params.experiments,
        snakemake.params.seeds,
        snakemake.input.metrics,
        snakemake.input.prompts,
    )
    figure = FIGURES[snakemake.wildcards.extension](runs)
    save(
        figure,
        snakemake.output.figure,
        QUESTIONS[snakemake.wildcards.extension],
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
