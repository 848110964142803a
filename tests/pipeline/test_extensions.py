"""What lies beyond the chapter: the extensions, and experiments and figures of the user's own."""

import csv
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

from tests import plain
from tests.copies import ROOT
from tests.pipeline.conftest import Project
from tests.pipeline.test_reruns import Edit, planned, replace, setting
from workflow.lib.study.findings import FINDINGS
from workflow.lib.study.runs import ALL_COLUMNS

SMALL = yaml.safe_load((ROOT / "tests/extensions.yaml").read_text())["extensions"]


@pytest.fixture(scope="module")
def extended(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy on which the small extensions have run."""
    project = finished.copy(tmp_path_factory.mktemp("extended") / "project")
    shutil.copy2(ROOT / "tests/extensions.yaml", project.path)
    done = project.snakemake("extensions.yaml", "--", "extensions")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def test_every_figure_is_drawn_and_nothing_is_left_to_do(extended: Project) -> None:
    figures = {path.stem for path in (extended.path / "results/figures").glob("*.pdf")}
    assert set(SMALL["figures"]) <= figures
    assert planned(extended, "extensions", overlay=("extensions.yaml",)) == set()


def test_every_metric_is_recorded(extended: Project) -> None:
    rows = pd.read_csv(extended.path / "results/grpo/learned/seed1.csv")
    assert list(rows) == ALL_COLUMNS
    assert (
        rows.drop(columns=["accuracy_units", "accuracy_tens", "accuracy_both"])
        .notna()
        .all(axis=None)
    )
    assert (rows.kl_full > -1e-5).all() and (rows.grad_norm > 0).any()


def test_the_findings_are_a_table(extended: Project) -> None:
    path = extended.path / "results/extensions/findings.csv"
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["finding"] for row in table] == [finding.name for finding in FINDINGS]
    assert all(row["observed"] for row in table)


def test_final_policies_are_kept_only_where_the_study_says_so(extended: Project) -> None:
    kept = {path.parent.name for path in (extended.path / "results/grpo").glob("*/seed1.pt")}
    assert kept == {"weak", "cold"}
    stock = plain.PlainTransformer()
    path = extended.path / "results/grpo/weak/seed1.pt"
    stock.load_state_dict(torch.load(path, weights_only=True), strict=True)


def test_pass_at_k_grows_with_k(extended: Project) -> None:
    table = pd.read_csv(extended.path / "results/pass_at_k/weak/seed1.csv")
    assert list(table.k) == [1, 2, 4, 8, 16]
    for column in ("sft", "sft_exact", "grpo", "grpo_exact"):
        assert table[column].is_monotonic_increasing and table[column].between(0, 1).all()


def test_the_manifest_lists_the_extensions_results(extended: Project) -> None:
    manifest = json.loads((extended.path / "results/extensions/manifest.json").read_text())
    listed = set(manifest["sha256"])
    assert {"results/figures/fig5_pass_at_k.pdf", "results/reward/q0.3/seed1.pt"} <= listed
    assert "results/pass_at_k/weak/seed1.csv" in listed
    assert "results/figures/fig1_rlvr_overturns.pdf" not in listed


def test_the_report_shows_them(extended: Project) -> None:
    done = extended.snakemake("extensions.yaml", "--report", "report.html", "--", "extensions")
    assert done.returncode == 0, done.stdout + done.stderr
    report = (extended.path / "report.html").read_text(encoding="utf-8")
    for figure in SMALL["figures"]:
        assert f"results/figures/{figure}.pdf" in report
    assert "What was found" in report and "findings.html" in report


TOLD = {
    "What the extensions found, against what was expected",
    "manifest of the extensions",
    "The extensions' pages of the report",
}
"""What tells of all of them runs after any."""
EXPLORE = {"explore"}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            setting("extensions.yaml", "extensions/pass_at_k/num_samples", 8),
            {"pass@k of seed 1, experiment weak", "The figure on pass@k"},
        ),
        (
            setting("extensions.yaml", "extensions/experiments/noise-20/iterations", 7),
            {"grpo noise-20 1", "The figure fig9_noisy_verifier"} | EXPLORE,
        ),
        (
            setting("extensions.yaml", "extensions/reward_model/steps", 9),
            {
                "Reward model of seed 1 on a teacher that is right with probability 0.3",
                *("grpo learned 1", "grpo learned-anchored 1"),
                "The figure fig6_reward_is_the_objective",
            }
            | EXPLORE,
        ),
        (
            replace("workflow/lib/study/findings.py", "def _mean(", "UNUSED = 1\n\n\ndef _mean("),
            set(),
        ),
    ],
)
def test_exactly_what_depends_on_a_change_reruns(
    edit: Edit, expected: set[str], extended: Project, tmp_path: Path
) -> None:
    project = extended.copy(tmp_path / "project")
    edit(project.path)
    assert planned(project, "extensions", overlay=("extensions.yaml",)) == expected | TOLD


def test_they_are_no_part_of_the_study(finished: Project) -> None:
    assert not list((finished.path / "results/figures").glob("fig[4-9]*"))
    assert not (finished.path / "results/extensions").exists()


def worked_example() -> str:
    """The YAML of docs/extensions.md."""
    text = (ROOT / "docs/extensions.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    return str(example)


def test_the_worked_example_draws_its_figure_without_code(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.copy(tmp_path / "project")
    example = yaml.safe_load(worked_example())
    (project.path / "mine.yaml").write_text(worked_example())
    [(name, figure)] = example["curves"].items()
    target = f"results/figures/{name}.pdf"
    done = project.snakemake("mine.yaml", "--", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.path / target).read_bytes().startswith(b"%PDF")
    [mine] = example["experiments"]
    assert mine in figure["experiments"]
    assert (project.path / f"results/grpo/{mine}/seed1.csv").exists()
    assert planned(project, target, overlay=("mine.yaml",)) == set()
