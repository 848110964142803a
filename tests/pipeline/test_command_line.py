"""What users do at the command line, and where they do it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copies import ROOT
from tests.pipeline.conftest import Project

FIGURE = "results/figures/fig1_rlvr_overturns.pdf"


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said that was refused; in a few words, and without a traceback."""
    assert done.returncode != 0
    lines = (done.stdout + done.stderr).strip().splitlines()
    message = [line for line in lines if not line.startswith(("Using", "Config file"))]
    assert len(message) <= 3, "\n".join(lines)
    assert "Traceback" not in done.stdout + done.stderr
    return "\n".join(message)


def test_a_misspelt_target_is_named(project: Project) -> None:
    target = FIGURE.replace("overturns", "overtruns")
    done = project.snakemake("--dry-run", "--", target)
    assert done.returncode != 0
    assert f"No rule to produce {target}" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


CONFIGS = {
    "seeds=3": "seeds: 3 is not a list",
    "seeds=[3]": "seeds.0: '3' is not a whole number but text",
    "seed=3": "did you mean 'seeds'?",
    "grpo={beta: 0.05}": "'0.05' is not a number but text: write 0.05 without quotes, in a file",
    "seeds=[010]": "'010' is not a whole number but text",
    "sft={steps: $(touch was-run)}": "sft.steps: '$(touch was-run)' is not a whole number",
}


@pytest.mark.parametrize("config", CONFIGS)
def test_settings_of_the_wrong_form_are_named(config: str, project: Project) -> None:
    done = project.snakemake("--dry-run", "--config", config)
    assert CONFIGS[config] in refused(done)
    assert not (project.path / "was-run").exists()


def test_next_names_a_study_that_a_profile_names(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "config.yaml").write_text("configfile: smoke.yaml\ncores: 2\n")
    (project.path / "results/report/answers.html").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "snakemake"],
        cwd=project.path,
        env={**os.environ, "SNAKEMAKE_PROFILE": str(profile)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Next:     snakemake --report report.html --configfile smoke.yaml " in done.stdout


def test_an_odd_place_and_a_bare_machine_give_the_same_bytes(
    finished: Project, project: Project, tmp_path: Path
) -> None:
    """From one directory into another; a read-only checkout; odd names; no compiler; all cores."""
    checkout = project.path.rename(tmp_path / "Prüfung, 算術 (read only)")
    elsewhere, results = tmp_path / "else where", tmp_path / "l'été d'après"
    tools = tmp_path / "bin"
    for folder in (elsewhere, tools):
        folder.mkdir()
    for name in ("bash", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    before = snapshot(checkout)
    set_writable(checkout, False)
    try:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--snakefile", checkout / "Snakefile"),
                *("--directory", results, "--configfile", checkout / "smoke.yaml"),
                *("--cores", "all", "--resources", "gpu=1", "--", FIGURE),
            ],
            cwd=elsewhere,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": str(tools), "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
        )
    finally:
        set_writable(checkout, True)
    assert done.returncode == 0, done.stdout + done.stderr
    made = Project(results).results()
    assert "figures/fig1_rlvr_overturns.pdf" in made
    assert made == {name: finished.results()[name] for name in made}
    assert snapshot(checkout) == before
    assert not list(elsewhere.iterdir())


def snapshot(folder: Path) -> dict[Path, int]:
    """All there is in a folder, and when it was last changed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def set_writable(folder: Path, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200 if writable else path.stat().st_mode & ~0o222)


HIDE = """
import sys
from importlib import metadata


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def version(name):
    if name == HIDDEN:
        raise metadata.PackageNotFoundError(name)
    return real(name)


sys.meta_path.insert(0, Hidden())
real, metadata.version = metadata.version, version
"""


@pytest.mark.parametrize("package", ["grimp", "torch"])
def test_a_missing_package_is_named(package: str, project: Project, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"HIDDEN = {package!r}\n{HIDE}")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    said = refused(project.snakemake("--dry-run", env={"PYTHONPATH": path}))
    assert f"{package} is not installed" in said and "requirements.lock" in said


def test_another_package_of_the_same_name_is_named(project: Project, tmp_path: Path) -> None:
    (tmp_path / "other/workflow").mkdir(parents=True)
    (tmp_path / "other/workflow/__init__.py").touch()
    said = refused(project.snakemake("--dry-run", env={"PYTHONPATH": str(tmp_path / "other")}))
    assert f"{tmp_path}/other has another package called 'workflow'" in said


@pytest.mark.parametrize("body", ["#!/bin/sh\nexit 1\n", None])
def test_an_old_python_or_none_is_told_before_anything_is_installed(
    body: str | None, tmp_path: Path
) -> None:
    for name in ("Makefile", "requirements.lock"):
        shutil.copy2(ROOT / name, tmp_path / name)
    if body:
        (tmp_path / "old-python").write_text(body)
        (tmp_path / "old-python").chmod(0o755)
    done = subprocess.run(
        ["make", "PYTHON=./old-python"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed; name one: make PYTHON=" in done.stderr
    assert not (tmp_path / ".venv").exists()
