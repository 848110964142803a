# What the rules share: the validated study, and where its results lie.

import csv
from dataclasses import asdict
from pathlib import Path

import yaml

from workflow.lib.hardware import uses_gpu
from workflow.lib.provenance import code_of, keep_sources, software
from workflow.lib.study import CHAPTER_EXPERIMENTS, deviations, format_q, read_study

SCHEMA = Path(workflow.basedir) / "workflow/schemas/config.schema.yaml"

try:
    study = read_study(config, yaml.safe_load(SCHEMA.read_text(encoding="utf-8")))
    GPUS_PER_JOB = int(uses_gpu(study.device))
except ValueError as error:
    raise SystemExit(f"Configuration: {error}")


wildcard_constraints:
    seed=r"\d+",
    q=r"0|1|0\.\d*[1-9]|[1-9](\.\d*[1-9])?e-\d+",
    experiment="|".join(study.experiments),


def checkpoint_of(experiment, seed):
    """The SFT checkpoint that a GRPO run starts from."""
    q = format_q(study.experiments[experiment].teacher_correctness)
    return f"results/sft/q{q}/seed{seed}.pt"


def sft_metrics(experiment):
    """The SFT metrics of what an experiment starts from, of every seed."""
    q = format_q(study.experiments[experiment].teacher_correctness)
    return [f"results/sft/q{q}/seed{seed}.csv" for seed in study.seeds]


def sft_prompts(experiment):
    """What those SFT models make of every prompt there is."""
    q = format_q(study.experiments[experiment].teacher_correctness)
    return [f"results/sft/q{q}/prompts/seed{seed}.csv" for seed in study.seeds]


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


def study_results():
    """Every result of the study, but for what tells of the others."""
    names = list(study.experiments)
    return [
        *sorted({checkpoint_of(name, seed) for name in names for seed in study.seeds}),
        *sorted(
            {file for name in names for file in sft_metrics(name) + sft_prompts(name)}
        ),
        *[file for name in names for file in grpo_metrics(name)],
        *[f"results/figures/{figure}.pdf" for figure in study.figures],
        "results/claims.csv",
    ]


def study_records():
    """What made each of them."""
    checkpoints = [file for file in study_results() if file.endswith(".pt")]
    others = [file for file in study_results() if not file.startswith("results/sft/")]
    return [
        str(Path("results/records", *Path(file).parts[1:]).with_suffix(".json"))
        for file in checkpoints + others
    ]


def print_verdicts():
    """The verdicts on the claims, one a line."""
    table = Path("results/claims.csv")
    if table.exists():
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                print(f"{row['verdict']:>14}: {row['statement']} ({row['observed']})")
