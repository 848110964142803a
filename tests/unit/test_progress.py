"""Logs that show how far a job is, and why it failed."""

from pathlib import Path

import pytest

from workflow.lib.progress import Progress, logged


def test_the_log_takes_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with logged(tmp_path / "job.log"):
        Progress(10, "step").report(5, loss=0.25)
    line = (tmp_path / "job.log").read_text()
    assert line.startswith("step 5/10  loss 0.2500  ") and line.endswith(" s left\n")
    assert capsys.readouterr().out == ""


def test_the_log_takes_the_traceback_of_a_failure(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught, logged(tmp_path / "job.log"):
        raise ValueError("the reason")
    assert caught.value.code == 1
    log = (tmp_path / "job.log").read_text()
    assert "Traceback" in log and log.endswith("ValueError: the reason\n")
