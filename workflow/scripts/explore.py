"""Put every curve of the study on one page to explore.

Input: what the runs of every experiment left behind. Output: the page.
"""

from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.job import Script, job
from workflow.lib.report.explore_page import explore_page
from workflow.lib.report.texts import text_of
from workflow.lib.study.runs import read_runs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script, job: dict[str, Any]) -> None:
    runs = read_runs(script.input, job["experiments"], job["seeds"])
    curves = {name: run.metrics for name, run in runs.items()}
    with whole_file(script.output.page) as partial:
        partial.write_text(explore_page(text_of("explore.html"), curves), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
