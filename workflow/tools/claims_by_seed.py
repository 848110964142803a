"""Decide the claims for parts of a study: `python -m workflow.tools.claims_by_seed results`.

For a study of many seeds with the chapter's settings: prints how many of the seeds, each taken as a
study of its own, and how many of all studies of three of them do not reproduce a claim. So one sees
whether a rule cries wolf.
"""

import itertools
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pandas as pd

from workflow.lib.study.claims import NOT_APPLICABLE, NOT_REPRODUCED, check
from workflow.lib.study.configuration import CHAPTER_EXPERIMENTS, format_q
from workflow.lib.study.tables import GRPO_COLUMNS, PROMPT_COLUMNS, SFT_COLUMNS, read_metrics


def read_seed(results: Path, seed: int) -> dict[str, pd.DataFrame]:
    """The results of one seed's runs, under the names that the claims use."""
    found = {}
    for name, experiment in CHAPTER_EXPERIMENTS.items():
        sft = results / f"sft/q{format_q(experiment.teacher_correctness)}"
        found[f"sft_{name}"] = read_metrics(sft / f"seed{seed}.csv", SFT_COLUMNS)
        found[f"prompts_{name}"] = read_metrics(sft / f"prompts/seed{seed}.csv", PROMPT_COLUMNS)
        found[f"grpo_{name}"] = read_metrics(results / f"grpo/{name}/seed{seed}.csv", GRPO_COLUMNS)
    return found


def main(results: Path) -> None:
    names = sorted((results / "grpo/weak").glob("seed*.csv"))
    found = {seed: read_seed(results, seed) for seed in (int(path.stem[4:]) for path in names)}
    for size in (1, 3):
        studies = list(itertools.combinations(found, size))
        failed: Counter[str] = Counter()
        observed: dict[str, list[str]] = defaultdict(list)
        for seeds in studies:
            for row in check({seed: found[seed] for seed in seeds}, {"time": "not looked at"}):
                if row["verdict"] != NOT_APPLICABLE:
                    observed[row["claim"]].append(f"{seeds[0]}: {row['observed']}")
                    failed[row["claim"]] += row["verdict"] == NOT_REPRODUCED
        for name, lines in observed.items():
            print(f"{name}: {failed[name]} of {len(studies)} studies of {size} seeds fail")
            if size == 1:
                print(*(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
