"""Write the report's pages and captions with the run's own numbers.

Input: the claims, the manifest, the records of all jobs, and the metrics that the figures draw.
Output: the claims and the provenance as pages of their own; the front page and the figures'
captions as `snakemake --report` reads them. The words are in workflow/report.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from workflow.lib.jobs.job import job, machine
from workflow.lib.jobs.records import read_record
from workflow.lib.report.answers_page import answers_body
from workflow.lib.report.files import fill, read_json, source_text
from workflow.lib.report.pages import (
    Making,
    caption_numbers,
    claims_table,
    definitions,
    group_records,
    merge,
    provenance,
    raw_rst,
    settings_table,
    verdict_counts,
)
from workflow.lib.study.tables import ANSWER_COLUMNS, GRPO_COLUMNS, SFT_COLUMNS, read_seeds

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def metrics(kind: str, columns: Sequence[str]) -> dict[str, dict[int, pd.DataFrame]]:
    """The metrics of each experiment's GRPO or SFT, by seed."""
    return {
        name.removeprefix(f"{kind}_"): read_seeds(files, snakemake.params.seeds, columns)
        for name, files in snakemake.input.items()
        if name.startswith(f"{kind}_")
    }


def main() -> None:
    with Path(snakemake.input.claims).open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    manifest = read_json(snakemake.input.manifest)
    results = [*manifest["sha256"], snakemake.input.manifest]
    records = {path: read_record(path) for path in snakemake.input.records}
    makings = [
        *group_records(records, results),
        Making(
            files=list(snakemake.output[:-1]),
            code=snakemake.params.code,
            software=snakemake.params.software,
            machine=machine(),
            settings=list(snakemake.params.templates),
        ),
    ]
    entries = sorted({entry for making in makings for entry in making.code})
    sources = {entry: source_text(entry) for entry in entries}

    columns = {
        "verdict": "Verdict",
        "statement": "Claim",
        "observed": "What this run saw",
        "expected": "The chapter's numbers, and the rule",
    }
    fill(
        snakemake.output.claims,
        "page.html",
        title="Claims",
        lead=f"What the chapter claims, and whether this run agrees: {verdict_counts(claims)}.",
        body=claims_table(claims, columns),
    )
    fill(
        snakemake.output.provenance,
        "page.html",
        title="Provenance",
        lead="What made each result: its script, the modules that the script imports, the "
        "settings, the software and the machine. Code and settings have a fingerprint of twelve "
        "hex digits; a figure's PDF names its own in its properties. The source texts below are "
        "those that the results were made with.",
        body=provenance(makings, manifest["sha256"], sources),
    )
    answers = metrics("answers", ANSWER_COLUMNS)
    fill(
        snakemake.output.answers,
        "page.html",
        title="What they answer",
        lead="A dozen prompts, three of each kind: those that carry nowhere, in the units, in the "
        "tens and in both. Bars show how probable each answer is, means over the seeds; greedy "
        f"answers are those of the seeds {', '.join(map(str, snakemake.params.seeds))}, wrong ones "
        "in red.",
        body=answers_body(answers, snakemake.params.correctness),
    )
    study = manifest["study"]
    seeds = ", ".join(map(str, study["seeds"]))
    commit = manifest["commit"] or "not in a git repository"
    if manifest["uncommitted_changes"]:
        commit += ", with changes that were not committed"
    fill(
        snakemake.output.front,
        "workflow.rst",
        seeds=seeds,
        verdicts=verdict_counts(claims),
        claims=raw_rst(claims_table(claims, {"verdict": "Verdict", "statement": "Claim"})),
        settings=raw_rst(
            definitions(
                {
                    "seeds": study["seeds"],
                    "sft": study["sft"],
                    "evaluation.num_prompts": study["eval_prompts"],
                }
            )
        ),
        experiments=raw_rst(settings_table(study)),
        software=raw_rst(definitions(merge(manifest["software"]))),
        machines=raw_rst(definitions(merge(manifest["machines"]))),
        commit=raw_rst(definitions({"commit when the manifest was made": commit})),
    )
    grpo, sft = metrics("grpo", GRPO_COLUMNS), metrics("sft", SFT_COLUMNS)
    for figure, caption in zip(study["figures"], snakemake.output.captions, strict=True):
        fill(caption, f"{figure}.rst", seeds=seeds, **caption_numbers(figure, grpo, sft))


with job(snakemake, snakemake.params.templates):
    main()
