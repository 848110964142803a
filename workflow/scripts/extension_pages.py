"""Write the pages and captions that the report shows of the extensions.

Input: the findings, the manifest of the extensions' results and the records of the jobs that made
them. Output: the findings and the provenance as pages of their own, and the figures' captions. The
words are in workflow/report.
"""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.job import job
from workflow.lib.jobs.records import read_record
from workflow.lib.report.files import fill, filled, read_json, source_text
from workflow.lib.report.pages import (
    caption_of_each,
    claims_table,
    findings_list,
    group_records,
    provenance,
    verdict_counts,
)

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def main() -> None:
    with Path(snakemake.input.findings).open(encoding="utf-8", newline="") as file:
        findings = list(csv.DictReader(file))
    manifest = read_json(snakemake.input.manifest)
    records = {path: read_record(path) for path in snakemake.input.records}
    makings = group_records(records, [*manifest["sha256"], snakemake.input.manifest])
    entries = sorted({entry for making in makings for entry in making.code})
    columns = {
        "verdict": "Verdict",
        "question": "Question",
        "observed": "What this run saw",
        "expected": "What was expected, and the rule",
    }
    fill(
        snakemake.output.findings,
        "page.html",
        title="Extensions",
        lead="What the chapter left open, what was expected of it, and whether this run agrees: "
        f"{verdict_counts(findings)}. An expectation that fails is a result, too.",
        body=claims_table(findings, columns),
    )
    fill(
        snakemake.output.provenance,
        "page.html",
        title="Provenance of the extensions",
        lead="What made each result of the extensions: its script, the modules that the script "
        "imports, the settings, the software and the machine.",
        body=provenance(
            makings, manifest["sha256"], {entry: source_text(entry) for entry in entries}
        ),
    )
    seeds = ", ".join(map(str, snakemake.params.seeds))
    captions = {}
    for figure in snakemake.params.figures:
        found = findings_list([finding for finding in findings if finding["figure"] == figure])
        captions[figure] = filled(f"{figure}.rst", seeds=seeds, findings=found)
    with whole_file(snakemake.output.captions) as beside:
        beside.write_text(caption_of_each(captions), encoding="utf-8")


with job(snakemake, snakemake.params.templates):
    main()
