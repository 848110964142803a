"""Decide the claims for parts of a study: `python -m workflow.tools.claims_by_seed more-seeds`.

For a folder with the results of a study of many seeds and the chapter's settings: prints how many
of the seeds, each taken as a study of its own, and how many of all studies of three of them fail a
claim. So one sees how likely a rule is to fail by chance.
"""

import argparse
import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from workflow.lib.study import layout
from workflow.lib.study.configuration import read_study
from workflow.lib.study.question import NOT_AS_EXPECTED, NOT_REPRODUCED, decided
from workflow.lib.study.runs import Runs, read_runs
from workflow.questions import (
    fig1_rlvr_overturns,
    fig2_unhackable_reward,
    fig3_cold_start,
    predictions,
)

QUESTIONS = {
    module.__name__.rpartition(".")[2]: module.QUESTION
    for module in (fig1_rlvr_overturns, fig2_unhackable_reward, fig3_cold_start, predictions)
}


def read(seeds: list[int]) -> dict[str, Runs]:
    """The runs of the chapter's experiments, below the working directory."""
    study = read_study({"seeds": seeds}, QUESTIONS)
    names = list(study.experiments)
    settings = {name: asdict(study.experiments[name]) for name in names}
    return read_runs(layout.files_of_runs(study, names), settings, seeds)


def only(runs: Runs, seeds: Collection[int]) -> Runs:
    """The runs of some of the seeds."""
    by_seed: dict[str, Any] = {
        field.name: {seed: value for seed, value in of_seeds.items() if seed in seeds}
        for field in fields(runs)
        if isinstance(of_seeds := getattr(runs, field.name), Mapping)
    }
    return replace(runs, **by_seed)


def main(folder: Path) -> None:
    os.chdir(folder)
    names = Path(layout.GRPO.of(experiment="weak", seed=0)["metrics"]).parent.glob("seed*.csv")
    seeds = sorted(int(path.stem.removeprefix("seed")) for path in names)
    runs = read(seeds)
    for size in (1, 3):
        studies = list(itertools.combinations(seeds, size))
        failed: Counter[str] = Counter()
        observed: dict[str, list[str]] = defaultdict(list)
        for chosen in studies:
            part = {name: only(run, chosen) for name, run in runs.items()}
            for name, question in QUESTIONS.items():
                for row in decided(name, question, part, ""):
                    observed[row["claim"]].append(f"{chosen[0]}: {row['observed']}")
                    failed[row["claim"]] += row["verdict"] in (NOT_REPRODUCED, NOT_AS_EXPECTED)
        for name, lines in observed.items():
            print(f"{name}: {failed[name]} of {len(studies)} studies of {size} seeds fail")
            if size == 1:
                print(*(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.tools.claims_by_seed")
    parser.add_argument("folder", type=Path, help="of a study of many seeds")
    main(parser.parse_args().folder)
