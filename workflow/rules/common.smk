# What the rules share: the questions, the validated study, and what both make of the rules.

import math
import re
import sys
from importlib import import_module
from pathlib import Path

try:
    from workflow.lib.jobs.code import hiding_package, version
    from workflow.lib.jobs.files import ROOT
    from workflow.lib.study import configuration, layout
    from workflow.lib.study.config_files import refuse_misread
    from workflow.lib.training.device import uses_gpu

    for package in ("matplotlib", "numpy", "pandas", "plotly", "torch"):
        version(package)
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is not installed for {sys.executable}: `make` installs all that is needed "
        "into .venv, `pip install -r requirements.lock` installs it where you are."
    )


if hidden := hiding_package():
    raise SystemExit(
        f"{hidden} has another package called 'workflow', which jobs would find instead of the "
        "study's: take that folder off PYTHONPATH, or uninstall the package."
    )


def number_of(question):
    """The number of a question's figure, with which its file's name begins; ∞ if it has none."""
    match = re.match(r"fig(\d+)_", question)
    return int(match[1]) if match else math.inf


def read_questions():
    """Every question there is, by its file's name: those with a figure first, in its order."""
    files = ROOT.glob("workflow/questions/[a-z]*.py")
    names = sorted(
        (file.stem for file in files), key=lambda name: (number_of(name), name)
    )
    return {
        name: import_module(f"workflow.questions.{name}").QUESTION for name in names
    }


def gpus_per_job():
    """How many GPUs a training job asks for: one where it will use one, as this machine can tell.

    Not where `set-resources` says it, as for a cluster, whose jobs run on other machines. A rule of
    which it says nothing asks for as many as those of which it does.
    """
    asked = [
        resources["gpu"].value
        for resources in workflow.resource_settings.overwrite_resources.values()
        if "gpu" in resources
    ]
    if study.device == "cuda" and 0 in asked:
        raise ValueError(
            "device: 'cuda' was asked for, but `set-resources` gives training no GPU: "
            "set gpu to 1 there (on a cluster, in profiles/slurm/config.yaml), or take 'auto'."
        )
    return max(asked) if asked else int(uses_gpu(study.device))


QUESTIONS = read_questions()
try:
    for file in workflow.configfiles:
        refuse_misread(file)
    study = configuration.read_study(config, QUESTIONS)
    EXPERIMENTS = configuration.running(study, QUESTIONS)
    if not EXPERIMENTS:
        raise ValueError(
            "questions: none is asked, and 'experiments' has none of your own: nothing to run."
        )
    GPUS_PER_JOB = gpus_per_job()
except ValueError as error:
    raise SystemExit(f"Configuration: {error}")

PREFIX = workflow.modifier.path_modifier.prefix or ""
"""What a workflow that uses this one as a module puts before its paths."""

# Jobs read it there: where they compute is no param, since it is to decide no result.
config["device"] = study.device
CHAPTER = configuration.read_study({}, QUESTIONS)
POSSIBLE = [
    name for name in QUESTIONS if study.experiments.keys() >= {*QUESTIONS[name].names}
]
"""The questions whose experiments the study has; another's figure is made by no rule."""


wildcard_constraints:
    seed=r"\d+",
    q=r"0|1|0\.\d*[1-9]|[1-9](\.\d*[1-9])?e-\d+",
    curves="|".join(study.curves) or "(?!)",


def step_of(question):
    """Where the results of a question lie."""
    drawn = QUESTIONS[question].draw is not None
    return (layout.DRAWN_QUESTION if drawn else layout.QUESTION).of(question=question)


def question_outputs(question):
    """The results of a question, and how the report shows its figure."""
    step = step_of(question)
    outputs = {what: step[what] for what in step.files}
    if QUESTIONS[question].draw:
        outputs["figure"] = in_report(
            outputs["figure"],
            "Figures",
            caption=step["caption"],
            labels={
                "figure": f"{number_of(question):2}",
                "shows": QUESTIONS[question].title,
            },
        )
    return {**outputs, "record": step.record}


def rule_of(question):
    """The name of a question's rule: plot_fig8, or check_cost, which has no figure."""
    number = number_of(question)
    return f"check_{question}" if math.isinf(number) else f"plot_fig{number}"


TRAINING = layout.training(study, EXPERIMENTS)
ASKED = [step_of(name) for name in study.questions]
OWN_FIGURES = [layout.CURVES.of(curves=name) for name in study.curves]
STEPS = [*TRAINING, *ASKED, *OWN_FIGURES, layout.EXPLORE, layout.CLAIMS]
"""What the study makes, but for what describes all of it."""
EVERYTHING = [*STEPS, layout.MANIFEST, layout.REPORT]


def in_report(file, category, subcategory=None, caption=None, labels=None):
    """A result that the report shows; `caption` is a path beside the rules, or a result's."""

    def checked_category(wildcards):
        # Snakemake asks for a category only while it makes a report.
        refuse_stale_results()
        return category

    if caption.startswith(layout.RESULTS):
        caption = str(Path(PREFIX + caption).absolute())
    return report(
        file,
        category=checked_category,
        subcategory=subcategory,
        caption=caption,
        labels=labels,
    )
