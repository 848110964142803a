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
FIGURES = {
    f"question {name}"
    for name in ("fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start")
}
CHECKS = {"question cost", "question predictions"}
"""The questions without a figure."""
DESCRIBED = {"manifest", "report"}
"""What describes all results runs after any of them."""
COLLECTED = {"claims"} | DESCRIBED
"""What runs after any question."""
ANSWERS = FIGURES | CHECKS | EXPLORE | COLLECTED
"""What depends on the runs of all experiments."""
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


def swap_settings(root: Path) -> None:
    """8 prompts in minibatches of 16, and then the reverse: the same numbers under other names."""
    setting(SMOKE, "grpo/num_prompts", 16)(root)
    setting(SMOKE, "grpo/minibatch_size", 8)(root)


LONG = {"question fig2_unhackable_reward"} | CHECKS | EXPLORE | COLLECTED
"""What depends on the runs of `long`."""

CASES: dict[str, tuple[Edit, set[str]]] = {
    "nothing": (lambda root: None, NOTHING),
    "the look of the figures": (
        replace("workflow/lib/drawing/look.py", '"lines.linewidth": 1.8', '"lines.linewidth": 1.9'),
        FIGURES | CHECKS | EXPLORE | COLLECTED,
    ),
    "one question's figure": (
        replace("workflow/questions/fig2_unhackable_reward.py", "1.3 * high", "1.4 * high"),
        {"question fig2_unhackable_reward"} | COLLECTED,
    ),
    "one question's bounds": (
        replace("workflow/questions/fig1_rlvr_overturns.py", "low=0.90", "low=0.91"),
        {"question fig1_rlvr_overturns"} | COLLECTED,
    ),
    "a question without a figure": (
        replace("workflow/questions/cost.py", "TOLERANCE = 0.1", "TOLERANCE = 0.2"),
        {"question cost"} | COLLECTED,
    ),
    "a question that is not asked": (
        replace(
            "workflow/questions/fig8_group_size.py", "LEARNED, SOON = 0.9", "LEARNED, SOON = 1"
        ),
        NOTHING,
    ),
    "the GRPO update": (
        replace(
            "workflow/lib/training/grpo.py", "advantages + epsilon", "advantages + 2 * epsilon"
        ),
        GRPO | ANSWERS,
    ),
    "the SFT loop": (
        replace(
            "workflow/lib/training/sft.py", "range(1, settings.steps + 1)", "range(settings.steps)"
        ),
        SFT | GRPO | ANSWERS,
    ),
    "how a CSV's floats are written": (
        replace(
            "workflow/lib/study/tables.py", "rows = list(rows)", "rows = [{**row} for row in rows]"
        ),
        SFT | GRPO | ANSWERS,
    ),
    "the words of an error": (
        replace("workflow/lib/model/checkpoints.py", "is no checkpoint", "is not a checkpoint"),
        NOTHING,
    ),
    "the words of an error of every job": (
        replace("workflow/lib/jobs/files.py", "could not be written", "cannot be written"),
        NOTHING,
    ),
    "a line of a log": (
        replace("workflow/scripts/grpo.py", 'print(f"{run}, seed', 'print(f"The run {run}, seed'),
        NOTHING,
    ),
    "a progress bar": (
        replace("workflow/lib/jobs/progress.py", "s left", "seconds left"),
        NOTHING,
    ),
    "what the configuration may hold": (
        replace("workflow/lib/study/settings.py", "Le(1000)", "Le(2000)"),
        NOTHING,
    ),
    "how the configuration is read": (
        replace("workflow/lib/study/configuration.py", "MAX_DEPTH = 8", "MAX_DEPTH = 9"),
        NOTHING,
    ),
    "comments, docstrings and blank lines everywhere": (comment_everything, NOTHING),
    "touch of everything": (touch_everything, NOTHING),
    "a fresh clone": (clone, NOTHING),
    "one more seed": (
        setting(SMOKE, "seeds", [1, 2, 3]),
        {"sft q0.3 3", "sft q0 3", "grpo weak 3", "grpo long 3", "grpo cold 3"} | ANSWERS,
    ),
    "one experiment's iterations": (
        setting(SMOKE, "experiments/long/iterations", 9),
        {"grpo long 1", "grpo long 2"} | LONG,
    ),
    "an experiment of one's own": (
        setting(SMOKE, "experiments/mine", {"teacher_correctness": 0.1}),
        {"sft q0.1 1", "sft q0.1 2", "grpo mine 1", "grpo mine 2"} | EXPLORE | DESCRIBED,
    ),
    "a figure of one's own": (
        setting(SMOKE, "curves/mine", {"metrics": ["kl"], "experiments": ["weak", "long"]}),
        {"The figure mine"} | DESCRIBED,
    ),
    "a setting that only another question needs": (
        setting(SMOKE, "reward_model/steps", 9),
        NOTHING,
    ),
    "GRPO's learning rate": (setting(SMOKE, "grpo/learning_rate", 0.001), GRPO | ANSWERS),
    "GRPO's learning rate, written otherwise": (
        setting(SMOKE, "grpo/learning_rate", 1e-4),
        NOTHING,
    ),
    "two settings that swap their values": (
        swap_settings,
        GRPO | ANSWERS,
    ),
    "SFT's learning rate": (setting(SMOKE, "sft/learning_rate", 0.001), SFT | GRPO | ANSWERS),
    "evaluation": (setting(SMOKE, "evaluation/num_prompts", 256), SFT | GRPO | ANSWERS),
    "another device": (setting(SMOKE, "device", "auto"), NOTHING),
    "one question less": (
        setting(
            SMOKE,
            "questions",
            ["fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start", "predictions"],
        ),
        COLLECTED,
    ),
}


def planned(
    project: Project, *targets: str, overlay: tuple[str, ...] = (), **options: object
) -> set[str]:
    """The jobs of a dry run, by short names; `overlay` names further configuration files."""
    done = project.snakemake(*overlay, "--dry-run", "--", *targets, **options)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stdout + done.stderr
    return jobs_in(done.stdout + done.stderr)


OTHERS = {
    "The manifest of all results": "manifest",
    "An interactive page of all curves": "explore",
    "The pages of the report": "report",
    "The claims of all questions": "claims",
}


def jobs_in(output: str) -> set[str]:
    """The jobs that Snakemake announces, by short names."""
    jobs = set()
    for message in re.findall(r"^Job \d+: (.*)$", output, flags=re.MULTILINE):
        if match := re.match(r"SFT of seed (\d+) .* probability (\S+)$", message):
            jobs.add(f"sft q{match[2]} {match[1]}")
        elif match := re.match(r"GRPO of seed (\d+), experiment (\S+)$", message):
            jobs.add(f"grpo {match[2]} {match[1]}")
        elif match := re.match(r"The question (\w+): ", message):
            jobs.add(f"question {match[1]}")
        elif message != "Done":
            jobs.add(OTHERS.get(message, message))
    return jobs


@pytest.mark.parametrize("case", CASES)
def test_exactly_what_depends_on_a_change_reruns(
    case: str, finished: Project, tmp_path: Path
) -> None:
    edit, expected = CASES[case]
    project = finished.copy(tmp_path / "project")
    edit(project.path)
    assert planned(project) == expected


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
    assert planned(finished, env={"PYTHONPATH": path}) == SFT | GRPO | ANSWERS


def test_the_plan_names_the_file_that_changed(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    file = project.path / "workflow/lib/training/grpo.py"
    before = file.stat()
    replace("workflow/lib/training/grpo.py", "advantages + epsilon", "advantages + 2 * epsilon")(
        project.path
    )
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = project.snakemake("--dry-run")
    [reasons] = [line for line in done.stderr.splitlines() if line.startswith("Out of date: ")]
    assert reasons.count("workflow/lib/training/grpo.py has changed") == len(GRPO)
    assert "sft" not in reasons


def test_the_plan_is_what_happens(finished: Project, tmp_path: Path) -> None:
    """One experiment's setting: its jobs run, the others' results stay the same files."""
    project = finished.copy(tmp_path / "project")
    before = project.results()
    setting(SMOKE, "experiments/long/iterations", 9)(project.path)
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    assert jobs_in(done.stdout + done.stderr) == {"grpo long 1", "grpo long 2"} | LONG
    after = project.results()
    changed = {path for path in after if after[path] != before[path]}
    assert changed == {
        *(
            f"grpo/long/{kind}seed{seed}.csv"
            for seed in (1, 2)
            for kind in ("", "prompts/", "answers/")
        ),
        *(f"grpo/long/seed{seed}.pt" for seed in (1, 2)),
        "figures/fig2_unhackable_reward.pdf",
        "explore.html",
    }
    assert planned(project) == NOTHING
