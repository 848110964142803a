"""Whether a result is as it was made."""

import json
from pathlib import Path

import pytest

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import check_unchanged, damaged, read_record, record_of, write_record

RESULT = "results/grpo/weak/seed1.csv"
RECORD = "results/records/grpo/weak/seed1.json"


@pytest.fixture(autouse=True)
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result with its record."""
    monkeypatch.chdir(tmp_path)
    for file in (RESULT, RECORD):
        Path(file).parent.mkdir(parents=True)
    Path(RESULT).write_text("iteration\n1\n5\n")
    write_record(RECORD, {"settings": 3}, [RESULT])
    return Path(RESULT)


@pytest.mark.parametrize(
    ("result", "record"),
    [
        (RESULT, RECORD),
        ("results/sft/q0.3/seed1.pt", "results/records/sft/q0.3/seed1.json"),
        ("results/sft/q0.3/seed1.csv", "results/records/sft/q0.3/seed1.json"),
        ("results/sft/q0.3/prompts/seed1.csv", "results/records/sft/q0.3/seed1.json"),
        ("results/grpo/prompts/seed1.csv", "results/records/grpo/prompts/seed1.json"),
        ("results/claims.csv", "results/records/claims.json"),
    ],
)
def test_a_record_lies_where_its_result_says(result: str, record: str) -> None:
    assert record_of(result) == Path(record)


def test_a_result_as_it_was_made_passes() -> None:
    check_unchanged([RESULT, RECORD])
    assert list(damaged([RECORD])) == []
    assert read_record(RECORD)["settings"] == 3


DAMAGE = {
    "": "is empty",
    "iteration\n1\n": "is not what its job wrote",
    "iteration\n1\n6\n": "is not what its job wrote",
}


@pytest.mark.parametrize("content", DAMAGE)
def test_a_damaged_result_is_named(content: str) -> None:
    Path(RESULT).write_text(content)
    with pytest.raises(DamagedFileError, match=f"{RESULT} {DAMAGE[content]}.* Run `rm {RESULT}`"):
        check_unchanged([RESULT])
    [(file, fault)] = damaged([RECORD])
    assert file == RESULT and fault.startswith(DAMAGE[content])


@pytest.mark.parametrize("content", ["", '{"sha256": {', "[]", "\x00"])
def test_a_damaged_record_is_named(content: str) -> None:
    Path(RECORD).write_text(content)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        read_record(RECORD)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        check_unchanged([RESULT])
    assert list(damaged([RECORD])) == [(RECORD, "is no record of a job")]


def test_what_is_missing_is_not_damaged(result: Path) -> None:
    result.unlink()
    assert list(damaged([RECORD, "results/records/none.json"])) == []


def test_a_result_without_a_checksum_passes() -> None:
    """An older version of the project wrote none; a file of another origin has no record."""
    Path(RECORD).write_text(json.dumps({"settings": 3}))
    Path("results/mine.csv").touch()
    check_unchanged([RESULT, "results/mine.csv"])
    assert list(damaged([RECORD])) == []
