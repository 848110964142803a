"""What every job does besides its work: keep a log, and record what made its results."""

import contextlib
import fcntl
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from workflow.lib.jobs.files import DamagedFileError, UnwritableFileError
from workflow.lib.jobs.fingerprint import changed_files
from workflow.lib.jobs.records import check_unchanged, write_record


class ChangedCodeError(RuntimeError):
    """The code was edited between the planning of a job and its start."""


EXPLAINED = (ChangedCodeError, DamagedFileError, UnwritableFileError)
"""Failures whose text says all that a reader needs: they are shown without a traceback."""
FAILED = "Failed: "
"""How the log's line on such a failure begins."""


class Script(Protocol):
    """What Snakemake hands to a script."""

    log: Sequence[str]
    """The log file; the reason of a failure ends in it, too."""
    input: Any
    """The files that it reads; `input.records` are the records of the jobs that made them. A file
    that is not as its job wrote it is refused."""
    output: Any
    """The files that it writes; `output.record` is the JSON file to write when the work is done."""
    params: Any
    """`job`, a mapping: `code`, `file@fingerprint` of the code that the job was planned with (it
    does not start if that has changed since: its results would be taken for those of that code);
    `software`, the versions of the packages that decide its results; all else is settings."""
    resources: Any
    config: Any
    """`device` only: where a job computes is no setting, since it is to decide no result."""


@contextlib.contextmanager
def job(script: Script) -> Iterator[dict[str, Any]]:
    """Run a script's work with its output in its log, and record what made its results.

    Yields:
        The job's settings: `params.job` without code and software.
    """
    log, record = script.log[0], script.output.record
    settings = dict(script.params.job)
    code, software = settings.pop("code"), settings.pop("software")
    start = time.monotonic()
    try:
        with (
            one_at_a_time(Path(log)),
            Path(log).open("w", buffering=1, encoding="utf-8") as file,
            contextlib.redirect_stdout(file),
            contextlib.redirect_stderr(file),
        ):
            try:
                check_code(code)
                inputs = check_unchanged(script.input, script.input.get("records", []))
                yield settings
                made_by = {
                    "code": list(code),
                    "software": dict(software),
                    "settings": settings,
                    "machine": machine(),
                    "seconds": round(time.monotonic() - start, 3),
                    "inputs": inputs,
                }
                write_record(record, made_by, [path for path in script.output if path != record])
            except EXPLAINED as error:
                print(f"{FAILED}{error}", file=sys.stderr)
                sys.exit(1)
            except BaseException:
                traceback.print_exc()
                sys.exit(1)
    except OSError as error:  # the log itself; there is nowhere else to say it
        sys.exit(str(UnwritableFileError(log, error)))


@contextlib.contextmanager
def one_at_a_time(log: Path) -> Iterator[None]:
    """Wait for another process that does the same job.

    A job outlives a Snakemake that was killed, and would put its results, of whatever settings it
    was started with, in the place of those of the job that a new Snakemake starts.
    """
    with log.with_name(f".{log.name}.lock").open("w") as lock:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_code(code: Sequence[str]) -> None:
    """Raise ChangedCodeError unless every `file@fingerprint` is what lies on the disk."""
    for file in changed_files(code):
        raise ChangedCodeError(
            f"{file} was edited after this run was planned. Run `snakemake` again: "
            "it plans with the code as it is now."
        )


def machine() -> dict[str, Any]:
    """The processor, the system and, where torch is in use, its build and threads."""
    found: dict[str, Any] = {
        "cpu": cpu_model(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = torch.__version__
        found["torch_cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        found["torch_threads"] = torch.get_num_threads()
        if torch.cuda.is_initialized():
            found["gpu"] = torch.cuda.get_device_name()
    found["omp_num_threads"] = os.environ.get("OMP_NUM_THREADS", "")
    return found


def cpu_model() -> str:
    """The processor's name, as the system gives it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
