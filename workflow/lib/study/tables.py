"""Metrics read back from their CSVs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from workflow.lib.jobs.files import DamagedFileError


def read_metrics(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
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


SFT_COLUMNS = ("accuracy", "accuracy_carry", "accuracy_sampled", "parameters")
GRPO_COLUMNS = ("iteration", "accuracy", "accuracy_carry", "reward", "kl", "frac_reward_zero_std")
PROMPT_COLUMNS = ("a", "b", "solved", "probability")
ANSWER_COLUMNS = (
    *("a", "b", "sft_greedy", "sft_right", "sft_no_carry"),
    *("grpo_greedy", "grpo_right", "grpo_no_carry"),
)
PASS_AT_K_COLUMNS = ("k", "sft", "sft_exact", "grpo", "grpo_exact")
REWARD_COLUMNS = ("accuracy", "prefers_no_carry", "margin")


def read_seeds(
    paths: Iterable[str], seeds: Iterable[int], columns: Sequence[str]
) -> dict[int, pd.DataFrame]:
    """The metrics of each seed, from one CSV a seed, in the same order."""
    return {seed: read_metrics(path, columns) for seed, path in zip(seeds, paths, strict=True)}


def read_experiments(
    paths: Sequence[str], experiments: Iterable[str], seeds: Sequence[int], columns: Sequence[str]
) -> dict[str, dict[int, pd.DataFrame]]:
    """The metrics of each experiment and seed, from CSVs in that order."""
    by_experiment = zip(*[iter(paths)] * len(seeds), strict=True)
    return {
        name: read_seeds(files, seeds, columns)
        for name, files in zip(experiments, by_experiment, strict=True)
    }
