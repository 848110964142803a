"""Results on disk: written whole or not at all, refused where they are damaged."""

import os
import secrets
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the Snakefile."""


class DamagedFileError(RuntimeError):
    """A result that cannot be used; the message names the file, the fault and the remedy."""

    def __init__(self, path: str | Path, fault: str) -> None:
        super().__init__(f"{path} {fault}. {rebuild(path)}")


class UnwritableFileError(RuntimeError):
    """A file that could not be written; the message names it, the reason and the remedy."""

    def __init__(self, path: str | Path, reason: OSError) -> None:
        super().__init__(
            f"{path} could not be written: {reason.strerror or reason}. Mend that, then give the "
            "same command again: it goes on where it stopped."
        )


def rebuild(*paths: str | Path) -> str:
    """What to do about damaged results."""
    remove = "rm -r" if any(map(os.path.isdir, paths)) else "rm"
    return (
        f"Run `{remove} {shlex.join(map(str, paths))}`, then the same command again: it makes what "
        "is missing, and all that depends on it."
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
    """A path to write to; at the end the file there replaces the one at `path`.

    So a job that is killed, or a full disk, leaves the old file or none, never half of one. The
    partial file of a writer that was killed is removed.

    Raises:
        UnwritableFileError: where the disk is full, or one may not write there.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        for leftover in path.parent.glob(f".{path.name}.*.part"):
            leftover.unlink(missing_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UnwritableFileError(path, error) from error
    finally:
        partial.unlink(missing_ok=True)
