"""What the report's pages are made of."""

from pathlib import Path

import pytest

from workflow.lib.jobs.fingerprint import fingerprint_of
from workflow.lib.report.files import source_text


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
def test_a_module_is_shown_only_as_it_was(
    kept: str | None, shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = f"workflow/lib/a.py@{fingerprint_of('x = 1')}"
    file = Path("results/records/code") / entry
    file.parent.mkdir(parents=True)
    if kept is not None:
        file.write_text(kept)
    assert source_text(entry) == (kept if shown else None)
