"""Results on disk: written whole or not at all, refused where they are damaged."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REBUILD = "Delete it and run `snakemake` again: it is made anew, with all that depends on it."


class DamagedFileError(RuntimeError):
    """A result that cannot be used; its text names the file, the fault and the cure."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to; what was written there takes its place at the end.

    So a job that is killed, or a full disk, leaves the old file or none, never half of one.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_csv(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A CSV of rows with the same keys, whose floats read back as the same numbers."""
    rows = list(rows)
    with whole_file(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def save_checkpoint(path: str | Path, state: Mapping[str, Any]) -> None:
    """A state dict as `torch.load(path, weights_only=True)` reads it."""
    import torch

    # Through memory: torch writes the name of the file it saves to into the file.
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    with whole_file(path) as beside:
        beside.write_bytes(buffer.getvalue())


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """The state dict in a checkpoint; never runs code that a file brings.

    Raises:
        DamagedFileError: where the file is no such checkpoint.
    """
    import torch

    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError:
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise DamagedFileError(f"{path} is no checkpoint ({reason}). {REBUILD}") from error
