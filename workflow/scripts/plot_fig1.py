"""Figure 1: the verifiable reward overturns a systematic error.

Input: the metrics of `weak` and of the SFT models it starts from, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.figures import rlvr_overturns, save
from workflow.lib.jobs.job import job
from workflow.lib.study.tables import GRPO_COLUMNS, SFT_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    seeds = snakemake.params.seeds
    figure = rlvr_overturns(
        weak=read_seeds(snakemake.input.weak, seeds, GRPO_COLUMNS),
        sft=read_seeds(snakemake.input.sft, seeds, SFT_COLUMNS),
    )
    save(
        figure,
        snakemake.output.figure,
        "Verifiable reward overturns a systematic error",
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
