"""What a job does besides its work."""

import fcntl
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workflow.lib.jobs.files import ROOT
from workflow.lib.jobs.fingerprint import fingerprint
from workflow.lib.jobs.job import FAILED, Script, job
from workflow.lib.study.tables import write_csv

FILE = "workflow/lib/task/addition.py"
CODE = [f"{FILE}@{fingerprint(ROOT / FILE)}"]
LOG, RESULT, RECORD = "results/logs/a.log", "results/a.csv", "results/records/a.json"
MADE, EARLIER = "results/made.csv", "results/records/made.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with the folders that Snakemake makes for a job."""
    monkeypatch.chdir(tmp_path)
    for file in (LOG, RECORD):
        Path(file).parent.mkdir(parents=True)


class Files(list[str]):
    """What Snakemake hands over: a list some of whose files have names."""

    def __init__(self, *files: str, **named: str | list[str]) -> None:
        lists = (value if isinstance(value, list) else [value] for value in named.values())
        super().__init__([*files, *(file for of_name in lists for file in of_name)])
        vars(self).update(named)
        self.get = named.get


def a_job(
    inputs: tuple[str, ...] = (),
    records: tuple[str, ...] = (),
    code: list[str] = CODE,
    settings: Mapping[str, Any] = {"steps": 3},
) -> AbstractContextManager[dict[str, Any]]:
    params = SimpleNamespace(job={**settings, "code": code, "software": {"torch": "1"}})
    named = {"records": list(records)} if records else {}
    script = SimpleNamespace(
        log=[LOG], input=Files(*inputs, **named), output=Files(RESULT, record=RECORD), params=params
    )
    return job(cast(Script, script))


def test_the_log_takes_what_is_printed_and_the_record_what_made_the_result(
    capsys: pytest.CaptureFixture,
) -> None:
    with a_job() as settings:
        print("hello")
        write_csv(RESULT, [{"x": 1}])
        assert not Path(RECORD).exists()
    assert settings == {"steps": 3}, "without code and software"
    assert Path(LOG).read_text() == "hello\n"
    assert capsys.readouterr().out == ""
    made_by = json.loads(Path(RECORD).read_text())
    assert made_by["code"] == CODE
    assert made_by["software"] == {"torch": "1"}
    assert made_by["settings"] == {"steps": 3}
    assert 0 <= made_by["seconds"] < 60
    assert made_by["machine"]["cpu"] and made_by["machine"]["torch_threads"] == 1
    assert made_by["sha256"] == {RESULT: hashlib.sha256(b"x\n1\n").hexdigest()}


def test_the_log_takes_the_traceback_of_a_failure() -> None:
    with pytest.raises(SystemExit) as caught, a_job():
        raise ValueError("the reason")
    assert caught.value.code == 1
    text = Path(LOG).read_text()
    assert "Traceback" in text and text.endswith("ValueError: the reason\n")
    assert not Path(RECORD).exists()


def test_a_job_whose_code_changed_after_planning_does_not_start() -> None:
    with pytest.raises(SystemExit), a_job(code=[f"{FILE}@000000000000"]):
        pytest.fail("it started")
    assert f"{FILE} was edited after this run was planned" in Path(LOG).read_text()


def test_a_job_refuses_an_input_that_is_not_as_it_was_made() -> None:
    with a_job():
        write_csv(RESULT, [{"x": 1}, {"x": 2}])
    Path(RECORD).rename(EARLIER)
    Path(RESULT).rename(MADE)
    record = json.loads(Path(EARLIER).read_text())
    Path(EARLIER).write_text(json.dumps({**record, "sha256": {MADE: record["sha256"][RESULT]}}))
    with a_job(inputs=(MADE,), records=(EARLIER,)):
        write_csv(RESULT, [{"x": 3}])
    Path(MADE).write_text("x\n1\n")
    with pytest.raises(SystemExit), a_job(inputs=(MADE,), records=(EARLIER,)):
        pytest.fail("it started")
    [line] = Path(LOG).read_text().splitlines()
    assert line.startswith(FAILED)
    assert f"{MADE} is not what its job wrote" in line and f"Run `rm {MADE}`" in line


def test_a_job_refuses_an_input_that_no_job_made() -> None:
    Path(MADE).write_text("x\n1\n")
    with pytest.raises(SystemExit), a_job(inputs=(MADE,)):
        pytest.fail("it started")
    assert f"{MADE} is in no record of the job that makes it" in Path(LOG).read_text()


def test_a_job_takes_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 112.5])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with a_job():
        write_csv(RESULT, [{"x": 1}])
    assert json.loads(Path(RECORD).read_text())["seconds"] == 12.5


def test_a_full_disk_is_told_in_one_line() -> None:
    with pytest.raises(SystemExit), a_job():
        write_csv("results/nowhere/b.csv", [{"x": 1}])
    [line] = Path(LOG).read_text().splitlines()
    assert "results/nowhere/b.csv could not be written: No such file or directory" in line


def test_where_even_the_log_cannot_be_written_it_is_told_on_the_terminal() -> None:
    Path(LOG).symlink_to("/dev/full")
    with pytest.raises(SystemExit) as caught, a_job():
        print("hello")
    assert f"{LOG} could not be written: No space left on device" in str(caught.value.code)


ORPHAN = """
import sys
from tests.unit.jobs.test_job import a_job
from workflow.lib.study.tables import write_csv
with a_job(settings={"steps": 1}):
    print("started", file=sys.__stdout__, flush=True)
    sys.stdin.readline()
    write_csv("results/a.csv", [{"x": "old"}])
"""


def test_a_job_that_outlived_its_snakemake_does_not_have_the_last_word() -> None:
    """The new job waits for the old one's lock, which is let go only once the old one is told to.

    That the new one asks for the lock is what tells the old one to end.
    """
    orphan = subprocess.Popen(
        [sys.executable, "-c", ORPHAN],
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert orphan.stdin and orphan.stdout
    assert orphan.stdout.readline() == b"started\n"
    Path(LOG).unlink()  # as Snakemake does before it starts a job
    flock = fcntl.flock

    def tell_and_wait(lock: Any, operation: int) -> None:
        with pytest.raises(BlockingIOError):
            flock(lock, operation | fcntl.LOCK_NB)
        assert orphan.stdin
        orphan.stdin.close()
        flock(lock, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", tell_and_wait)
        with a_job():
            write_csv(RESULT, [{"x": "new"}])
    orphan.stdout.close()
    assert orphan.wait(60) == 0
    assert Path(RESULT).read_text() == "x\nnew\n"
    assert json.loads(Path(RECORD).read_text())["settings"] == {"steps": 3}
