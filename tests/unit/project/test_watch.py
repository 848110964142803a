"""The live state of the training jobs, told from their logs."""

import os
import time
from pathlib import Path

import pytest

from workflow.lib.jobs.job import FAILED
from workflow.lib.jobs.progress import Progress
from workflow.tools import watch


def write(folder: Path, job: str, text: str, age: float = 0) -> None:
    path = folder / f"results/logs/{job}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = time.time() - age
    os.utime(path, (then, then))


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str]) -> str:
    """What a job prints that has done 240 of 600 iterations at 20 a second."""
    progress = Progress(600, "iteration")
    progress.start -= 12
    row = {"accuracy": 0.9981, "accuracy_carry": 0.9976, "reward": 0.9766, "kl": 0.8}
    progress.report(240, {"iteration": 240, **row})
    return capsys.readouterr().out


def test_a_running_job_says_how_far_it_is(line: str) -> None:
    state = watch.state_of("grpo/long/seed42", f"grpo/long, seed 42, on cpu\n{line}", age=3)
    assert (state.status, state.done, state.total) == ("running", 240, 600)
    assert state.news == "15 s left  accuracy 0.9981  carry 0.9976  reward 0.9766  kl 0.8000"
    [_, row] = watch.table([state]).splitlines()
    assert row == f"grpo/long/seed42  {'█' * 8}{'░' * 12}    240/600  {state.news}"


def test_a_job_that_says_nothing_any_more_is_told(line: str) -> None:
    assert watch.state_of("grpo/long/seed42", line, age=75).news.startswith(
        "no word for 75 s  0 s left"
    )


def test_a_job_that_told_why_it_failed_has_failed(line: str) -> None:
    log = f"grpo/long, seed 42, on cpu\n{line}{FAILED}the disk is full.\n"
    state = watch.state_of("grpo/long/seed42", log, age=3)
    assert (state.status, state.news) == ("failed", f"{FAILED}the disk is full.")


def test_only_what_has_not_finished_has_a_line(tmp_path: Path, line: str) -> None:
    write(tmp_path, "sft/q0/seed42", line.replace("240", "600"), age=1000)
    write(
        tmp_path, "grpo/cold/seed42", f"{line}Traceback (most recent call last):\n  x\nKeyError\n"
    )
    write(tmp_path, "grpo/long/seed42", line)
    write(tmp_path, "grpo/weak/seed42", "grpo/weak, seed 42, on cpu: GrpoSettings()\n")
    write(tmp_path, "figures/fig1", "Traceback (most recent call last):\nnot a training job\n")
    counts, cold, long, weak = watch.table(watch.states_in(tmp_path)).splitlines()
    assert counts == "Training jobs so far: 1 finished, 1 failed, 1 running, 1 starting"
    assert cold.startswith("grpo/cold/seed42") and cold.endswith("KeyError")
    assert "240/600" in long
    assert weak.split() == ["grpo/weak/seed42", "░" * 20, "starting"]


def test_without_a_terminal_it_is_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watch.main(tmp_path)
    assert "No training job has left a log yet" in capsys.readouterr().out
