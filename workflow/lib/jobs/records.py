"""What made each result, and whether a job would still make it so.

Each job leaves a record: its code, software, settings and machine, how long it took, and the
SHA-256 of each file that it read and wrote. The record is the last word on whether a result is
what its job wrote, and on whether the job would write it again.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from workflow.lib.jobs.files import DamagedFileError, whole_file
from workflow.lib.jobs.fingerprint import digest

PARTS: Mapping[str, type | tuple[type, ...]] = {
    "code": list,
    "software": dict,
    "settings": dict,
    "machine": dict,
    "seconds": (int, float),
    "inputs": dict,
    "sha256": dict,
}
"""What a record holds, and of which types."""


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
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise DamagedFileError(path, f"is no record of a job ({error})") from error
    if not isinstance(record, dict) or not all(
        isinstance(record.get(part), types) for part, types in PARTS.items()
    ):
        raise DamagedFileError(path, "is no record of a job")
    return record


def check_unchanged(files: Iterable[str], records: Collection[str]) -> dict[str, str]:
    """The checksums of what a job reads, as it goes into its own record.

    Args:
        files: results, and perhaps the records themselves.
        records: the records of the jobs that wrote the results.

    Raises:
        DamagedFileError: where a result is not as the job wrote it that left the record.
    """
    read = {record: read_record(record) for record in records}
    written: dict[str, str] = {}
    for record in read.values():
        written |= record["sha256"]
    checksums = {}
    for file in files:
        if file in read:
            checksums[file] = checksum_of_record(read[file])
        elif file not in written:
            raise DamagedFileError(file, "is in no record of the job that makes it")
        elif fault := fault_of(Path(file), written[file]):
            raise DamagedFileError(file, fault)
        else:
            checksums[file] = written[file]
    return checksums


def checksum_of_record(record: Mapping[str, Any]) -> str:
    """Of a record, but for the time that the job took."""
    return digest({part: value for part, value in record.items() if part != "seconds"})


def difference(record: Mapping[str, Any], made_by: Mapping[str, Any]) -> str:
    """The first thing in which a job differs from the one that left a record, in words, or nothing.

    Args:
        made_by: the job's settings, with its `code` and `software`.
    """
    now: dict[str, Any] = json.loads(json.dumps(made_by))
    code, software = now.pop("code"), now.pop("software")
    for entry in code:
        if entry not in record["code"]:
            return f"{entry.partition('@')[0]} has changed"
    if code != record["code"]:
        return "it uses less code"
    for name, value in _changes(record["software"], software):
        return f"{name} {value}"
    for name, value in _changes(record["settings"], now):
        return f"{name} {value}"
    return ""


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], where: str = ""
) -> Iterable[tuple[str, str]]:
    """Each value that differs, by its dotted name, as `was 1, is 2`."""
    for name in {**new, **old}:
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{where}{name}.")
        elif before != after:
            yield f"{where}{name}", f"was {_shown(before)}, is {_shown(after)}"


def _shown(value: Any) -> str:
    text = "not there" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def fault_of(file: Path, checksum: str) -> str:
    """What is wrong with a result of which the SHA-256 is known, or nothing."""
    try:
        found = sha256(file)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if found == checksum:
        return ""
    if file.stat().st_size == 0:
        return "is empty"
    return f"is not what its job wrote (its SHA-256 starts with {found[:8]}, not {checksum[:8]})"


def sha256(file: Path) -> str:
    """The checksum of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
