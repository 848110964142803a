"""Tables of results, written to CSVs."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workflow.lib.jobs.files import whole_file


def write_csv(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A CSV of rows with the same keys, whose floats read back as the same numbers."""
    rows = list(rows)
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
