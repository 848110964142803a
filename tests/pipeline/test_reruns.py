"""What a change reruns: the exact set of jobs, on a study that has really run.

One table: an edit, and the jobs that depend on it. The plan comes from a dry run, and one test
lets it happen.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.pipeline.conftest import Project

SEEDS = (1, 2)
SMOKE = "smoke.yaml"
SFT = {f"sft q{q} {seed}" for q in ("0.3", "0") for seed in SEEDS}
GRPO = {f"grpo {name} {seed}" for name in ("weak", "long", "cold") for seed in SEEDS}
EXPLORE = {"explore"}
FIGURES = {"figure 1", "figure 2", "figure 3"} | EXPLORE
"""What draws curves."""
CLAIMS = {"claims"}
MANIFEST = {"manifest", "report"}
"""What tells of all results runs after any of them."""
NOTHING: set[str] = set()

Edit = Callable[[Path], None]


def replace(file: str, old: str, new: str) -> Edit:
    """An edit of one file's text."""

    def edit(root: Path) -> None:
        text = (root / file).read_text()
        assert old in text, f"{file} no longer holds {old!r}"
        (root / file).write_text(text.replace(old, new))

    return edit


def setting(file: str, path: str, value: object) -> Edit:
    """An edit of one key of a configuration file."""

    def edit(root: Path) -> None:
        study = yaml.safe_load((root / file).read_text())
        *sections, key = path.split("/")
        section = study
        for name in sections:
            section = section.setdefault(name, {})
        section[key] = value
        (root / file).write_text(yaml.safe_dump(study))

    return edit


def comment_everything(root: Path) -> None:
    """New comments, docstrings and blank lines in every module, script and rule."""
    for file in root.glob("workflow/**/*.py"):
        text = file.read_text()
        if text.startswith('"""'):
            text = text.replace('"""', '"""Said otherwise. ', 1)
        text = re.sub(r"\n\ndef ", "\n\n# A remark.\n\ndef ", text)
        file.write_text(text + "\n# The end.\n")
    for file in [root / "Snakefile", *root.glob("workflow/rules/*.smk")]:
        file.write_text(file.read_text() + "\n# The end.\n")


def touch_everything(root: Path) -> None:
    for file in root.rglob("*"):
        if ".snakemake" not in file.parts:
            file.touch()


def clone(root: Path) -> None:
    """All files anew, with whatever modification times that brings, in an unlucky order."""
    for file in sorted(root.rglob("*"), reverse=True):
        if file.is_file():
            beside = file.with_name(file.name + ".copy")
            shutil.copyfile(file, beside)
            beside.replace(file)


CASES: dict[str, tuple[Edit, set[str]]] = {
    "nothing": (lambda root: None, NOTHING),
    "the look of the figures": (
        replace(
            "workflow/lib/drawing/figures.py", '"lines.linewidth": 1.8', '"lines.linewidth": 1.9'
        ),
        FIGURES,
    ),
    "one figure's script": (
        replace(
            "workflow/scripts/plot_fig2.py",
            "def main() -> None:",
            "def main() -> None:\n    print()",
        ),
        {"figure 2"},
    ),
    "a rule of the claims": (
        replace("workflow/lib/study/claims.py", "def _each(", "UNUSED = 1\n\n\ndef _each("),
        CLAIMS,
    ),
    "the GRPO update": (
        replace(
            "workflow/lib/training/grpo.py", "advantages + epsilon", "advantages + 2 * epsilon"
        ),
        GRPO | FIGURES | CLAIMS,
    ),
    "the SFT loop": (
        replace(
            "workflow/lib/training/sft.py", "range(1, settings.steps + 1)", "range(settings.steps)"
        ),
        SFT | GRPO | FIGURES | CLAIMS,
    ),
    "the model": (
        replace("workflow/lib/model/transformer.py", "WIDTH = 64", "WIDTH = 32"),
        SFT | GRPO | FIGURES | CLAIMS,
    ),
    "what the configuration may hold": (
        replace(
            "workflow/lib/study/configuration.py",
            "class ConfigError",
            "UNUSED = 1\n\n\nclass ConfigError",
        ),
        NOTHING,
    ),
    "comments, docstrings and blank lines everywhere": (comment_everything, NOTHING),
    "touch of everything": (touch_everything, NOTHING),
    "a fresh clone": (clone, NOTHING),
    "one more seed": (
        setting(SMOKE, "seeds", [1, 2, 3]),
        {"sft q0.3 3", "sft q0 3", "grpo weak 3", "grpo long 3", "grpo cold 3"} | FIGURES | CLAIMS,
    ),
    "one experiment's iterations": (
        setting(SMOKE, "experiments/long/iterations", 9),
        {"grpo long 1", "grpo long 2", "figure 2"} | EXPLORE | CLAIMS,
    ),
    "an experiment of one's own": (
        setting(SMOKE, "experiments/mine", {"teacher_correctness": 0.1}),
        {"sft q0.1 1", "sft q0.1 2", "grpo mine 1", "grpo mine 2"} | EXPLORE,
    ),
    "a figure of one's own": (
        setting(SMOKE, "curves/mine", {"metrics": ["kl"], "experiments": ["weak", "long"]}),
        {"The figure mine"},
    ),
    "a setting of the extensions": (setting(SMOKE, "extensions/reward_model/steps", 9), NOTHING),
    "a rule of the findings": (
        replace("workflow/lib/study/findings.py", "def _mean(", "UNUSED = 1\n\n\ndef _mean("),
        NOTHING,
    ),
    "the final policy too": (
        setting(SMOKE, "experiments/long/save_policy", True),
        {"grpo long 1", "grpo long 2", "figure 2"} | EXPLORE | CLAIMS,
    ),
    "GRPO's learning rate": (setting(SMOKE, "grpo/learning_rate", 0.001), GRPO | FIGURES | CLAIMS),
    "GRPO's learning rate, written otherwise": (
        setting(SMOKE, "grpo/learning_rate", 1e-4),
        NOTHING,
    ),
    "SFT's learning rate": (
        setting(SMOKE, "sft/learning_rate", 0.001),
        SFT | GRPO | FIGURES | CLAIMS,
    ),
    "evaluation": (setting(SMOKE, "evaluation/num_prompts", 256), SFT | GRPO | FIGURES | CLAIMS),
    "another device": (setting(SMOKE, "device", "auto"), NOTHING),
    "one figure less": (setting(SMOKE, "figures", ["fig1_rlvr_overturns"]), MANIFEST),
}


def planned(
    project: Project, *targets: str, overlay: tuple[str, ...] = (), **options: object
) -> set[str]:
    """The jobs of a dry run, by short names; `overlay` names further configuration files."""
    done = project.snakemake(*overlay, "--dry-run", "--", *targets, **options)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stdout + done.stderr
    return jobs_in(done.stdout + done.stderr)


def jobs_in(output: str) -> set[str]:
    """The jobs that Snakemake announces, by short names."""
    jobs = set()
    for message in re.findall(r"^Job \d+: (.*)$", output, flags=re.MULTILINE):
        if match := re.match(r"SFT of seed (\d+) .* probability (\S+)$", message):
            jobs.add(f"sft q{match[2]} {match[1]}")
        elif match := re.match(r"GRPO of seed (\d+), experiment (\S+)$", message):
            jobs.add(f"grpo {match[2]} {match[1]}")
        elif match := re.match(r"Figure (\d+)", message):
            jobs.add(f"figure {match[1]}")
        elif message == "The manifest of the extensions' results":
            jobs.add("manifest of the extensions")
        elif message.startswith("The manifest"):
            jobs.add("manifest")
        elif message.startswith("Every curve"):
            jobs.add("explore")
        elif message.startswith("The pages of the report"):
            jobs.add("report")
        elif message.startswith("What the chapter claims"):
            jobs.add("claims")
        elif not message.startswith("All results are there"):
            jobs.add(message)
    return jobs


@pytest.mark.parametrize("case", CASES)
def test_exactly_what_depends_on_a_change_reruns(
    case: str, finished: Project, tmp_path: Path
) -> None:
    edit, expected = CASES[case]
    project = finished.copy(tmp_path / "project")
    edit(project.path)
    assert planned(project) == (expected | MANIFEST if expected else NOTHING)


def test_another_number_of_cores_reruns_nothing(finished: Project) -> None:
    assert planned(finished, cores=1) == NOTHING


def test_a_new_torch_reruns_all_training(finished: Project, tmp_path: Path) -> None:
    """A later version, as far as anybody can tell who asks for it."""
    (tmp_path / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '9.9' if name == 'torch' else real(name)\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert planned(finished, env={"PYTHONPATH": path}) == SFT | GRPO | FIGURES | CLAIMS | MANIFEST


def test_the_plan_names_the_file_that_changed(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    file = project.path / "workflow/lib/training/grpo.py"
    before = file.stat()
    replace("workflow/lib/training/grpo.py", "advantages + epsilon", "advantages + 2 * epsilon")(
        project.path
    )
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = project.snakemake("--dry-run")
    reasons = [
        line for line in done.stdout.splitlines() if "workflow/lib/training/grpo.py@" in line
    ]
    assert len(reasons) == len(GRPO)
    assert "workflow/lib/training/sft.py@" not in "".join(reasons)


def test_the_plan_is_what_happens(finished: Project, tmp_path: Path) -> None:
    """One experiment's setting: its jobs run, the others' results stay the same files."""
    project = finished.copy(tmp_path / "project")
    before = project.results()
    setting(SMOKE, "experiments/long/iterations", 9)(project.path)
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    assert jobs_in(done.stdout + done.stderr) == {
        "grpo long 1",
        "grpo long 2",
        "figure 2",
        "explore",
        "claims",
        *MANIFEST,
    }
    after = project.results()
    changed = {path for path in after if after[path] != before[path]}
    assert changed == {
        "grpo/long/seed1.csv",
        "grpo/long/seed2.csv",
        "figures/fig2_unhackable_reward.pdf",
        "explore.html",
    }
    assert planned(project) == NOTHING
