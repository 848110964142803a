"""Write the report's pages with the run's own numbers.

Input: the claims, the manifest, the records of all jobs, and what the models of each experiment
and seed answer. Output: the claims, the answers and the provenance as pages of their own, and the
front page as `snakemake --report` reads it. The words are in workflow/report.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.job import Script, job, machine
from workflow.lib.jobs.records import read_record
from workflow.lib.report.answers_page import answers_body
from workflow.lib.report.pages import (
    Making,
    claims_table,
    definitions,
    group_records,
    merge,
    provenance,
    raw_rst,
    settings_table,
    verdict_counts,
)
from workflow.lib.report.texts import filled, source_text
from workflow.lib.study import layout
from workflow.lib.study.runs import ANSWER_COLUMNS, read_claims, read_tables

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def fill(path: str, template: str, **values: str) -> None:
    """Write a text of workflow/report with its gaps filled."""
    with whole_file(path) as partial:
        partial.write_text(filled(template, **values), encoding="utf-8")


def main(script: Script, job: dict[str, Any]) -> None:
    claims = read_claims(script.input.claims)
    manifest = json.loads(Path(script.input.manifest).read_text(encoding="utf-8"))
    makings = [
        *group_records([read_record(path) for path in script.input.records]),
        Making(
            files=[path for path in script.output if path != script.output.record],
            code=script.params.job["code"],
            software=script.params.job["software"],
            machine=machine(),
            settings=job,
        ),
    ]
    entries = sorted({entry for making in makings for entry in making.code})
    sources = {entry: source_text(layout.SOURCES, entry) for entry in entries}
    seeds = ", ".join(map(str, job["seeds"]))

    columns = {
        "verdict": "Verdict",
        "statement": "Claim",
        "observed": "What this run saw",
        "chapter": "What the chapter printed",
        "rule": "The rule",
    }
    fill(
        script.output.claims,
        "page.html",
        title="Claims",
        lead="What the chapter claims, what theory predicts and what was expected of the other "
        f"questions, and whether this run agrees: {verdict_counts(claims)}. A claim that fails is "
        "a result, too.",
        body=claims_table(claims, columns),
    )
    fill(
        script.output.provenance,
        "page.html",
        title="Provenance",
        lead="What made each result: its script, the modules that the script imports, the "
        "settings, the software and the machine. Code and settings have a fingerprint of twelve "
        "hex digits; a figure's PDF names its own in its properties. The source texts below are "
        "those that the results were made with.",
        body=provenance(makings, manifest["sha256"], sources),
    )
    answers = read_tables(script.input.answers, job["correctness"], job["seeds"], ANSWER_COLUMNS)
    fill(
        script.output.answers,
        "page.html",
        title="Answers before and after GRPO",
        lead="A dozen prompts, three of each kind: without a carry, with one in the units, in the "
        "tens and in both. Bars show how probable each answer is, means over the seeds; greedy "
        f"answers are those of the seeds {seeds}, wrong ones in red.",
        body=answers_body(answers, job["correctness"]),
    )
    commit = manifest["commit"]
    if manifest["uncommitted_changes"] is True:
        commit += ", with changes that were not committed"
    study = manifest["study"]
    fill(
        script.output.front,
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


if __name__ == "__main__":
    with job(snakemake) as settings:
        main(snakemake, settings)
