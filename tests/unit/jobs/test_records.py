"""Whether a result is as it was made, and whether it would be made so again."""

from pathlib import Path
from typing import Any

import pytest

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import (
    check_unchanged,
    checksum_of_record,
    difference,
    fault_of,
    read_record,
    sha256,
    write_record,
)

RESULT = "results/grpo/weak/seed1.csv"
RECORD = "results/records/grpo/weak/seed1.json"
MADE_BY: dict[str, Any] = {
    "code": ["workflow/lib/a.py@1", "workflow/scripts/s.py@2"],
    "software": {"python": "3.11", "torch": "2.13.0"},
    "settings": {"seed": 1, "grpo": {"beta": 0.0, "iterations": 6}},
    "machine": {"cpu": "A"},
    "seconds": 1.5,
    "inputs": {},
}


@pytest.fixture(autouse=True)
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result with its record."""
    monkeypatch.chdir(tmp_path)
    for file in (RESULT, RECORD):
        Path(file).parent.mkdir(parents=True)
    Path(RESULT).write_text("iteration\n1\n5\n")
    write_record(RECORD, MADE_BY, [RESULT])
    return Path(RESULT)


def test_a_result_as_it_was_made_passes() -> None:
    assert check_unchanged([RESULT, RECORD], [RECORD]) == {
        RESULT: sha256(Path(RESULT)),
        RECORD: checksum_of_record(read_record(RECORD)),
    }
    assert read_record(RECORD)["settings"] == MADE_BY["settings"]


DAMAGE = {
    "": "is empty",
    "iteration\n1\n": "is not what its job wrote",
    "iteration\n1\n6\n": "is not what its job wrote",
}


@pytest.mark.parametrize("content", DAMAGE)
def test_a_damaged_result_is_named(content: str) -> None:
    Path(RESULT).write_text(content)
    with pytest.raises(DamagedFileError, match=f"{RESULT} {DAMAGE[content]}.* Run `rm {RESULT}`"):
        check_unchanged([RESULT], [RECORD])
    checksum = read_record(RECORD)["sha256"][RESULT]
    assert fault_of(Path(RESULT), checksum).startswith(DAMAGE[content])


@pytest.mark.parametrize(
    "content", ["", '{"sha256": {', "[]", "\x00", '{"settings": 3}', '{"sha256": []}']
)
def test_a_damaged_record_is_named(content: str) -> None:
    Path(RECORD).write_text(content)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        read_record(RECORD)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        check_unchanged([RESULT], [RECORD])


def test_a_folder_in_a_files_place_is_named(result: Path) -> None:
    for file in (result, Path(RECORD)):
        file.unlink()
        file.mkdir()
    assert fault_of(result, "00").startswith("cannot be read")
    with pytest.raises(DamagedFileError, match=f"Run `rm -r {RECORD}`"):
        read_record(RECORD)


def test_what_is_missing_is_not_damaged(result: Path) -> None:
    result.unlink()
    assert fault_of(result, "00") == ""


NOW = {
    "code": MADE_BY["code"],
    "software": MADE_BY["software"],
    **MADE_BY["settings"],
}
"""What the same job would be made by now."""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        (
            {"code": ["workflow/lib/a.py@3", "workflow/scripts/s.py@2"]},
            "workflow/lib/a.py has changed",
        ),
        ({"code": ["workflow/scripts/s.py@2"]}, "it uses less code"),
        ({"software": {"python": "3.11", "torch": "2.14.0"}}, 'torch was "2.13.0", is "2.14.0"'),
        ({"grpo": {"beta": 0.1, "iterations": 6}}, "grpo.beta was 0.0, is 0.1"),
        ({"grpo": {"beta": 0, "iterations": 6}}, ""),
        ({"grpo": {"iterations": 6}}, "grpo.beta was 0.0, is not there"),
        ({"more": [1]}, "more was not there, is [1]"),
    ],
)
def test_what_differs_is_said_in_words(change: dict[str, Any], words: str) -> None:
    assert difference(read_record(RECORD), {**NOW, **change}) == words


def test_how_long_a_job_took_is_no_difference() -> None:
    record = read_record(RECORD)
    assert checksum_of_record(record) == checksum_of_record({**record, "seconds": 9})
    assert checksum_of_record(record) != checksum_of_record({**record, "settings": {}})


def test_a_result_in_no_record_is_refused() -> None:
    Path("results/mine.csv").touch()
    for records in ([RECORD], []):
        with pytest.raises(DamagedFileError, match=r"results/mine\.csv is in no record of the job"):
            check_unchanged(["results/mine.csv"], records)


def test_each_result_is_held_against_the_record_of_its_own_job() -> None:
    other, record = "results/other.csv", "results/records/other.json"
    Path(other).write_text("x\n")
    write_record(record, MADE_BY, [other])
    check_unchanged([RESULT, other, RECORD, record], [RECORD, record])
    Path(other).write_text("y\n")
    check_unchanged([RESULT], [RECORD, record])
    with pytest.raises(DamagedFileError, match=f"{other} is not what its job wrote"):
        check_unchanged([RESULT, other], [RECORD, record])


def test_a_missing_record_is_missing() -> None:
    with pytest.raises(FileNotFoundError):
        check_unchanged([RESULT], ["results/records/none.json"])
