"""List every result with its checksum and what made it.

Input: all results and the records of the jobs that made them. Output: one JSON file.
"""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.files import ROOT, whole_file
from workflow.lib.jobs.job import Script, job
from workflow.lib.jobs.records import read_record, sha256

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def git(*arguments: str) -> str | None:
    """What git says of the project; None where it refuses to say anything."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit() -> dict[str, Any]:
    """Which commit the code is of, and whether it has changes that were not committed.

    Unknown unless git tracks this very Snakefile: the project may lie in another one's repository.
    """
    if git("ls-files", "--error-unmatch", "Snakefile") is None:
        return {"commit": "unknown", "uncommitted_changes": "unknown"}
    changes = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "uncommitted_changes": bool(changes)}


def distinct(values: list[Any]) -> list[Any]:
    """The different values, in the order in which they come."""
    return [value for index, value in enumerate(values) if value not in values[:index]]


def main(script: Script, job: dict[str, Any]) -> None:
    records = [read_record(file) for file in script.input.records]
    manifest = {
        "study": job,
        **commit(),
        "machines": distinct([record["machine"] for record in records]),
        "software": distinct([record["software"] for record in records]),
        "code": sorted({entry for record in records for entry in record["code"]}),
        "sha256": {file: sha256(Path(file)) for file in sorted(script.input.results)},
    }
    with whole_file(script.output.manifest) as partial:
        partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
