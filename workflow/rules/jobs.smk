# What each job reads and what it depends on: by the kinds of `layout`, and for the wildcards of a path.

from dataclasses import asdict

from workflow.lib.jobs.code import code_of, software_of
from workflow.lib.jobs.fingerprint import digest


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


def grpo_inputs(experiment, seed):
    """What a GRPO run starts from."""
    start = layout.sft(study, experiment, seed)
    model = layout.reward_model(study, experiment, seed)
    learned = {"reward_model": model["checkpoint"]} if model else {}
    records = [step.record for step in (start, model) if step]
    return {"checkpoint": start["checkpoint"], **learned, "records": records}


def question_job(question):
    """The settings of a question's job."""
    names = QUESTIONS[question].names
    return job(
        f"questions.{question}",
        question=question,
        difference=configuration.difference(study, CHAPTER, names),
        **settings_behind(names),
    )


def curves_job(curves):
    """The settings of a figure of the configuration's own."""
    drawn = study.curves[curves]
    return job(
        "scripts.plot_curves",
        metrics=drawn.metrics,
        title=drawn.title,
        **settings_behind(drawn.experiments),
    )


def report_texts(*names):
    """`file@fingerprint` of texts that pages of the report are made of."""
    folder = ROOT / "workflow/report"
    return [
        f"{name}@{digest((folder / name).read_text(encoding='utf-8'))}"
        for name in names
    ]


INPUTS = {
    "train_sft": lambda q, seed: {},
    "train_reward": lambda q, seed: {},
    "grpo": grpo_inputs,
    "question": lambda question: layout.files_of_runs(study, QUESTIONS[question].names),
    "plot_curves": lambda curves: layout.files_of_runs(
        study, study.curves[curves].experiments
    ),
    "collect_claims": lambda: {
        "claims": [step["claims"] for step in ASKED],
        "records": [step.record for step in ASKED],
    },
    "explore": lambda: layout.files_of_runs(study, EXPERIMENTS),
    "manifest": lambda: {
        "results": [file for step in STEPS for file in step.results],
        "records": [step.record for step in STEPS],
    },
    "report_pages": lambda: {
        "claims": layout.CLAIMS["table"],
        "manifest": layout.MANIFEST["manifest"],
        "answers": [step["answers"] for step in TRAINING if "answers" in step.files],
        "records": [step.record for step in [*STEPS, layout.MANIFEST]],
    },
}
"""The files that a job reads, and the records of the jobs that made them."""

JOBS = {
    "train_sft": lambda q, seed: job(
        "scripts.train_sft",
        seed=int(seed),
        run=f"sft/q{q}",
        teacher_correctness=float(q),
        sft=asdict(study.sft),
        eval_prompts=study.eval_prompts,
    ),
    "train_reward": lambda q, seed: job(
        "scripts.train_reward",
        seed=int(seed),
        run=f"reward/q{q}",
        teacher_correctness=float(q),
        reward_model=asdict(study.reward_model),
        eval_prompts=study.eval_prompts,
    ),
    "grpo": lambda experiment, seed: job(
        "scripts.grpo",
        seed=int(seed),
        run=f"grpo/{experiment}",
        grpo=asdict(study.experiments[experiment].grpo),
    ),
    "question": question_job,
    "plot_curves": curves_job,
    "collect_claims": lambda: job("scripts.collect_claims", questions=study.questions),
    "explore": lambda: job(
        "scripts.explore",
        texts=report_texts("explore.html"),
        **settings_behind(EXPERIMENTS),
    ),
    "manifest": lambda: job(
        "scripts.manifest",
        questions=study.questions,
        curves={name: asdict(figure) for name, figure in study.curves.items()},
        **settings_behind(EXPERIMENTS),
    ),
    "report_pages": lambda: job(
        "scripts.report_pages",
        seeds=study.seeds,
        correctness={
            name: study.experiments[name].teacher_correctness for name in EXPERIMENTS
        },
        texts=report_texts("page.html", "workflow.rst"),
    ),
}
"""The param of a job."""


def reads(kind, **names):
    """The input function of a rule.

    Whether a job runs again is for the records to say, and not for times: so a file is `ancient`,
    unless the job that makes it runs again.
    """

    def current(paths, outdated):
        if isinstance(paths, str):
            return paths if PREFIX + paths in outdated else ancient(paths)
        return [current(path, outdated) for path in paths]

    def inputs(wildcards):
        outdated = outdated_in(workflow.dag)
        workflow.dag.forcefiles.update(outdated)
        files = INPUTS[kind](**names, **dict(wildcards.items()))
        return {what: current(paths, outdated) for what, paths in files.items()}

    return inputs


def made_by(kind, **names):
    """The param of a rule's job."""
    return lambda wildcards: JOBS[kind](**names, **dict(wildcards.items()))
