"""Which GPU a job takes, with as many pretended as are asked for."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
JOB = """
import sys
from workflow.lib.training import device as hardware
hardware.cuda_device_count = lambda: int(sys.argv[1])
print(hardware.take_gpu(), flush=True)
sys.stdin.read()
"""

Job = subprocess.Popen[str]
Start = Callable[..., Job]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a job that sees so many GPUs, takes one, and works until it is killed."""
    jobs: list[Job] = []

    def start_job(gpus: int, visible: str | None = None) -> Job:
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        if visible is not None:
            environment["CUDA_VISIBLE_DEVICES"] = visible
        job = subprocess.Popen(
            [sys.executable, "-c", JOB, str(gpus)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        jobs.append(job)
        return job

    yield start_job
    for job in jobs:
        job.kill()
        job.communicate()


def gpu_of(job: Job) -> int:
    assert job.stdout is not None
    return int(job.stdout.readline())


def test_jobs_that_start_at_once_take_a_gpu_each(start: Start) -> None:
    jobs = [start(4) for _ in range(4)]
    assert sorted(gpu_of(job) for job in jobs) == [0, 1, 2, 3]


def test_more_jobs_than_gpus_share_them_evenly(start: Start) -> None:
    jobs = [start(2) for _ in range(6)]
    assert Counter(gpu_of(job) for job in jobs) == {0: 3, 1: 3}


def test_a_killed_job_leaves_its_gpu_to_the_next(start: Start) -> None:
    jobs = [start(3) for _ in range(3)]
    gpus = [gpu_of(job) for job in jobs]
    jobs[1].kill()
    jobs[1].wait()
    assert gpu_of(start(3)) == gpus[1]


def test_visible_devices_are_told_apart_by_name_and_counted_from_zero(start: Start) -> None:
    """One run may use GPUs 2 and 3, another 3 and 1: they meet at 3 only when there is no other."""
    assert gpu_of(start(2, "2,3")) == 0
    assert gpu_of(start(2, "2,3")) == 1
    assert gpu_of(start(2, "3,1")) == 1
    assert gpu_of(start(4)) == 0
    assert gpu_of(start(1, "MIG-GPU-5/1/0")) == 0
