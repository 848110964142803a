"""What a job does besides its work."""

import json
from pathlib import Path

import pytest

from workflow.lib.fingerprint import fingerprint
from workflow.lib.job import ROOT, job

FILE = "workflow/lib/addition.py"
CODE = [f"{FILE}@{fingerprint(ROOT / FILE)}"]


def test_the_log_takes_what_is_printed_and_the_record_what_made_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    log, record = str(tmp_path / "job.log"), str(tmp_path / "job.json")
    with job(log, record, CODE, {"torch": "1"}, {"steps": 3}):
        print("hello")
        assert not Path(record).exists()
    assert Path(log).read_text() == "hello\n"
    assert capsys.readouterr().out == ""
    made_by = json.loads(Path(record).read_text())
    assert made_by["code"] == CODE
    assert made_by["software"] == {"torch": "1"}
    assert made_by["settings"] == {"steps": 3}
    assert made_by["machine"]["cpu"] and made_by["machine"]["torch_threads"] == 1


def test_the_log_takes_the_traceback_of_a_failure(tmp_path: Path) -> None:
    log, record = str(tmp_path / "job.log"), str(tmp_path / "job.json")
    with pytest.raises(SystemExit) as caught, job(log, record, CODE, {}, {}):
        raise ValueError("the reason")
    assert caught.value.code == 1
    text = Path(log).read_text()
    assert "Traceback" in text and text.endswith("ValueError: the reason\n")
    assert not Path(record).exists()


def test_a_job_whose_code_changed_after_planning_does_not_start(tmp_path: Path) -> None:
    log, record = str(tmp_path / "job.log"), str(tmp_path / "job.json")
    with pytest.raises(SystemExit), job(log, record, [f"{FILE}@000000000000"], {}, {}):
        pytest.fail("it started")
    assert f"{FILE} was edited after this run was planned" in Path(log).read_text()
