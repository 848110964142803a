"""How fast the library is, as ratios to the plain implementation on the same work in the same run.

    python -m tests.benchmark [--quick]

Both sides take turns, each in a process of its own on one thread; then the whole study: the plain
one on all cores, job after job, against `snakemake` from nothing. Prints a table and writes
results/benchmark.csv. `--quick` does a part of the work, once.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmark import essential

ROOT = Path(__file__).parents[2]
FULL = {"sft": 1200, "weak": 300, "long": 600, "cold": 300}
JOBS = {"sft": 6, "weak": 3, "long": 3, "cold": 3}
"""How many of each the study has."""
QUICK = {"sft": 120, "weak": 60, "long": 60, "cold": 40}


def run_job(side: str, job: str, count: int, checkpoint: str = "-") -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmark.job", side, job, str(count), checkpoint]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def snakemake(folder: Path, config: dict[str, Any], *targets: str) -> None:
    file = folder / "benchmark.json"
    file.write_text(json.dumps(config))
    subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--cores", "all", "--quiet", "all"),
            *("--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)),
            *("--workflow-profile", str(ROOT / "profiles/default")),
            *("--configfile", str(file), "--", *targets),
        ],
        check=True,
        capture_output=True,
    )


def study_config(scale: int) -> dict[str, Any]:
    return {
        "device": "cpu",
        "sft": {"steps": 1200 // scale},
        "grpo": {"iterations": 300 // scale},
        "experiments": {"long": {"iterations": 600 // scale}},
    }


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def whole_study(side: str, scale: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if side == "library":
            return seconds(lambda: snakemake(folder, study_config(scale)))
        command = [sys.executable, "-m", "tests.benchmark.study", name, str(scale)]
        return seconds(lambda: subprocess.run(command, cwd=ROOT, check=True))


def row(job: str, pairs: list[tuple[float, float]], limit: float | None) -> dict[str, Any]:
    """One line of the table, from the seconds of both sides and those of the machine's limit."""
    ratios = sorted(plain / ours for plain, ours in pairs)
    ours = statistics.median(ours for _, ours in pairs)
    return {
        "job": job,
        "plain_s": round(statistics.median(plain for plain, _ in pairs), 2),
        "library_s": round(ours, 2),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_lowest": round(ratios[0], 2),
        "ratio_highest": round(ratios[-1], 2),
        "limit_s": "" if limit is None else round(limit, 2),
        "of_limit": "" if limit is None else round(limit / ours, 3),
    }


def main(quick: bool) -> None:
    counts, repeats = (QUICK, 1) if quick else (FULL, 3)
    scale = 10 if quick else 1
    table: list[dict[str, Any]] = []
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = {q: f"results/sft/q{q}/seed42.pt" for q in ("0.3", "0")}
        snakemake(folder, {"device": "cpu"}, *targets.values())
        for job, count in counts.items():
            checkpoint = str(folder / targets["0" if job == "cold" else "0.3"])
            pairs, rates, zero_std = [], [], []
            for _ in range(repeats):
                plain = run_job("plain", job, count, checkpoint)
                ours = run_job("library", job, count, checkpoint)
                pairs.append((plain["seconds"], ours["seconds"]))
                rates.append(essential.machine_limit())  # now, since machines have moods
                zero_std = ours["zero_std"]
            times[job] = pairs
            work = essential.grpo(zero_std, count) if zero_std else count * essential.sft_step()
            rate = statistics.median(rates)
            table.append(row(job, pairs, work / rate))
            print(f"fp32 matrix products of the sizes used here: {rate / 1e9:.1f} GFLOP/s")
            print(table[-1], flush=True)
    together = [
        (
            sum(JOBS[job] * times[job][repeat][0] for job in JOBS),
            sum(JOBS[job] * times[job][repeat][1] for job in JOBS),
        )
        for repeat in range(repeats)
    ]
    limit = sum(JOBS[entry["job"]] * entry["limit_s"] for entry in table)
    table.append(row("all 15 jobs, summed", together, limit))
    pairs = [(whole_study("plain", scale), whole_study("library", scale)) for _ in range(1)]
    table.append(row("whole study" + (f", 1/{scale}" if quick else ""), pairs, None))

    path = ROOT / "results/benchmark.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    for line in [list(table[0]), *(list(entry.values()) for entry in table)]:
        print("".join(f"{cell!s:>20}" for cell in line))
    print(f"Written to {path.relative_to(ROOT)}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a part of the work, once")
    main(parser.parse_args().quick)
