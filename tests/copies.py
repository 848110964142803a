"""Copies of the project, to run and to damage."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ["Snakefile", "config", "envs", "profiles", "workflow"]


def copy_project(path: Path, study: str) -> None:
    """A copy of what the pipeline is made of, and of one of the tests' small studies."""
    path.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, path / name)
    shutil.copy2(ROOT / "tests" / study, path / Path(study).name)
