"""Put every curve of the study on one page to explore.

Input: the GRPO metrics of every experiment, a file a seed. Output: the page.
"""

from typing import TYPE_CHECKING

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.job import ROOT, job
from workflow.lib.report.explore_page import explore_page
from workflow.lib.study.tables import GRPO_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    template = (ROOT / "workflow/report/explore.html").read_text(encoding="utf-8")
    experiments = {
        name.removeprefix("grpo_"): read_seeds(files, snakemake.params.seeds, GRPO_COLUMNS)
        for name, files in snakemake.input.items()
    }
    with whole_file(snakemake.output.page) as beside:
        beside.write_text(explore_page(template, experiments), encoding="utf-8")


with job(
    snakemake,
    {"seeds": snakemake.params.seeds, "template": snakemake.params.template},
):
    main()
