# What the rules share: the validated study, and where its results lie.

import csv
import re
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

try:
    import yaml

    from workflow.lib.study.config_files import refuse_repeated_keys
    from workflow.lib.jobs.files import UnwritableFileError, forget_future_times, rebuild
    from workflow.lib.jobs.fingerprint import digest
    from workflow.lib.training.device import uses_gpu
    from workflow.lib.jobs.provenance import code_of, keep_sources, software
    from workflow.lib.study.questions import QUESTIONS
    from workflow.lib.jobs.records import damaged, record_of
    from workflow.lib.study.configuration import (
        CHAPTER_EXPERIMENTS,
        FIGURE_EXPERIMENTS,
        deviations,
        format_q,
        read_study,
    )
    from workflow.lib.report.summary import summary

    software("matplotlib", "numpy", "pandas", "plotly", "torch")
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is not installed for {sys.executable}: `make` installs all that is needed "
        "into .venv, `pip install -r requirements.lock` installs it where you are."
    )

PASS_AT_K = "fig5_pass_at_k"
"""The extensions' figure that draws samples of final policies, and not metrics."""

FRONT_PAGE = "results/report/workflow.rst"
SCHEMA = Path(workflow.basedir) / "workflow/schemas/config.schema.yaml"


def gpus_per_job():
    """How many GPUs a training job asks for: one where it will use one, as this machine can tell.

    Not where `set-resources` says it, as for a cluster, whose jobs run on other machines. A rule of
    which it says nothing asks for as many as those of which it does.
    """
    told = [
        asked["gpu"].value
        for asked in workflow.resource_settings.overwrite_resources.values()
        if "gpu" in asked
    ]
    if study.device == "cuda" and 0 in told:
        raise ValueError(
            "device: 'cuda' was asked for, but `set-resources` gives training no GPU: "
            "set gpu to 1 there (on a cluster, in profiles/slurm/config.yaml), or take 'auto'."
        )
    return max(told) if told else int(uses_gpu(study.device))


try:
    for file in workflow.configfiles:
        refuse_repeated_keys(file)
    schema = yaml.load(SCHEMA.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    study = read_study(config, schema)
    GPUS_PER_JOB = gpus_per_job()
except ValueError as error:
    raise SystemExit(f"Configuration: {error}")


def one_of(words):
    """A pattern for a wildcard that is one of these words; nothing, if there are none."""
    return "|".join(words) or "(?!)"


def experiments_that(keep_policy):
    """Those whose final policy is kept, or those whose is not."""
    every = {**study.experiments, **study.extensions.experiments}
    return one_of(
        name
        for name, experiment in every.items()
        if experiment.save_policy == keep_policy
    )


wildcard_constraints:
    seed=r"\d+",
    q=r"0|1|0\.\d*[1-9]|[1-9](\.\d*[1-9])?e-\d+",
    curves=one_of(study.curves),
    extension=one_of(name for name in study.extensions.figures if name != PASS_AT_K),


def q_of(experiment):
    """The teacher correctness of what an experiment starts from, as paths spell it."""
    return format_q(study.experiment(experiment).teacher_correctness)


def checkpoint_of(experiment, seed):
    """The SFT checkpoint that a GRPO run starts from."""
    return f"results/sft/q{q_of(experiment)}/seed{seed}.pt"


def reward_model_of(experiment, seed):
    """The reward model that a GRPO run needs, if it needs one."""
    if study.experiment(experiment).grpo.reward != "learned":
        return []
    return f"results/reward/q{q_of(experiment)}/seed{seed}.pt"


def sft_metrics(experiment):
    """The SFT metrics of what an experiment starts from, of every seed."""
    return [f"results/sft/q{q_of(experiment)}/seed{seed}.csv" for seed in study.seeds]


def sft_prompts(experiment):
    """What those SFT models make of every prompt there is."""
    return [
        f"results/sft/q{q_of(experiment)}/prompts/seed{seed}.csv"
        for seed in study.seeds
    ]


def grpo_metrics(experiment):
    """The GRPO metrics of an experiment, of every seed."""
    return [f"results/grpo/{experiment}/seed{seed}.csv" for seed in study.seeds]


def training_benchmarks(seed):
    """How long a seed's training jobs of the chapter took. No inputs: losing one retrains nothing."""
    names = [name for name in CHAPTER_EXPERIMENTS if name in study.experiments]
    checkpoints = {checkpoint_of(name, seed) for name in names}
    metrics = {f"results/grpo/{name}/seed{seed}.csv" for name in names}
    return [
        str(Path("results/benchmarks", *Path(file).parts[1:]).with_suffix(".tsv"))
        for file in sorted(checkpoints | metrics)
    ]


def claim_inputs():
    """What the claims look at, as far as the study has it."""
    inputs = {}
    for experiment in CHAPTER_EXPERIMENTS:
        if experiment in study.experiments:
            inputs[f"sft_{experiment}"] = sft_metrics(experiment)
            inputs[f"prompts_{experiment}"] = sft_prompts(experiment)
            inputs[f"grpo_{experiment}"] = grpo_metrics(experiment)
    return inputs


def figure_settings(figure):
    """The settings of all that one of the chapter's figures shows."""
    return settings_of(
        [name for name in FIGURE_EXPERIMENTS[figure] if name in study.experiments]
    )


def settings_of(names):
    """All settings that some experiments depend on."""
    return {
        "seeds": study.seeds,
        "sft": asdict(study.sft),
        "eval_prompts": study.eval_prompts,
        **{name: asdict(study.experiment(name)) for name in names},
    }


def answers_of(experiment, seed):
    """What the SFT model and the final policy of an experiment that keeps it answer."""
    return f"results/grpo/{experiment}/answers/seed{seed}.csv"


def answering_experiments():
    """The study's experiments that keep their final policy."""
    return [name for name in study.experiments if study.experiment(name).save_policy]


def study_settings(names):
    """All settings that decide the results of some experiments, and what is drawn of them."""
    settings = asdict(study)
    del settings["device"], settings["extensions"]
    experiments = {name: asdict(study.experiment(name)) for name in names}
    return {**settings, "experiments": experiments}


def training_results(names):
    """All that training leaves behind, of experiments and of what they start from."""
    return [
        *sorted({checkpoint_of(name, seed) for name in names for seed in study.seeds}),
        *sorted(
            {file for name in names for file in sft_metrics(name) + sft_prompts(name)}
        ),
        *[file for name in names for file in grpo_metrics(name)],
        *[
            file
            for name in names
            if study.experiment(name).save_policy
            for seed in study.seeds
            for file in (f"results/grpo/{name}/seed{seed}.pt", answers_of(name, seed))
        ],
        *sorted({file for name in names for file in reward_models(name)}),
    ]


def study_experiments():
    """The experiments that the study runs: its own, and what else its curves draw."""
    drawn = [name for figure in study.curves.values() for name in figure.experiments]
    return list(dict.fromkeys([*study.experiments, *drawn]))


def study_results():
    """Every result of the study, but for what tells of the others."""
    return [
        *training_results(study_experiments()),
        *[
            f"results/figures/{figure}.pdf"
            for figure in [*study.figures, *study.curves]
        ],
        "results/explore.html",
        "results/claims.csv",
    ]


def records_of(results):
    """What made each of them."""
    return list(dict.fromkeys(str(record_of(file)) for file in results))


def study_records():
    """What made each of the study's results."""
    return records_of(study_results())


def extension_experiments():
    """The experiments that the extensions' figures draw."""
    drawn = [name for names in study.extensions.figures.values() for name in names]
    return list(dict.fromkeys(drawn))


def extension_results():
    """Every result of the extensions, but for what tells of the others."""
    names = extension_experiments()
    return [
        *training_results(names),
        *pass_at_k_tables(),
        *[f"results/figures/{figure}.pdf" for figure in study.extensions.figures],
        "results/extensions/explore.html",
        "results/extensions/findings.csv",
    ]


def reward_models(experiment):
    """The reward models of an experiment and their metrics, of every seed, if it has them."""
    if study.experiment(experiment).grpo.reward != "learned":
        return []
    models = [reward_model_of(experiment, seed) for seed in study.seeds]
    return [
        file for model in models for file in (model, f"{model.removesuffix('.pt')}.csv")
    ]


def pass_at_k_tables():
    """The pass@k of the experiments whose figure draws it, of every seed."""
    return [
        f"results/pass_at_k/{experiment}/seed{seed}.csv"
        for experiment in study.extensions.figures.get(PASS_AT_K, [])
        for seed in study.seeds
    ]


def metrics_drawn_in(figure):
    """The metrics of all experiments that an extension's figure draws."""
    return [
        file for name in study.extensions.figures[figure] for file in grpo_metrics(name)
    ]


def prompts_behind(figure):
    """What the models that they start from make of every prompt."""
    return [
        file for name in study.extensions.figures[figure] for file in sft_prompts(name)
    ]


def findings_inputs(wildcards):
    """What the findings look at."""
    names = extension_experiments()
    models = sorted({file for name in names for file in reward_models(name)})
    return {
        "metrics": [file for name in names for file in grpo_metrics(name)],
        "prompts": [file for name in names for file in sft_prompts(name)],
        "reward_models": [file for file in models if file.endswith(".csv")],
        "pass_at_k": pass_at_k_tables(),
    }


def explore_inputs(names):
    """The metrics of experiments: first, and so blue and red, those of figure 3."""
    names = [
        *[name for name in ("weak", "cold") if name in names],
        *sorted(set(names) - {"weak", "cold"}),
    ]
    return {f"grpo_{name}": grpo_metrics(name) for name in names}


def report_inputs():
    """The metrics that the figures' captions quote, and the answers."""
    drawn = {name for figure in study.figures for name in FIGURE_EXPERIMENTS[figure]}
    return {
        **{
            f"answers_{name}": [answers_of(name, seed) for seed in study.seeds]
            for name in answering_experiments()
        },
        **{f"grpo_{name}": grpo_metrics(name) for name in sorted(drawn)},
        **{f"sft_{name}": sft_metrics(name) for name in sorted(drawn)},
    }


def report_pages():
    """The pages and captions that the report is made of."""
    return [
        FRONT_PAGE,
        "results/report/claims.html",
        "results/report/provenance.html",
        "results/report/answers.html",
        *[caption_of(figure) for figure in study.figures],
    ]


EXTENSION_CAPTIONS = "results/report/extensions/captions.rst"
"""The captions of the extensions' figures, one for each; each figure shows its own."""


def extension_pages():
    """The extensions' pages and captions."""
    return [
        "results/report/extensions/findings.html",
        "results/report/extensions/provenance.html",
        EXTENSION_CAPTIONS,
    ]


def report_template(name):
    """`file@fingerprint` of a text of the report, since it is read when a page is made."""
    file = Path("workflow/report") / name
    text = (Path(workflow.basedir) / file).read_text(encoding="utf-8")
    return f"{file}@{digest(text)}"


def report_templates():
    """The same of all of them."""
    folder = Path(workflow.basedir) / "workflow/report"
    return [report_template(file.name) for file in sorted(folder.iterdir())]


def caption_of(figure):
    """The caption of a figure, as the rule `report_pages` makes it."""
    return f"results/report/{figure}.rst"


def in_report(file, category, subcategory=None, caption=None, labels=None):
    """A result that the report shows; `caption` is a path beside the rules, or an absolute one."""

    def checked_category(wildcards):
        # Snakemake asks for a category only while it makes a report.
        refuse_stale_results()
        return category

    return report(
        file,
        category=checked_category,
        subcategory=subcategory,
        caption=caption,
        labels=labels,
    )


def figure_in_report(figure, number, shows):
    """A figure with its caption."""
    return in_report(
        f"results/figures/{figure}.pdf",
        "Figures",
        caption=str(Path(caption_of(figure)).absolute()),
        labels={"figure": number, "shows": shows},
    )


def extension_in_report(figure):
    """A figure of the extensions with its caption; `figure` may be the wildcard."""

    def labels(wildcards):
        name = figure.format(**wildcards)
        number = re.match(r"fig(\d+)_", name)[1]
        return {"figure": number.rjust(2), "question": QUESTIONS[name]}

    return in_report(
        f"results/figures/{figure}.pdf",
        "Extensions",
        caption=str(Path(EXTENSION_CAPTIONS).absolute()),
        labels=labels,
    )


def refuse_undrawable_figures():
    """End where a figure was asked for whose experiments the study lacks."""
    for figure, names in FIGURE_EXPERIMENTS.items():
        missing = [name for name in names if name not in study.experiments]
        if missing and any(word.endswith(f"{figure}.pdf") for word in sys.argv):
            raise SystemExit(
                f"Configuration: {figure} draws the experiment '{missing[0]}', which "
                "'experiments' lacks: add it there."
            )


def refuse_damaged_results():
    """End where a result is not as its job wrote it: it would be taken for up to date."""
    if not workflow.is_main_process or {"--unlock", "--lint"} & set(sys.argv):
        return
    faults = dict(damaged(sorted(Path("results/records").rglob("*.json"))))
    if faults:
        named = [f"{file} {fault}" for file, fault in faults.items()]
        more = [f"and {len(named) - 6} more"] if len(named) > 6 else []
        raise SystemExit(f"Damaged: {', '.join(named[:6] + more)}. {rebuild(*faults)}")


def prepare_results():
    """What is done once, before the first job."""
    try:
        forget_future_times(Path("results"))
        keep_sources(Path("results/records/code"))
    except OSError as error:
        raise SystemExit(f"{UnwritableFileError(error.filename, error)}")
    except UnwritableFileError as error:
        raise SystemExit(f"{error}")


def refuse_missing_results():
    """End a report that was asked for before the results are there."""
    asked = any(word.split("=")[0] == "--report" for word in sys.argv)
    wanted = [*study_results(), "results/manifest.json", *report_pages()]
    missing = [file for file in wanted if not Path(file).exists()]
    if asked and "--report-after-run" not in sys.argv and missing:
        refuse_report("do not exist yet", missing)


def refuse_stale_results():
    """End a report whose results are not what the code and the settings would make now."""
    stale = [file for job in workflow.dag.needrun_jobs() for file in job.output]
    if stale:
        refuse_report("are not what the code and the settings would make now", stale)


def refuse_report(why, files):
    """End with one message that names results and says what to do."""
    results = [file for file in sorted(files) if "/records/" not in file]
    more = [f"{len(results) - 6} more"] if len(results) > 6 else []
    raise SystemExit(
        f"No report, since these results {why}: {', '.join(results[:6] + more)}. "
        "Give the command without --report first (with --dry-run instead, it tells what it "
        "would do, and why), or let one do both: add --report-after-run."
    )


def study_options():
    """What named the study on the command line: its settings, and where it is."""
    settings = {"--configfile", "--configfiles", "--config", "-C"}
    places = {"--directory", "-d", "--snakefile", "-s"}
    words, kept = [], False
    for word in sys.argv[1:]:
        if word.startswith("-"):
            kept = word.split("=")[0] in settings | places
        if kept:
            words.append(word)
    return shlex.join(words)


def print_summary():
    """What came out, where this run was for all of it."""
    target = {job.rule.name for job in workflow.dag.jobs} & {"all", "extensions"}
    if target:
        with Path("results/claims.csv").open(encoding="utf-8", newline="") as file:
            claims = list(csv.DictReader(file))
        print(summary(claims, "extensions" in target, study_options()))
