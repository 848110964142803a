"""The runs behind a figure on the questions that the chapter left open."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from workflow.lib.study.grpo_settings import GrpoSettings
from workflow.lib.study.metrics import Row
from workflow.lib.study.tables import GRPO_COLUMNS, PROMPT_COLUMNS, read_experiments, read_metrics

ALL_COLUMNS = [field.name for field in fields(Row)]


@dataclass(frozen=True)
class Runs:
    """One experiment: its settings, and what each seed's run left behind."""

    q: float
    """The teacher's correctness, in what it starts from."""
    settings: GrpoSettings
    metrics: Mapping[int, pd.DataFrame]
    """By seed, a row per recorded iteration."""
    prompts: Mapping[int, pd.DataFrame]
    """By seed, what the model that it starts from makes of every prompt there is."""

    def last(self, metric: str) -> dict[int, float]:
        """A metric of each seed's last row."""
        return {seed: float(frame[metric].iloc[-1]) for seed, frame in self.metrics.items()}

    def at(self, iteration: int, metric: str) -> dict[int, float]:
        """A metric of each seed at an iteration, or at the last one before it that was recorded."""
        return {
            seed: float(frame[metric][frame.iteration <= iteration].iloc[-1])
            for seed, frame in self.metrics.items()
        }

    def late(self, metric: str) -> dict[int, float]:
        """The mean of a metric over the last third of each seed's iterations."""
        return {
            seed: float(frame[metric][frame.iteration > frame.iteration.iloc[-1] * 2 / 3].mean())
            for seed, frame in self.metrics.items()
        }

    def reaches(self, metric: str, level: float) -> dict[int, float]:
        """The first recorded iteration at which each seed's metric is at a level; ∞ if never."""
        reached = {
            seed: frame.iteration[frame[metric] >= level] for seed, frame in self.metrics.items()
        }
        return {
            seed: float("inf") if at.empty else float(at.iloc[0]) for seed, at in reached.items()
        }


def sweep(runs: Mapping[str, Runs], setting: Callable[[Runs], float]) -> dict[float, Runs]:
    """The runs by the value of what is varied, in its order; of two with one value, the first."""
    by_value: dict[float, Runs] = {}
    for run in runs.values():
        by_value.setdefault(setting(run), run)
    return dict(sorted(by_value.items(), key=lambda pair: pair[0]))


def read_runs(
    experiments: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    metrics: Sequence[str],
    prompts: Sequence[str],
) -> dict[str, Runs]:
    """The runs of each experiment, from its settings as the study has them and its CSVs.

    Raises:
        DamagedFileError: where a file is not what it should be.
    """
    tables = read_experiments(metrics, experiments, seeds, GRPO_COLUMNS)
    starts = {path: read_metrics(path, PROMPT_COLUMNS) for path in set(prompts)}
    started = _in_turn([starts[path] for path in prompts], len(seeds))
    return {
        name: Runs(
            q=experiment["teacher_correctness"],
            settings=GrpoSettings(**experiment["grpo"]),
            metrics=tables[name],
            prompts=dict(zip(seeds, start, strict=True)),
        )
        for (name, experiment), start in zip(experiments.items(), started, strict=True)
    }


def _in_turn(frames: Sequence[pd.DataFrame], count: int) -> Iterable[tuple[pd.DataFrame, ...]]:
    return zip(*[iter(frames)] * count, strict=True)
