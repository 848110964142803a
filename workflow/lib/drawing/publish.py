"""The job of a question: read its runs, draw its figure, decide its claims, write its caption."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow.lib.drawing.look import look, save
from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.job import Script, job
from workflow.lib.study.question import Question, decided
from workflow.lib.study.runs import read_runs
from workflow.lib.study.tables import write_csv


def publish(question: Question, script: Script) -> None:
    """Make a question's figure, claims and caption.

    Input: what the runs of its experiments left behind (`layout.files_of_runs`). Output: `figure`,
    a PDF, where the question has one; `claims`, a CSV; `caption`, in reStructuredText.
    """
    with job(script) as settings:
        runs = read_runs(script.input, settings["experiments"], settings["seeds"])
        if question.draw:
            with look():
                figure = question.draw(runs)
            code = script.params.job["code"]
            save(figure, script.output.figure, question.title, settings, code)
        claims = decided(settings["question"], question, runs, settings["difference"])
        for claim in claims:
            print(f"{claim['claim']}: {claim['verdict']} ({claim['observed']})")
        write_csv(script.output.claims, claims)
        with whole_file(script.output.caption) as partial:
            text = caption(question.caption, settings["seeds"], claims)
            partial.write_text(text, encoding="utf-8")


def caption(what_to_see: str, seeds: Sequence[int], claims: Sequence[Mapping[str, Any]]) -> str:
    """A figure's caption, with the outcomes of its claims."""
    outcomes = "\n".join(
        f"* {claim['statement']}. *{claim['verdict'].capitalize()}*: {claim['observed']}."
        for claim in claims
    )
    found = f"**What this run saw** (seeds {', '.join(map(str, seeds))}):\n\n{outcomes}\n"
    # Snakemake fills captions by Jinja, and bars would be references in reStructuredText.
    return f"{what_to_see}\n\n" + found.replace("{", "(").replace("|", "/")
