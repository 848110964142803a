"""Questions: those that the chapter left open, an eleventh, and figures of the user's own."""

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
from tests.pipeline.test_reruns import COLLECTED, EXPLORE, Edit, planned, replace, setting
from workflow.lib.study import layout

SMALL = yaml.safe_load((ROOT / "tests/questions.yaml").read_text())
OVERLAY = "questions.yaml"


@pytest.fixture(scope="module")
def extended(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy on which questions that the chapter left open have been asked."""
    project = finished.copy(tmp_path_factory.mktemp("extended") / "project")
    shutil.copy2(ROOT / "tests" / OVERLAY, project.path)
    done = project.snakemake(OVERLAY)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def claims_in(project: Project) -> list[dict[str, str]]:
    path = project.path / layout.CLAIMS["table"]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_one_table_has_the_claims_of_what_was_asked(extended: Project) -> None:
    claims = claims_in(extended)
    assert list(dict.fromkeys(row["question"] for row in claims)) == SMALL["questions"]
    assert all(row["observed"] and row["rule"] for row in claims)


def test_every_figure_is_drawn_and_nothing_is_left_to_do(extended: Project) -> None:
    for name in SMALL["questions"][:-1]:
        assert (extended.path / layout.DRAWN_QUESTION.of(question=name)["figure"]).exists()
    assert planned(extended, overlay=(OVERLAY,)) == set()


def test_every_policy_is_kept(extended: Project) -> None:
    step = layout.GRPO.of(experiment="within-10", seed=1)
    stock = plain.PlainTransformer()
    stock.load_state_dict(torch.load(extended.path / step["policy"], weights_only=True))
    prompts = pd.read_csv(extended.path / step["prompts"])
    assert list(prompts) == ["a", "b", "solved", "probability"]
    a, b = (torch.tensor(prompts[name].to_list()) for name in ("a", "b"))
    assert a.equal(torch.arange(10_000) // 100) and b.equal(torch.arange(10_000) % 100)
    with torch.no_grad():
        log_probs = plain.completion_log_probs(
            stock, plain.encode_prompts(a, b), plain.encode_answers(a + b)
        )
    probability = torch.tensor(prompts.probability.to_list(), dtype=torch.float64)
    torch.testing.assert_close(log_probs.exp().double(), probability, rtol=1e-4, atol=1e-7)


def test_one_manifest_lists_what_was_asked(extended: Project) -> None:
    manifest = json.loads((extended.path / layout.MANIFEST["manifest"]).read_text())
    listed = set(manifest["sha256"])
    assert {"results/figures/fig5_pass_at_k.pdf", "results/reward/q0.3/seed1.pt"} <= listed
    assert "results/figures/fig1_rlvr_overturns.pdf" not in listed
    assert manifest["study"]["questions"] == SMALL["questions"]


def test_the_report_shows_them(extended: Project) -> None:
    done = extended.snakemake(OVERLAY, "--report", "report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    report = (extended.path / "report.html").read_text(encoding="utf-8")
    for name in SMALL["questions"][:-1]:
        assert f"results/figures/{name}.pdf" in report
    assert "fig1_rlvr_overturns.pdf" not in report


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            setting(OVERLAY, "experiments/beta-010/iterations", 7),
            {"grpo beta-010 1", "question fig10_anchor"} | EXPLORE,
        ),
        (
            setting(OVERLAY, "reward_model/steps", 9),
            {
                "Reward model of seed 1 on a teacher that is right with probability 0.3",
                *("grpo learned 1", "grpo learned-anchored 1"),
                "question fig6_reward_is_the_objective",
            }
            | EXPLORE,
        ),
        (
            replace("workflow/questions/fig10_anchor.py", "CHEAP = 0.98", "CHEAP = 0.97"),
            {"question fig10_anchor"},
        ),
    ],
)
def test_exactly_what_depends_on_a_change_reruns(
    edit: Edit, expected: set[str], extended: Project, tmp_path: Path
) -> None:
    project = extended.copy(tmp_path / "project")
    edit(project.path)
    assert planned(project, overlay=(OVERLAY,)) == expected | COLLECTED


def test_they_are_no_part_of_the_chapters_study(finished: Project) -> None:
    assert not list((finished.path / "results/figures").glob("fig[4-9]*"))


ELEVENTH = '''"""Does a larger step learn faster?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.colours import BLUE
from workflow.lib.drawing.curves import plot_band
from workflow.lib.drawing.look import SINGLE, add_legend, new_figure
from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Experiments, Measure, Question, Within, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from snakemake.iocontainers import snakemake


def draw(runs: Experiments) -> "Figure":
    figure, [axes] = new_figure(SINGLE, QUESTION.title, [runs["brisk"].metrics])
    plot_band(axes, runs["brisk"].metrics, "kl", BLUE, "brisk")
    add_legend(figure, runs["brisk"].metrics)
    return figure


QUESTION = Question(
    title="Does a larger step learn faster?",
    experiments={"brisk": {"teacher_correctness": 0.3, "learning_rate": 0.0003, "iterations": 4}},
    draw=draw,
    claims=[
        measured(
            "brisk",
            "The KL rises",
            "expectation",
            [Measure("final KL", lambda runs: runs["brisk"].last("kl"), Within(low=-1.0))],
        )
    ],
    caption="What an eleventh question sees.",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
'''


def test_an_eleventh_question_is_one_new_file(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    (project.path / "workflow/questions/fig11_brisk.py").write_text(ELEVENTH)
    assert planned(project) == set(), "nobody has asked it yet"
    # As in its declaration, but for what the small study sets: so that its claim applies.
    (project.path / "mine.yaml").write_text("questions: [fig1_rlvr_overturns, fig11_brisk]")
    overlay = ("mine.yaml",)
    new = {"grpo brisk 1", "grpo brisk 2", "question fig11_brisk"}
    assert planned(project, overlay=overlay) == new | EXPLORE | COLLECTED
    done = project.snakemake(*overlay, "--report", "report.html", "--report-after-run")
    assert done.returncode == 0, done.stdout + done.stderr
    results = project.path / "results"
    assert (results / "figures/fig11_brisk.pdf").read_bytes().startswith(b"%PDF")
    [row] = [row for row in claims_in(project) if row["question"] == "fig11_brisk"]
    assert (row["statement"], row["rule"]) == ("The KL rises", "Each seed: final KL at least -1")
    report = (project.path / "report.html").read_text(encoding="utf-8")
    assert "fig11_brisk.pdf" in report and "What an eleventh question sees." in report
    assert f"The KL rises. <em>{row['verdict'].capitalize()}</em>: {row['observed']}" in report
    explore = (results / "explore.html").read_text(encoding="utf-8")
    assert 'name="experiment" value="brisk"' in explore


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
