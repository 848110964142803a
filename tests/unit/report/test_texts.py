"""What the report's pages are made of."""

from pathlib import Path
from string import Template

import pytest

from workflow.lib.jobs.fingerprint import fingerprint_of
from workflow.lib.report.texts import filled, source_text, text_of


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("x = 1\n", True),
        ("x = 1  # the same\n", True),
        ("x = 2\n", False),
        ("x = (\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_module_is_shown_only_as_it_was(kept: str | None, shown: bool, tmp_path: Path) -> None:
    entry = f"workflow/lib/a.py@{fingerprint_of('x = 1')}"
    file = tmp_path / entry
    file.parent.mkdir(parents=True)
    if kept is not None:
        file.write_text(kept)
    assert source_text(str(tmp_path), entry) == (kept if shown else None)


def test_gaps_are_filled_and_none_is_left_open() -> None:
    gaps = Template(text_of("page.html")).get_identifiers()
    assert gaps
    page = filled("page.html", **{gap: f"<{gap}: β $>" for gap in gaps})
    assert all(f"<{gap}: β $>" in page for gap in gaps)
    with pytest.raises(KeyError):
        filled("page.html")
