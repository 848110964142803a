"""What the report's pages are made of, read from disk: their words, and the code of the results."""

from pathlib import Path
from string import Template

from workflow.lib.jobs.files import ROOT
from workflow.lib.jobs.fingerprint import fingerprint_of


def text_of(name: str) -> str:
    """A text of workflow/report."""
    return (ROOT / "workflow/report" / name).read_text(encoding="utf-8")


def filled(template: str, **values: str) -> str:
    """A text of workflow/report with its gaps filled."""
    return Template(text_of(template)).substitute(values)


def source_text(folder: str, entry: str) -> str | None:
    """A module `file@fingerprint` as it was when it was in use; None if it was not kept so."""
    try:
        text = (Path(folder) / entry).read_text(encoding="utf-8")
        return text if fingerprint_of(text) == entry.partition("@")[2] else None
    except (FileNotFoundError, SyntaxError, ValueError):
        return None
