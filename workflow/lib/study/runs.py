"""The runs of an experiment, read back from what its jobs left behind."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import read_record
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.task import arithmetic

BySeed = dict[int, float]
"""One number for each seed."""
Frames = Mapping[int, pd.DataFrame]
"""One table for each seed."""

GRPO_COLUMNS = ("iteration", "accuracy", "accuracy_carry", "reward", "kl", "frac_reward_zero_std")
"""Without gaps; an accuracy on a kind of prompts has one where there was none of the kind."""
SFT_COLUMNS = ("accuracy", "accuracy_carry", "accuracy_sampled", "parameters")
REWARD_COLUMNS = ("accuracy", "prefers_no_carry", "margin")
PROMPT_COLUMNS = ("a", "b", "solved", "probability")
ANSWER_COLUMNS = (
    *("a", "b", "sft_greedy", "sft_right", "sft_no_carry"),
    *("grpo_greedy", "grpo_right", "grpo_no_carry"),
)


@dataclass(frozen=True)
class Runs:
    """One experiment: its settings, and what each seed's jobs left behind."""

    q: float
    """The teacher's correctness, in what it starts from."""
    settings: GrpoSettings
    metrics: Frames
    """A row for each recorded iteration."""
    sft: Frames
    """One row: the metrics of the SFT model."""
    before: Frames
    """All 10,000 prompts, as the SFT model answers them: `a, b, solved, probability`."""
    after: Frames
    """The same of the final policy."""
    reward_models: Frames
    """One row: the metrics of the reward model. Empty where a rule judges completions."""
    sft_seconds: BySeed
    """How long SFT took; below, how long GRPO did."""
    grpo_seconds: BySeed

    def measure(self, of_frame: Callable[[pd.DataFrame], Any]) -> BySeed:
        """One number of each seed's GRPO metrics."""
        return by_seed(self.metrics, of_frame)

    def last(self, metric: str) -> BySeed:
        """A metric in each seed's last row."""
        return self.measure(lambda frame: frame[metric].iloc[-1])

    def at(self, iteration: int, metric: str) -> BySeed:
        """A metric at an iteration, or at the last one before it that was recorded."""
        return self.measure(lambda frame: frame[metric][frame.iteration <= iteration].iloc[-1])

    def late(self, metric: str) -> BySeed:
        """The mean of a metric over the last third of the iterations."""
        return self.measure(
            lambda frame: frame[metric][frame.iteration > frame.iteration.iloc[-1] * 2 / 3].mean()
        )

    def reaches(self, metric: str, level: float) -> BySeed:
        """The first recorded iteration at which a metric is at a level or above; ∞ if never."""
        return self.measure(
            lambda frame: (
                frame.iteration[frame[metric] >= level].min()
                if (frame[metric] >= level).any()
                else np.inf
            )
        )

    def start(self, metric: str) -> BySeed:
        """A metric of the SFT model."""
        return by_seed(self.sft, lambda frame: frame[metric].item())


def by_seed(frames: Frames, of_frame: Callable[[pd.DataFrame], Any]) -> BySeed:
    """One number of each seed's table."""
    return {seed: float(of_frame(frame)) for seed, frame in frames.items()}


def tail(frame: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """The rows of the last so many iterations."""
    return frame[frame.iteration > frame.iteration.iloc[-1] - iterations]


def mean(values: Mapping[int, float]) -> float:
    """Over the seeds."""
    return float(np.mean(list(values.values())))


def has_carry(prompts: pd.DataFrame) -> pd.Series:
    """Which prompts of a table have a carry."""
    return arithmetic.has_carry(prompts.a, prompts.b)


def sweep(runs: Mapping[str, Runs], setting: Callable[[Runs], float]) -> dict[float, Runs]:
    """The runs by the value of what is varied, in its order; of two with one value, the first."""
    by_value: dict[float, Runs] = {}
    for run in runs.values():
        by_value.setdefault(setting(run), run)
    return dict(sorted(by_value.items()))


def read_runs(
    files: Mapping[str, Sequence[str]],
    experiments: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
) -> dict[str, Runs]:
    """The runs of experiments, from the files that `layout.files_of_runs` names.

    Args:
        files: lists of paths by what they hold, each in the order of the experiments, then seeds.
        experiments: `teacher_correctness` and the settings `grpo` of each experiment.
        seeds: of each experiment.

    Raises:
        DamagedFileError: where a file is not what it should be.
    """
    # Experiments that start from one SFT model share its tables.
    known: dict[str, pd.DataFrame] = {}

    def table(path: str, columns: Sequence[str]) -> pd.DataFrame:
        if path not in known:
            known[path] = read_table(path, columns)
        return known[path]

    def tables(paths: Iterable[str], columns: Sequence[str]) -> Frames:
        return {seed: table(path, columns) for seed, path in zip(seeds, paths, strict=True)}

    records = map(read_record, files["records"])
    took = {file: record["seconds"] for record in records for file in record["sha256"]}

    def seconds(paths: Iterable[str]) -> BySeed:
        return {seed: float(took[path]) for seed, path in zip(seeds, paths, strict=True)}

    runs = {}
    kinds = ("grpo", "sft", "before", "after", "reward")
    parts = {kind: zip(*[iter(files[kind])] * len(seeds), strict=True) for kind in kinds}
    for name, experiment in experiments.items():
        settings = GrpoSettings(**experiment["grpo"])
        learned = settings.reward == "learned"
        trained, started = next(parts["grpo"]), next(parts["sft"])
        runs[name] = Runs(
            q=experiment["teacher_correctness"],
            settings=settings,
            metrics=tables(trained, GRPO_COLUMNS),
            sft=tables(started, SFT_COLUMNS),
            before=tables(next(parts["before"]), PROMPT_COLUMNS),
            after=tables(next(parts["after"]), PROMPT_COLUMNS),
            reward_models=tables(next(parts["reward"]), REWARD_COLUMNS) if learned else {},
            sft_seconds=seconds(started),
            grpo_seconds=seconds(trained),
        )
    return runs


def read_table(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """A CSV of numbers that has at least one row and the columns asked for.

    Raises:
        DamagedFileError: where it is not such a table.
    """
    try:
        frame = pd.read_csv(path, dtype=float)
    except FileNotFoundError:
        raise
    except (ValueError, UnicodeError) as error:
        raise DamagedFileError(path, f"is not a table of numbers ({error})") from error
    missing = [column for column in columns if column not in frame]
    if missing or frame.empty or frame[list(columns)].isna().any(axis=None):
        fault = f"lacks the column {missing[0]}" if missing else "has no rows, or gaps in them"
        raise DamagedFileError(path, fault)
    return frame


def read_tables(
    paths: Sequence[str], experiments: Iterable[str], seeds: Sequence[int], columns: Sequence[str]
) -> dict[str, Frames]:
    """A table of each experiment and seed, from CSVs in that order."""
    tables = [read_table(path, columns) for path in paths]
    rows = zip(*[iter(tables)] * len(seeds), strict=True)
    return {
        name: dict(zip(seeds, row, strict=True))
        for name, row in zip(experiments, rows, strict=True)
    }


def read_claims(path: str | Path) -> list[dict[str, str]]:
    """The rows of a table of claims, as `question.decided` makes them."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
