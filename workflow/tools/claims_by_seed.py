"""Decide the claims for each seed alone: `python -m workflow.tools.claims_by_seed results`.

For a study of many seeds with the chapter's settings: prints how many of them, each taken as a
study of its own, do not reproduce a claim, and which. So one sees whether a rule cries wolf.
"""

import sys
from collections import defaultdict
from pathlib import Path

import pandas as pd

from workflow.lib.claims import NOT_APPLICABLE, NOT_REPRODUCED, check
from workflow.lib.study import CHAPTER_EXPERIMENTS, format_q
from workflow.lib.tables import GRPO_COLUMNS, PROMPT_COLUMNS, SFT_COLUMNS, read_metrics


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
    seeds = sorted(int(path.stem[4:]) for path in (results / "grpo/weak").glob("seed*.csv"))
    failed: dict[str, list[int]] = defaultdict(list)
    observed: dict[str, list[str]] = defaultdict(list)
    for seed in seeds:
        for row in check({seed: read_seed(results, seed)}, {"time": "not looked at"}):
            if row["verdict"] != NOT_APPLICABLE:
                observed[row["claim"]].append(f"{seed}: {row['observed']}")
                failed[row["claim"]] += [seed] if row["verdict"] == NOT_REPRODUCED else []
    for name, lines in observed.items():
        print(f"{name}: {len(failed[name])} of {len(seeds)} seeds fail {failed[name] or ''}")
        print(*(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
