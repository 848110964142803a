"""Faults, one after another, into a small study: `python -m tests.torture --faults 200 --seed 0`.

After each, README's command must bring the study to the results of an undisturbed run, byte for
byte, or say in one message what to do first. Fails if a result was lost or a wrong one accepted.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tests.copies import copy_project
from tests.torture.faults import FAULTS
from tests.torture.trial import LostError, NotInjectedError, NotPossibleError, Trial
from workflow.lib.jobs.records import sha256

STUDY = "torture/study.yaml"


def main(faults: int, seed: int, kinds: list[str]) -> int:
    """The exit status."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        # All trials are of the same code, whatever happens to the project in the meantime.
        copy_project(Path(folder) / "sources", STUDY)
        expected, seconds = undisturbed(Path(folder))
        print(f"An undisturbed run takes {seconds:.1f} s.", flush=True)
        for number in range(faults):
            kind = kinds[number % len(kinds)]
            outcome = one(Path(folder), kind, f"{seed}/{number}", seconds, expected)
            counts[kind][outcome.split(":")[0]] += 1
            print(f"{number + 1:4} {kind}: {outcome}", flush=True)
    return report(counts)


def undisturbed(folder: Path) -> tuple[dict[str, str], float]:
    """The results of a run from nothing, and how long it takes."""
    path = folder / "undisturbed"
    shutil.copytree(folder / "sources", path)
    start = time.monotonic()
    with ExitStack() as cleanup:
        trial = Trial(path, random.Random(0), path, 0, cleanup)
        if trial.run() != 0:
            raise SystemExit(f"An undisturbed run fails:\n{trial.outputs[-1]}")
    return results(path), time.monotonic() - start


def results(path: Path) -> dict[str, str]:
    """The SHA-256 of all that must not differ, which the manifest lists."""
    listed = json.loads((path / "results/manifest.json").read_text(encoding="utf-8"))["sha256"]
    try:
        found = {file: sha256(path / file) for file in listed}
    except FileNotFoundError as error:
        raise LostError(f"{error.filename} is missing") from error
    if found != listed:
        raise LostError("the manifest does not list the results as they are")
    return found


def one(folder: Path, kind: str, seed: str, seconds: float, expected: dict[str, str]) -> str:
    """Try one fault, again and again until it hits; what came of it, in a line."""
    for attempt in range(10):
        path = folder / "trial"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(folder / "sources", path / "project")
        with ExitStack() as cleanup:
            randomness = random.Random(f"{seed}/{kind}/{attempt}")
            trial = Trial(path / "project", randomness, folder / "undisturbed", seconds, cleanup)
            deed = ""
            try:
                deed = FAULTS[kind](trial)
                asked = trial.recover()
                if results(trial.path) != expected:
                    raise LostError("other results than those of an undisturbed run")
                if left := list(trial.path.rglob("*.part")):
                    raise LostError(f"{left[0].name} was left behind")
                return f"told: {deed}: {', '.join(asked)}" if asked else f"recovered: {deed}"
            except NotInjectedError:
                continue
            except NotPossibleError as reason:
                return f"skipped: {reason}"
            except LostError as error:
                kept = Path(tempfile.mkdtemp(prefix="lost-"))
                shutil.copytree(trial.path, kept, dirs_exist_ok=True, symlinks=True)
                said = "\n--- the next run ---\n".join(trial.outputs)
                (kept / "said.txt").write_text(said, encoding="utf-8")
                return f"lost: {deed}: {error}; see {kept}"
    return "skipped: it never hit"


def report(counts: dict[str, Counter[str]]) -> int:
    """Print what came of all faults; the exit status."""
    columns = ("injected", "recovered", "told", "lost", "skipped")
    print(f"\n{'fault':22}" + "".join(f"{column:>11}" for column in columns))
    for count in counts.values():
        count["injected"] = count["recovered"] + count["told"] + count["lost"]
    total = sum(counts.values(), Counter())
    for kind, count in [*counts.items(), ("all", total)]:
        print(f"{kind:22}" + "".join(f"{count[column]:11}" for column in columns))
    return 1 if total["lost"] or not total["injected"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--faults", type=int, default=200, help="how many (200)")
    parser.add_argument("--seed", type=int, default=0, help="of their random moments (0)")
    parser.add_argument("--kind", choices=FAULTS, action="append", help="only this; repeatable")
    options = parser.parse_args()
    sys.exit(main(options.faults, options.seed, options.kind or list(FAULTS)))
