"""Figure 1: the verifiable reward overturns a systematic error.

Input: the metrics of `weak` and of the SFT models it starts from, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.figures import rlvr_overturns, save
from workflow.lib.files import whole_file
from workflow.lib.fingerprint import digest
from workflow.lib.job import job
from workflow.lib.tables import GRPO_COLUMNS, SFT_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    seeds = snakemake.params.seeds
    figure = rlvr_overturns(
        weak=read_seeds(snakemake.input.weak, seeds, GRPO_COLUMNS),
        sft=read_seeds(snakemake.input.sft, seeds, SFT_COLUMNS),
    )
    with whole_file(snakemake.output.figure) as beside:
        save(
            figure,
            beside,
            "Verifiable reward overturns a systematic error",
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
