"""What makes a result again where Snakemake's own memory is lost, and what does not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.conftest import Project
from tests.pipeline.test_reruns import (
    ANSWERS,
    COLLECTED,
    EXPLORE,
    GRPO,
    LONG,
    NOTHING,
    SMOKE,
    clone,
    planned,
    replace,
    setting,
    touch_everything,
)

WEAK = {"question fig1_rlvr_overturns", "question fig3_cold_start"}
WEAK |= {"question cost", "question predictions"} | EXPLORE | COLLECTED
"""What depends on the runs of `weak`."""
RECORD = "results/records/grpo/weak/seed1.json"


def nothing(root: Path) -> None:
    pass


@pytest.fixture
def forgetful(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished study that Snakemake knows nothing of."""
    project = finished.copy(tmp_path / "project")
    shutil.rmtree(project.path / ".snakemake")
    return project


@pytest.mark.parametrize("edit", [nothing, touch_everything, clone])
def test_without_snakemakes_memory_nothing_is_made_again(
    edit: Callable[[Path], None], forgetful: Project
) -> None:
    edit(forgetful.path)
    assert planned(forgetful) == NOTHING


@pytest.mark.parametrize(
    ("edit", "expected", "words"),
    [
        (
            replace(
                "workflow/lib/training/grpo.py",
                "clamp(max=limit).sum() / -",
                "clamp(max=limit).sum() / ",
            ),
            GRPO | ANSWERS,
            "(workflow/lib/training/grpo.py has changed)",
        ),
        (
            setting(SMOKE, "experiments/long/beta", 0.1),
            {"grpo long 1", "grpo long 2"} | LONG,
            "results/grpo/long/seed1.csv (grpo.beta was 0.0, is 0.1)",
        ),
        (lambda root: (root / RECORD).write_text("null"), {"grpo weak 1"} | WEAK, "cannot be read"),
        (lambda root: (root / RECORD).unlink(), {"grpo weak 1"} | WEAK, ""),
    ],
)
def test_what_would_be_made_otherwise_is_made_again(
    edit: Callable[[Path], object], expected: set[str], words: str, forgetful: Project
) -> None:
    edit(forgetful.path)
    assert planned(forgetful) == expected
    done = forgetful.snakemake("--dry-run")
    assert words in done.stdout + done.stderr
    done = forgetful.snakemake("--report", "report.html")
    assert done.returncode != 0 and not (forgetful.path / "report.html").exists()


def test_an_edited_result_is_not_believed_for_want_of_its_record(forgetful: Project) -> None:
    (forgetful.path / RECORD).unlink()
    csv = forgetful.path / "results/grpo/weak/seed1.csv"
    before = csv.read_bytes()
    csv.write_bytes(before + before.splitlines(keepends=True)[-1])
    done = forgetful.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    assert csv.read_bytes() == before


def test_a_record_of_other_files_is_not_believed(forgetful: Project) -> None:
    record = json.loads((forgetful.path / RECORD).read_text())
    record["sha256"] = {"/etc/passwd": "00"}
    (forgetful.path / RECORD).write_text(json.dumps(record))
    done = forgetful.snakemake("--dry-run")
    assert "its record is of other files" in done.stdout + done.stderr
    assert "/etc/passwd" not in done.stdout + done.stderr


def test_a_folder_in_a_results_place_is_named(forgetful: Project) -> None:
    claims = forgetful.path / "results/claims.csv"
    claims.unlink()
    claims.mkdir()
    done = forgetful.snakemake("--dry-run")
    output = done.stdout + done.stderr
    assert "results/claims.csv cannot be read" in output
    assert "`rm -r results/claims.csv`" in output and "Traceback" not in output


def test_results_copied_into_another_checkout_are_current_there(
    finished: Project, project: Project
) -> None:
    shutil.copytree(finished.path / "results", project.path / "results", copy_function=shutil.copy)
    assert planned(project) == NOTHING
