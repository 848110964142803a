"""Draw a figure that the configuration describes: metrics of experiments against the iteration.

Input: what the runs of its experiments left behind. Output: the PDF.
"""

from typing import TYPE_CHECKING, Any

from workflow.lib.drawing.curves import curves
from workflow.lib.drawing.look import look, save
from workflow.lib.jobs.job import Script, job
from workflow.lib.study.runs import read_runs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script, job: dict[str, Any]) -> None:
    runs = read_runs(script.input, job["experiments"], job["seeds"])
    with look():
        drawn = {name: run.metrics for name, run in runs.items()}
        figure = curves(drawn, job["metrics"], job["title"])
    save(figure, script.output.figure, job["title"], job, script.params.job["code"])


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
