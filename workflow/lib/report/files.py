"""What the report's pages are made of, read from disk, and the pages written."""

import json
from pathlib import Path
from string import Template
from typing import Any

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.fingerprint import fingerprint_of
from workflow.lib.jobs.job import ROOT


def filled(template: str, **values: str) -> str:
    """A template of workflow/report with its gaps filled."""
    text = (ROOT / "workflow/report" / template).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def fill(path: str, template: str, **values: str) -> None:
    """Write a template of workflow/report with its gaps filled."""
    with whole_file(path) as beside:
        beside.write_text(filled(template, **values), encoding="utf-8")


def read_json(path: str) -> Any:
    """The content of a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def source_text(entry: str) -> str | None:
    """A module `file@fingerprint` as it was when it was in use; None if it was not kept so."""
    try:
        text = (Path("results/records/code") / entry).read_text(encoding="utf-8")
        return text if fingerprint_of(text) == entry.partition("@")[2] else None
    except (FileNotFoundError, SyntaxError, ValueError):
        return None
