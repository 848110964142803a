"""Results on disk: written whole or not at all, refused where they are damaged."""

import csv
import io
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class DamagedFileError(RuntimeError):
    """A result that cannot be used; its text names the file, the fault and the cure."""

    def __init__(self, path: str | Path, fault: str) -> None:
        super().__init__(f"{path} {fault}. {rebuild(path)}")


class UnwritableFileError(RuntimeError):
    """A place where nothing can be written; its text names the file, the reason and the cure."""

    def __init__(self, path: str | Path, reason: OSError) -> None:
        super().__init__(
            f"{path} could not be written: {reason.strerror or reason}. Mend that, then give the "
            "same command again: it goes on where it stopped."
        )


def rebuild(*paths: str | Path) -> str:
    """What to do about damaged results."""
    return (
        f"Run `rm {' '.join(map(str, paths))}`, then the same command again: what is missing is "
        "made anew, with all that depends on it."
    )


def forget_future_times(folder: Path) -> None:
    """Give files that a wrong clock left with a time to come the present one.

    Snakemake refuses what is made of them as older than its input, and what they hold does not
    depend on it.
    """
    now = time.time()
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if file.lstat().st_mtime > now:
                os.utime(file, follow_symlinks=False)


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to; what was written there takes its place at the end.

    So a job that is killed, or a full disk, leaves the old file or none, never half of one. What
    a killed writer left beside it goes.

    Raises:
        UnwritableFileError: where the disk is full, or one may not write there.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        for left in path.parent.glob(f".{path.name}.*.part"):
            left.unlink(missing_ok=True)
        yield beside
        beside.replace(path)
    except OSError as error:
        raise UnwritableFileError(path, error) from error
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
        raise DamagedFileError(path, f"is no checkpoint ({reason})") from error
