"""Faults in a study, and what README's command makes of them; `make torture` tries many more."""

import os
import re
from pathlib import Path

import pytest

from tests.pipeline.conftest import Project
from tests.pipeline.test_reruns import ANSWERS, planned
from tests.torture.__main__ import main as torture


def test_a_killed_snakemake_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert torture(faults=1, seed=1, kinds=["kill -9 of Snakemake"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.match(r"all +1 .* 0 +0$", last), last


def test_damaged_results_are_refused_whatever_their_times(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.copy(tmp_path / "project")
    names = ["claims.csv", "figures/fig2_unhackable_reward.pdf", "sft/q0.3/seed1.pt"]
    files = [project.path / "results" / name for name in names]
    for file in files:
        status = file.stat()
        file.write_bytes(file.read_bytes()[:-20])
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    done = project.snakemake("--dry-run")
    assert done.returncode != 0
    output = done.stdout + done.stderr
    for name in names:
        assert f"results/{name} is not what its job wrote" in output
    named = " ".join(f"results/{name}" for name in names)
    assert f"Run `rm {named}`, then the same command again" in output
    assert "Traceback" not in output
    for file in files:
        file.unlink()
    training = {"sft q0.3 1", "grpo weak 1", "grpo long 1"}
    assert planned(project) == training | ANSWERS
