"""Put the claims of all questions in one table.

Input: the claims of each question. Output: the table of all.
"""

from typing import TYPE_CHECKING

from workflow.lib.jobs.job import Script, job
from workflow.lib.study.runs import read_claims
from workflow.lib.study.tables import write_csv

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main(script: Script) -> None:
    claims = [claim for file in script.input.claims for claim in read_claims(file)]
    write_csv(script.output.table, claims)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake)
