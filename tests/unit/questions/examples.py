"""Made-up runs on which every claim comes out as claimed, for tests to spoil."""

import functools
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.jobs.records import write_record
from workflow.lib.study import layout, theory
from workflow.lib.study.configuration import Study, read_study
from workflow.lib.study.metrics import Row
from workflow.lib.study.question import Question, decided
from workflow.lib.study.runs import Runs
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.task import arithmetic

ROOT = Path(__file__).parents[3]
SEEDS = (42, 43, 44)
QUESTIONS: dict[str, Question] = {
    file.stem: import_module(f"workflow.questions.{file.stem}").QUESTION
    for file in sorted((ROOT / "workflow/questions").glob("[a-z]*.py"))
}
CLAIMS = {claim.name: claim for question in QUESTIONS.values() for claim in question.claims}

CARRY = {0.0: 0.0, 0.001: 0.02, 0.003: 0.3, 0.01: 0.4, 0.03: 0.6, 0.1: 0.95, 0.3: 1.0}
"""Carry accuracy after 300 iterations, by what a run started from."""
ADVANTAGES = ("group", "group_mean", "leave_one_out", "batch", "none")


@functools.cache
def made_by(seconds: float) -> dict[str, Any]:
    """What a record holds besides checksums."""
    return {
        "code": [],
        "software": {},
        "settings": {},
        "machine": {},
        "seconds": seconds,
        "inputs": {},
    }


def prompts(right_on_carries: float) -> pd.DataFrame:
    """A model that is always right without a carry, and with one as often as this says."""
    n = np.arange(10_000)
    a, b = n // 100, n % 100
    carry = arithmetic.has_carry(a, b)
    return pd.DataFrame(
        {
            "a": a.astype(float),
            "b": b.astype(float),
            "solved": np.where(carry, float(right_on_carries >= 0.5), 1.0),
            "probability": np.where(carry, np.clip(right_on_carries, 1e-6, 1 - 1e-4), 1.0),
        }
    )


def final_metrics(q: float, settings: GrpoSettings) -> dict[str, float]:
    """What a run comes to: as in the chapter, or as was expected of it."""
    carry = 0.95 if settings.iterations == 1500 else CARRY[q]
    accuracy = 0.3025 + 0.6975 * carry
    final = {"accuracy_carry": carry, "accuracy": accuracy, "reward": accuracy, "grad_norm": 0.5}
    final |= {"frac_reward_zero_std": 0.97 if q else 1.0, "kl": 0.84 - settings.beta}
    if settings.reward == "learned":
        final |= {"accuracy": 0.31, "accuracy_carry": 0.02, "reward": 5.0}
    elif settings.reward == "within_10":
        final |= {"accuracy": 0.75, "reward": 1.0}
    elif settings.reward == "without_hundreds":
        final |= {"accuracy": 0.99, "reward": 1.0}
    if settings.reward_noise == 0.5:
        final |= {"accuracy": 0.35, "accuracy_carry": 0.1, "reward": 0.5}
    if q == 0.01 and settings.iterations == 300:
        final["accuracy_carry"] = 0.2 * ADVANTAGES.index(settings.advantage)
    if q == 0:
        final["kl"] = 3.0 if settings.advantage == "batch" else 0.1
    return final


def make_runs(
    q: float = 0.3, settings: GrpoSettings | None = None, seeds: Collection[int] = SEEDS
) -> Runs:
    """Runs that change evenly until they are where they come to."""
    settings = settings or GrpoSettings()
    start, final = prompts(q), final_metrics(q, settings)
    at = np.array(
        [1, *range(5, settings.iterations, 5), settings.iterations][: settings.iterations]
    )
    share = np.minimum(1, at / 15)
    values = {field.name: np.zeros(len(at)) for field in fields(Row)}
    values |= {name: share * value for name, value in final.items()}
    values["iteration"] = at.astype(float)
    # From where it starts to where it comes to.
    zero_std = theory.zero_std_fraction(start.probability, settings.num_generations)
    values["frac_reward_zero_std"] = zero_std + (final["frac_reward_zero_std"] - zero_std) * (
        np.minimum(1, (at - 1) / 50)
    )
    if not q:
        values["accuracy"] = np.full(len(at), final["accuracy"])
    if settings.iterations == 1500:
        early = at <= 300
        values["accuracy_carry"][early] = share[early] * CARRY[q]
    started = {
        "accuracy": 0.3025 + 0.01 * bool(q),
        "accuracy_carry": 0.025 * bool(q),
        "accuracy_sampled": float(start.probability.mean()),
        "parameters": 69_325.0,
    }
    judge = {"accuracy": 0.96, "prefers_no_carry": 0.8, "margin": 0.5}

    def each(table: Mapping[str, Any] | pd.DataFrame) -> dict[int, pd.DataFrame]:
        return dict.fromkeys(seeds, pd.DataFrame(table))

    return Runs(
        q=q,
        settings=settings,
        metrics=each(values),
        sft=each({name: [value] for name, value in started.items()}),
        before=each(start),
        after=each(prompts(final["accuracy_carry"])),
        reward_models=each({name: [value] for name, value in judge.items()})
        if settings.reward == "learned"
        else {},
        sft_seconds=dict.fromkeys(seeds, 60.0),
        grpo_seconds=dict.fromkeys(seeds, 60.0),
    )


@functools.cache
def _good() -> dict[str, Runs]:
    study = read_study({"questions": "all"}, QUESTIONS)
    return {
        name: make_runs(one.teacher_correctness, one.grpo)
        for name, one in study.experiments.items()
    }


def good_runs() -> dict[str, Runs]:
    """Every experiment of every question; their tables are shared, and not to be changed."""
    return dict(_good())


def runs_of(name: str) -> dict[str, Runs]:
    """Those of one question."""
    return {experiment: _good()[experiment] for experiment in QUESTIONS[name].names}


def changed(
    run: Runs, table: str, columns: Mapping[str, Any], seeds: Collection[int] = SEEDS
) -> Runs:
    """Runs with other columns in a table of some seeds."""
    frames: Any = {
        seed: frame.assign(**columns) if seed in seeds else frame
        for seed, frame in getattr(run, table).items()
    }
    return replace(run, **{table: frames})


def only(runs: Mapping[str, Runs], seeds: Collection[int]) -> dict[str, Runs]:
    """The same runs of fewer seeds."""

    def part(of_seeds: Any) -> Any:
        return {seed: value for seed, value in of_seeds.items() if seed in seeds}

    names = [field.name for field in fields(Runs) if field.name not in ("q", "settings")]
    by_seed: dict[str, Any]
    fewer = {}
    for name, run in runs.items():
        by_seed = {field: part(getattr(run, field)) for field in names}
        fewer[name] = replace(run, **by_seed)
    return fewer


def verdicts(runs: Mapping[str, Runs], difference: str = "") -> dict[str, str]:
    """The verdict on each claim of each question."""
    found: dict[str, str] = {}
    for name, question in QUESTIONS.items():
        of_question = {key: runs[key] for key in question.names}
        spoiled = any(run is not _good()[key] for key, run in of_question.items())
        if difference or spoiled:
            rows = decided(name, question, of_question, difference)
        else:
            rows = _good_rows(name)
        found |= {row["claim"]: row["verdict"] for row in rows}
    return found


@functools.cache
def _good_rows(name: str) -> list[dict[str, str]]:
    return decided(name, QUESTIONS[name], runs_of(name), "")


def write_runs(runs: Mapping[str, Runs]) -> Study:
    """What the jobs of runs leave behind, below the working directory; the study they are of."""
    study = read_study({"questions": "all"}, QUESTIONS)
    for experiment, run in runs.items():
        for seed in SEEDS:
            started = layout.sft(study, experiment, seed)
            trained = layout.GRPO.of(experiment=experiment, seed=seed)
            for step, metrics, prompts in [
                (started, run.sft, run.before),
                (trained, run.metrics, run.after),
            ]:
                written = {step["metrics"]: metrics[seed], step["prompts"]: prompts[seed]}
                for path, frame in written.items():
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    frame.to_csv(path, index=False)
                Path(step.record).parent.mkdir(parents=True, exist_ok=True)
                write_record(step.record, made_by(seconds=60.0), written)
    return study
