"""Figure 2: an unhackable reward needs no KL anchor.

Input: the metrics of `long`, a file a seed. Output: the PDF.
"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.figures import save, unhackable_reward
from workflow.lib.jobs.job import job
from workflow.lib.study.tables import GRPO_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    long = read_seeds(snakemake.input.long, snakemake.params.seeds, GRPO_COLUMNS)
    figure = unhackable_reward(long, snakemake.params.settings["long"]["grpo"]["beta"])
    save(
        figure,
        snakemake.output.figure,
        "An unhackable reward: nothing collapses",
        snakemake.params.settings,
        snakemake.params.code,
    )


with job(snakemake, snakemake.params.settings):
    main()
