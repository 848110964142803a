"""What made each result, and whether the result is still as it was made.

Each job leaves a record: its code, software, settings and machine, how long it took, and the
SHA-256 of each file that it wrote. Whoever reads a result can so tell whether it is what the job
wrote.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workflow.lib.jobs.files import DamagedFileError, whole_file


def write_record(path: str | Path, made_by: Mapping[str, Any], results: Iterable[str]) -> None:
    """Record what made the results, and what they are."""
    record = {**made_by, "sha256": {file: sha256(Path(file)) for file in results}}
    with whole_file(path) as partial:
        partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_record(path: str | Path) -> dict[str, Any]:
    """A job's record.

    Raises:
        DamagedFileError: where it is none.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFileError(path, f"is no record of a job ({error})") from error
    if not isinstance(record, dict) or not isinstance(record.get("sha256"), dict):
        raise DamagedFileError(path, "is no record of a job")
    return record


def check_unchanged(files: Iterable[str], records: Iterable[str]) -> None:
    """Raise DamagedFileError unless each result is as the job wrote it that left the record.

    Args:
        files: results, and perhaps the records themselves.
        records: the records of the jobs that wrote the results.
    """
    records = set(records)
    written: dict[str, str] = {}
    for record in sorted(records):
        written |= read_record(record)["sha256"]
    for file in files:
        if file in records:
            continue
        if file not in written:
            raise DamagedFileError(file, "is in no record of the job that makes it")
        if fault := fault_of(Path(file), written[file]):
            raise DamagedFileError(file, fault)


def damaged(records: Iterable[str | Path]) -> Iterator[tuple[str, str]]:
    """The records, and the results they list, that are not as their jobs wrote them, and why.

    What is missing is not damaged: it will be made.
    """
    for path in records:
        try:
            written = read_record(path)["sha256"]
        except FileNotFoundError:
            continue
        except DamagedFileError:
            yield str(path), "is no record of a job"
            continue
        for file, checksum in written.items():
            if fault := fault_of(Path(file), checksum):
                yield file, fault


def fault_of(file: Path, checksum: str) -> str:
    """What is wrong with a result of which the SHA-256 is known, or nothing."""
    try:
        found = sha256(file)
    except FileNotFoundError:
        return ""
    if found == checksum:
        return ""
    if file.stat().st_size == 0:
        return "is empty"
    return f"is not what its job wrote (its SHA-256 starts with {found[:8]}, not {checksum[:8]})"


def sha256(file: Path) -> str:
    """The checksum of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
