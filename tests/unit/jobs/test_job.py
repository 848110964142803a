"""What a job does besides its work."""

import hashlib
import json
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace

import pytest

from workflow.lib.jobs.files import write_csv
from workflow.lib.jobs.fingerprint import fingerprint
from workflow.lib.jobs.job import FAILED, ROOT, job

FILE = "workflow/lib/task/addition.py"
CODE = [f"{FILE}@{fingerprint(ROOT / FILE)}"]
LOG, RESULT, RECORD = "results/logs/a.log", "results/a.csv", "results/records/a.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with the folders that Snakemake makes for a job."""
    monkeypatch.chdir(tmp_path)
    for file in (LOG, RECORD):
        Path(file).parent.mkdir(parents=True)


class Output(list[str]):
    record = RECORD


def a_job(
    inputs: tuple[str, ...] = (), code: list[str] = CODE, settings: object = {"steps": 3}
) -> AbstractContextManager[None]:
    params = SimpleNamespace(code=code, software={"torch": "1"})
    script = SimpleNamespace(
        log=[LOG], input=inputs, output=Output([RESULT, RECORD]), params=params
    )
    return job(script, settings)


def test_the_log_takes_what_is_printed_and_the_record_what_made_the_result(
    capsys: pytest.CaptureFixture,
) -> None:
    with a_job():
        print("hello")
        write_csv(RESULT, [{"x": 1}])
        assert not Path(RECORD).exists()
    assert Path(LOG).read_text() == "hello\n"
    assert capsys.readouterr().out == ""
    made_by = json.loads(Path(RECORD).read_text())
    assert made_by["code"] == CODE
    assert made_by["software"] == {"torch": "1"}
    assert made_by["settings"] == {"steps": 3}
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
    with a_job(inputs=(RESULT,)):
        pass
    Path(RESULT).write_text("x\n1\n")
    with pytest.raises(SystemExit), a_job(inputs=(RESULT,)):
        pytest.fail("it started")
    [line] = Path(LOG).read_text().splitlines()
    assert line.startswith(FAILED)
    assert f"{RESULT} is not what its job wrote" in line and f"Run `rm {RESULT}`" in line


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
import sys, time
from tests.unit.jobs.test_job import a_job
from workflow.lib.jobs.files import write_csv
with a_job(settings="old settings"):
    print("started")
    time.sleep(1)
    write_csv("results/a.csv", [{"x": "old"}])
"""


def test_a_job_that_outlived_its_snakemake_does_not_have_the_last_word() -> None:
    orphan = subprocess.Popen([sys.executable, "-c", ORPHAN], env={"PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 60
    while not (Path(LOG).exists() and Path(LOG).read_text()):
        assert orphan.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    Path(LOG).unlink()  # as Snakemake does before it starts a job
    with a_job():
        write_csv(RESULT, [{"x": "new"}])
    assert orphan.wait(60) == 0
    assert Path(RESULT).read_text() == "x\nnew\n"
    assert json.loads(Path(RECORD).read_text())["settings"] == {"steps": 3}
