"""The live state of the training jobs: `python -m workflow.tools.watch`, while `snakemake` runs.

In a terminal it is updated each second until Ctrl-C, elsewhere shown once. It only reads the logs,
so it may be started and ended at any time, and on another machine that sees the same files.
"""

import argparse
import contextlib
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workflow.lib.jobs.job import FAILED
from workflow.lib.study import layout

LINE = re.compile(
    r"^\w+ (?P<done>\d+)/(?P<total>\d+)  (?P<metrics>.*?)  \S+ \w+/s  (?P<left>\d+) s left$",
    re.MULTILINE,
)
"""What `workflow.lib.jobs.progress` prints."""
BAR = 20
"""Characters of a bar."""
SILENCE = 30
"""Seconds without a word after which it is said how many they are."""


@dataclass(frozen=True)
class State:
    """What a job's log says."""

    job: str
    status: str
    """`starting`, `running`, `finished` or `failed`."""
    done: int
    total: int
    news: str
    """The time left and its last metrics, or the error."""


def state_of(job: str, log: str, age: float) -> State:
    """The state of a job whose last word is `age` seconds old."""
    done, total, news, status = 0, 0, "", "starting"
    for line in LINE.finditer(log):
        done, total = int(line["done"]), int(line["total"])
        left = max(0, int(line["left"]) - age)
        news = f"{left:.0f} s left  {line['metrics']}"
        status = "finished" if done == total else "running"
    if "Traceback (most recent call last)" in log or f"\n{FAILED}" in f"\n{log}":
        news, status = log.rstrip().splitlines()[-1], "failed"
    elif status != "finished" and age > SILENCE:
        news = f"no word for {age:.0f} s  {news}"
    return State(job, status, done, total, news.strip())


def states_in(folder: Path) -> list[State]:
    """The states of all training jobs of a study that have a log, in the order of their names."""
    logs = [step.of(q="*", experiment="*", seed="*").log for step in layout.TRAINING]
    return [
        state_of(
            str(path.relative_to(folder / layout.LOGS).with_suffix("")),
            path.read_text(encoding="utf-8"),
            time.time() - path.stat().st_mtime,
        )
        for log in logs
        for path in sorted(folder.glob(log))
    ]


def table(states: Iterable[State]) -> str:
    """A line that counts the jobs, and one for each that has not finished."""
    states = list(states)
    if not states:
        return "No training job has left a log yet: start `snakemake` in another terminal."
    counts = Counter(state.status for state in states)
    numbers = [f"{count} {status}" for status, count in counts.items()]
    lines = [f"Training jobs so far: {', '.join(numbers)}"]
    width = max(len(state.job) for state in states)
    for state in states:
        if state.status != "finished":
            full = BAR * state.done // max(state.total, 1)
            bar = "█" * full + "░" * (BAR - full)
            how_far = f"{state.done}/{state.total}" if state.total else state.status
            lines.append(f"{state.job:<{width}}  {bar}  {how_far:>9}  {state.news}")
    return "\n".join(lines)


def main(folder: Path) -> None:
    """Show the table, again and again in a terminal."""
    while sys.stdout.isatty():
        columns, rows = shutil.get_terminal_size()
        lines = [line[: columns - 1] for line in table(states_in(folder)).splitlines()]
        print("\033[2J\033[H" + "\n".join(lines[: rows - 1]), flush=True)
        time.sleep(1)
    print(table(states_in(folder)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.tools.watch", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="of the study (.)")
    with contextlib.suppress(KeyboardInterrupt):
        main(parser.parse_args().folder)
