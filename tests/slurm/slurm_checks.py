"""The pipeline on a real Slurm (`make test-slurm`).

Named so that plain `pytest` does not collect it: it installs packages of the system.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.pipeline.conftest import Project, new_project
from tests.slurm.cluster import Cluster, install, running, until
from workflow.lib.training.device import cuda_device_count

SMOKE = ("--configfile", "smoke.yaml")
GPU_FOR_SFT = (
    *("--set-resources", "train_sft:gpu=1", "train_sft:mem_mb=1200"),
    "grpo:gpu=0",
)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    install()
    # As Ctrl-C does: the daemons must not outlive the tests.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Not in pytest's own folder: it is for one user only, and munge wants its socket open to all.
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with running(folder) as cluster:
            yield cluster


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy on which the study has run without Slurm."""
    project = new_project(tmp_path_factory.mktemp("local") / "project")
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(tmp_path / "project")


class Run:
    """A `snakemake` that has been started on the cluster."""

    def __init__(self, project: Project, *arguments: str) -> None:
        command = [
            *(sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm"),
            # The jobs are short, and so are the waits.
            *("--slurm-init-seconds-before-status-checks", "2"),
            *("--seconds-between-status-checks", "2", *arguments),
        ]
        self.log = project.path / "snakemake.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=project.path,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A shell that runs tests in the background has its children ignore Ctrl-C.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    def output(self) -> str:
        return self.log.read_text()

    def finish(self) -> int:
        """Wait for its end, and give its exit status."""
        return self.process.wait(600)


Submit = Callable[..., Run]


@pytest.fixture
def submit() -> Iterator[Submit]:
    """Start `snakemake` on the cluster; what still runs after the test is ended."""
    runs: list[Run] = []

    def start(project: Project, *arguments: str) -> Run:
        runs.append(Run(project, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.wait()


def running_job(cluster: Cluster, *known: str) -> str:
    """The number of a job that runs, and is none of those that are known already."""

    def found() -> list[str]:
        jobs = cluster.jobs().items()
        return [
            number for number, job in jobs if job["JobState"] == "RUNNING" and number not in known
        ]

    until(found, "a running job")
    return found()[0]


def test_the_study_from_nothing_gives_the_bytes_of_a_local_run(
    cluster: Cluster, submit: Submit, project: Project, local: Project
) -> None:
    before = set(cluster.jobs())
    run = submit(project, *SMOKE, "--config", "device=auto", *GPU_FOR_SFT)
    assert run.finish() == 0, run.output()
    assert project.results() == local.results()

    jobs = [job for number, job in cluster.jobs().items() if number not in before]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    sft = [job for job in jobs if "train_sft" in job["Comment"]]
    assert len(sft) == 4
    for job in jobs:
        assert (job.get("TresPerJob") == "gres:gpu:1") == (job in sft)
    assert {(job["TimeLimit"], job["MinMemoryNode"]) for job in sft} == {("00:30:00", "1200M")}
    # Nothing can compute on that GPU, and `device: auto` does not try.
    assert "on cpu" in (project.path / "results/logs/sft/q0/seed1.log").read_text()

    again = submit(project, *SMOKE)
    assert again.finish() == 0, again.output()
    assert "Nothing to be done" in again.output()


@pytest.mark.skipif(cuda_device_count() > 0, reason="no job would fail for want of a GPU")
def test_jobs_that_fail_are_told_and_the_next_run_goes_on(
    cluster: Cluster, submit: Submit, project: Project, local: Project
) -> None:
    """One is cancelled, one finds no GPU to compute on, one hangs beyond its time limit.

    They run one after the other, since there is one GPU. `device: cuda` is refused by a job on its
    node, and not where `snakemake` runs, which often has no GPU.
    """
    targets = (
        "--",
        *(f"results/sft/{name}.csv" for name in ("q0/seed1", "q0/seed2", "q0.3/seed1")),
    )
    gpus = ("--config", "device=cuda", "--set-resources", "train_sft:gpu=1")
    run = submit(project, *SMOKE, *gpus, *targets)
    cancelled = running_job(cluster)
    cluster.run("scancel", cancelled)
    failed = running_job(cluster, cancelled)
    overdue = running_job(cluster, cancelled, failed)
    for pid in cluster.pids(overdue):
        os.kill(pid, signal.SIGSTOP)
    cluster.run("scontrol", "update", f"JobId={overdue}", "TimeLimit=1")
    assert run.finish() != 0
    states = {cancelled: "CANCELLED", failed: "FAILED", overdue: "TIMEOUT"}
    for number, state in states.items():
        assert f"SLURM-job '{number}' failed, SLURM status is: '{state}'" in run.output()
    assert "no CUDA GPU can be used here" in run.output()
    assert not project.results()

    again = submit(project, *SMOKE, *targets)
    assert again.finish() == 0, again.output()
    results = project.results()
    assert len(results) == 9
    assert results.items() <= local.results().items()


def test_ctrl_c_cancels_the_jobs(cluster: Cluster, submit: Submit, project: Project) -> None:
    run = submit(project, *SMOKE, *GPU_FOR_SFT)
    running_job(cluster)
    run.process.send_signal(signal.SIGINT)
    assert run.finish() != 0
    until(lambda: not cluster.queue(), "an empty queue")
