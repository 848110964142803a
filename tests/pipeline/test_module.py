"""The study as a module of another workflow."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.conftest import Project

OUTER = """
module study:
    snakefile:
        "{project}/Snakefile"
    config:
        {config}
    {prefix}


use rule * from study{alias}


rule everything:
    default_target: True
    input:
        rules.{all}.input,
"""
SMALL = {
    "seeds": [1],
    "device": "cpu",
    "sft": {"steps": 20, "batch_size": 32},
    "grpo": {"iterations": 3, "num_prompts": 8, "num_generations": 4, "minibatch_size": 16},
    "evaluation": {"num_prompts": 64},
}


def outer(
    folder: Path, project: Project, config: object, alias: str = "", prefix: str = ""
) -> None:
    """Another workflow, which uses the study."""
    folder.mkdir()
    text = OUTER.format(
        project=project.path,
        config=config,
        prefix=f'prefix:\n        "{prefix}"' if prefix else "",
        alias=f" as {alias}*" if alias else "",
        all=f"{alias}all",
    )
    (folder / "Snakefile").write_text(text)


def snakemake(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("config", "alias", "sft"), [({}, "", 6), ({"seeds": [7]}, "study_", 2), (SMALL, "study_", 2)]
)
def test_all_of_it_is_planned(
    config: object, alias: str, sft: int, project: Project, tmp_path: Path
) -> None:
    outer(tmp_path / "outer", project, config, alias)
    status, output = snakemake(tmp_path / "outer", "--dry-run", "--quiet", "rules")
    assert status == 0, output
    counts = dict(re.findall(r"^(\w+) +(\d+)$", output, flags=re.MULTILINE))
    assert counts[f"{alias}train_sft"] == str(sft)


def test_jobs_run_below_a_prefix_and_their_records_are_believed(
    project: Project, tmp_path: Path
) -> None:
    folder, figure = tmp_path / "outer", "inner/results/figures/fig1_rlvr_overturns.pdf"
    outer(folder, project, SMALL, "study_", prefix="inner")
    status, output = snakemake(folder, "--", figure)
    assert status == 0, output
    assert (folder / figure).read_bytes().startswith(b"%PDF")

    shutil.rmtree(folder / ".snakemake")
    status, output = snakemake(folder, "--dry-run", "--", figure)
    assert status == 0 and "Nothing to be done" in output, output

    csv = folder / "inner/results/grpo/weak/seed1.csv"
    csv.write_text(csv.read_text() + "edited\n")
    status, output = snakemake(folder, "--dry-run", "--", figure)
    assert status != 0 and "inner/results/grpo/weak/seed1.csv is not what its job wrote" in output
