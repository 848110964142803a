"""Real runs of the real pipeline, on studies of seconds."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.copies import copy_project


@dataclass(frozen=True)
class Project:
    """A copy of the project, to run and to edit."""

    path: Path

    def snakemake(
        self, *arguments: str, cores: int = 2, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `snakemake` there, as a user would, on the smoke study."""
        command = [
            *(sys.executable, "-m", "snakemake", "--cores", str(cores)),
            *("--configfile", "smoke.yaml", *arguments),
        ]
        return subprocess.run(
            command,
            cwd=self.path,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            check=False,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start `snakemake` there in a process group of its own, for a test to disturb."""
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", "smoke.yaml"]
        return subprocess.Popen(
            command,
            cwd=self.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # A shell that runs tests in the background has its children ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def results(self, pattern: str = "**/*") -> dict[str, bytes]:
        """The results that must not differ between runs, by path."""
        folder = self.path / "results"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.glob(pattern))
            if path.suffix in {".csv", ".pt", ".pdf"} or path.name == "explore.html"
        }

    def copy(self, path: Path) -> "Project":
        """Another copy, with the results and what Snakemake remembers of them."""
        shutil.copytree(self.path, path, symlinks=True)
        return Project(path)


def new_project(path: Path) -> Project:
    copy_project(path, "smoke.yaml")
    return Project(path)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh copy of the project, without results."""
    return new_project(tmp_path / "project")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy on which the smoke study has run. Do not change it: copy it.

    The test processes of one run share it: the first that comes runs it, the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    project = Project(folder / "finished")
    with FileLock(folder / "finished.lock"):
        if not project.path.exists():
            new_project(project.path)
            done = project.snakemake()
            (folder / "finished.txt").write_text(f"{done.returncode} {done.stdout}{done.stderr}")
    result = (folder / "finished.txt").read_text()
    assert result.startswith("0 "), result
    return project
