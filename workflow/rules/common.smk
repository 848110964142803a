# What the rules share: the questions, the validated study, and what both make of the rules.

import math
import re
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path

try:
    from workflow.lib.jobs.code import code_of, software_of, version
    from workflow.lib.jobs.fingerprint import digest
    from workflow.lib.study import configuration, layout
    from workflow.lib.study.config_files import refuse_repeated_keys
    from workflow.lib.training.device import uses_gpu

    for package in ("matplotlib", "numpy", "pandas", "plotly", "torch"):
        version(package)
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is not installed for {sys.executable}: `make` installs all that is needed "
        "into .venv, `pip install -r requirements.lock` installs it where you are."
    )


def number_of(question):
    """The number of a question's figure, with which its file's name begins; ∞ if it has none."""
    match = re.match(r"fig(\d+)_", question)
    return int(match[1]) if match else math.inf


def read_questions():
    """Every question there is, by its file's name: those with a figure first, in its order."""
    files = Path(workflow.basedir).glob("workflow/questions/[a-z]*.py")
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
        refuse_repeated_keys(file)
    study = configuration.read_study(config, QUESTIONS)
    EXPERIMENTS = configuration.running(study, QUESTIONS)
    if not EXPERIMENTS:
        raise ValueError(
            "questions: none is asked, and 'experiments' has none of your own: nothing to run."
        )
    GPUS_PER_JOB = gpus_per_job()
except ValueError as error:
    raise SystemExit(f"Configuration: {error}")

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


def job(script, **settings):
    """The one param of a job: its settings, the code that it will run, and the software.

    Snakemake compares params without their names, so that two would not be seen to swap places.
    """
    code = f"workflow.{script}"
    return {**settings, "code": code_of(code), "software": software_of(code)}


def settings_behind(names):
    """All settings that the runs of some experiments depend on."""
    experiments = {name: asdict(study.experiments[name]) for name in names}
    learned = any(one["grpo"]["reward"] == "learned" for one in experiments.values())
    return {
        "seeds": study.seeds,
        "sft": asdict(study.sft),
        "eval_prompts": study.eval_prompts,
        **({"reward_model": asdict(study.reward_model)} if learned else {}),
        "experiments": experiments,
    }


def grpo_inputs(wildcards):
    """What a GRPO run starts from."""
    run = study, wildcards.experiment, wildcards.seed
    start, model = layout.sft(*run), layout.reward_model(*run)
    learned = {"reward_model": model["checkpoint"]} if model else {}
    records = [step.record for step in (start, model) if step]
    return {"checkpoint": start["checkpoint"], **learned, "records": records}


def step_of(question):
    """Where the results of a question lie."""
    drawn = QUESTIONS[question].draw is not None
    return (layout.DRAWN_QUESTION if drawn else layout.QUESTION).of(question=question)


def question_inputs(question, wildcards):
    """What the runs of a question's experiments left behind."""
    return layout.files_of_runs(study, QUESTIONS[question].names)


def question_job(question, wildcards):
    """The settings of a question's job."""
    names = QUESTIONS[question].names
    return job(
        f"questions.{question}",
        question=question,
        difference=configuration.difference(study, CHAPTER, names),
        **settings_behind(names),
    )


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
        caption = str(Path(caption).absolute())
    return report(
        file,
        category=checked_category,
        subcategory=subcategory,
        caption=caption,
        labels=labels,
    )


def report_texts(*names):
    """`file@fingerprint` of texts that pages of the report are made of."""
    folder = Path(workflow.basedir) / "workflow/report"
    return [
        f"{name}@{digest((folder / name).read_text(encoding='utf-8'))}"
        for name in names
    ]
