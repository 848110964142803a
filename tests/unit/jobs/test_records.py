"""Whether a result is as it was made."""

from pathlib import Path

import pytest

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import check_unchanged, damaged, read_record, write_record

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


def test_a_result_as_it_was_made_passes() -> None:
    check_unchanged([RESULT, RECORD], [RECORD])
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
        check_unchanged([RESULT], [RECORD])
    [(file, fault)] = damaged([RECORD])
    assert file == RESULT and fault.startswith(DAMAGE[content])


@pytest.mark.parametrize(
    "content", ["", '{"sha256": {', "[]", "\x00", '{"settings": 3}', '{"sha256": []}']
)
def test_a_damaged_record_is_named(content: str) -> None:
    Path(RECORD).write_text(content)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        read_record(RECORD)
    with pytest.raises(DamagedFileError, match=f"{RECORD} is no record of a job"):
        check_unchanged([RESULT], [RECORD])
    assert list(damaged([RECORD])) == [(RECORD, "is no record of a job")]


def test_what_is_missing_is_not_damaged(result: Path) -> None:
    result.unlink()
    assert list(damaged([RECORD, "results/records/none.json"])) == []


def test_a_result_in_no_record_is_refused() -> None:
    Path("results/mine.csv").touch()
    for records in ([RECORD], []):
        with pytest.raises(DamagedFileError, match=r"results/mine\.csv is in no record of the job"):
            check_unchanged(["results/mine.csv"], records)


def test_each_result_is_held_against_the_record_of_its_own_job() -> None:
    other, record = "results/other.csv", "results/records/other.json"
    Path(other).write_text("x\n")
    write_record(record, {}, [other])
    check_unchanged([RESULT, other, RECORD, record], [RECORD, record])
    Path(other).write_text("y\n")
    check_unchanged([RESULT], [RECORD, record])
    with pytest.raises(DamagedFileError, match=f"{other} is not what its job wrote"):
        check_unchanged([RESULT, other], [RECORD, record])


def test_a_missing_record_is_missing() -> None:
    with pytest.raises(FileNotFoundError):
        check_unchanged([RESULT], ["results/records/none.json"])
