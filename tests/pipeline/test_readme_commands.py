"""The commands of the README run, as they stand there.

Those of `make` only so far as to see that they exist: what they run is tested where it lives.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from tests.copies import ROOT
from tests.pipeline.conftest import Project

README = (ROOT / "README.md").read_text(encoding="utf-8")
INDENTED = re.findall(r"^    (.+)$", re.sub(r"```.*?```", "", README, flags=re.S), flags=re.M)
INLINE = re.findall(r"`((?:snakemake|make|python|\. \.venv)\b[^`]*)`", README.replace("\n", " "))
COMMANDS = sorted({command.partition("#")[0].strip() for command in [*INDENTED, *INLINE]})

ORDINARY = "snakemake --cores 4 --resources gpu=1"
ELSEWHERE = {
    "snakemake --workflow-profile profiles/slurm": "tests/slurm",
    "python -m examples.quickstart": "tests/unit/project/test_quickstart.py",
    f"{ORDINARY} --config questions=all": "tests/pipeline/test_asking.py",
}
"""What a test of its own runs, and where."""
TOO_LONG = "snakemake --cores 4 --resources gpu=1 --configfile my_study.yaml"
"""What would take minutes even on a small study: it is planned only."""


@pytest.fixture(scope="module")
def small(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose own config is the small study, so that a command needs nothing besides."""
    path = finished.copy(tmp_path_factory.mktemp("readme") / "project").path
    config = path / "config/config.yaml"
    study = yaml.safe_load(config.read_text())
    update_config(study, yaml.safe_load((path / "smoke.yaml").read_text()))
    config.write_text(yaml.safe_dump(study))
    (path / "my_study.yaml").write_text(re.findall(r"```yaml\n(.*?)```", README, flags=re.S)[0])
    shutil.copy2(ROOT / "Makefile", path)
    shutil.copy2(ROOT / "requirements.lock", path)
    (path / ".venv/bin").mkdir(parents=True)
    (path / ".venv/bin/activate").symlink_to(Path(sys.executable).parent / "activate")
    return path


def test_the_readme_has_commands() -> None:
    assert "snakemake --cores 4 --resources gpu=1" in COMMANDS
    assert {TOO_LONG, *ELSEWHERE} <= set(COMMANDS)
    for place in ELSEWHERE.values():
        assert (ROOT / place).exists()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ELSEWHERE])
def test_a_command_runs(command: str, small: Path) -> None:
    if command.startswith("make"):
        command = command.replace("make", "make --dry-run", 1)
    if command == TOO_LONG:
        command = command.replace("snakemake", "snakemake --dry-run", 1)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=small,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
