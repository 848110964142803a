"""The faults. Each disturbs a study at a random moment, and returns what it did in a few words.

When it returns, all that it started has ended, but for jobs that outlive their Snakemake.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import datetime

import psutil

from tests.torture.trial import LostError, NotInjectedError, NotPossibleError, Trial

Fault = Callable[[Trial], str]

RESULTS = (
    *("**/*.pt", "**/*.csv", "**/*.pdf", "*.json", "*.html"),
    *("records/**/*.json", "report/*", "benchmarks/**/*.tsv"),
)


def jobs_of(pid: int) -> list[psutil.Process]:
    """The processes of the jobs that a Snakemake has started: the scripts, not the shells."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            command = process.cmdline()
        except psutil.NoSuchProcess:
            continue
        if len(command) > 1 and ".snakemake/scripts/" in command[1]:
            found.append(process)
    return found


def kill_a_job(trial: Trial) -> str:
    running = trial.start_and_wait()
    jobs: list[psutil.Process] = []
    while running.poll() is None and not jobs:
        jobs = jobs_of(running.pid)
        time.sleep(0.01)
    if not jobs:
        trial.finish(running)
        raise NotInjectedError
    trial.random.choice(jobs).kill()
    trial.finish(running)
    return "a job"


def kill_snakemake(trial: Trial) -> str:
    running = trial.start_and_wait()
    jobs = jobs_of(running.pid)
    running.kill()
    trial.finish(running)
    if trial.random.random() < 0.5:
        psutil.wait_procs(jobs)
        return "Snakemake, and waiting for its orphans"
    return f"Snakemake, with {len(jobs)} orphans"


def kill_both(trial: Trial) -> str:
    running = trial.start_and_wait()
    os.killpg(running.pid, signal.SIGKILL)
    trial.finish(running)
    return "Snakemake and its jobs"


def interrupt(trial: Trial) -> str:
    running = trial.start_and_wait()
    os.killpg(running.pid, signal.SIGINT)
    trial.finish(running)
    return "to the process group, as a terminal does"


def terminate(trial: Trial) -> str:
    running = trial.start_and_wait()
    if trial.random.random() < 0.5:
        os.killpg(running.pid, signal.SIGTERM)
        whom = "Snakemake and its jobs"
    else:
        running.terminate()
        whom = "Snakemake"
    trial.finish(running)
    return f"to {whom}"


def mount(trial: Trial, *arguments: str) -> None:
    """Mount something for the time of the trial."""
    if os.geteuid() != 0:
        raise NotPossibleError("mounting needs root")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotPossibleError(f"mounting failed: {done.stderr.strip()}")
    trial.cleanup.callback(subprocess.run, ["umount", "--lazy", arguments[-1]], check=True)


def disk_full(trial: Trial) -> str:
    """On a disk too small for the study, of the whole project or of its results; then enlarged."""
    used = 0
    if trial.random.random() < 0.5:
        where, what = trial.results, "the results"
        where.mkdir(exist_ok=True)
    else:
        where, what = trial.path.with_name("small disk"), "the project"
        where.mkdir()
        files = [file for file in trial.path.rglob("*") if file.is_file()]
        used = sum(file.stat().st_size + 4096 for file in files)
    room = trial.random.randrange(20, 900)
    size = used // 1024 + room
    mount(trial, "-t", "tmpfs", "-o", f"size={size}k", "none", str(where))
    if what == "the project":
        shutil.copytree(trial.path, where, dirs_exist_ok=True)
        trial.path = where
    if trial.run() == 0:
        raise NotInjectedError
    if "No space left on device" not in trial.outputs[-1]:
        raise LostError("nothing was said of the full disk")
    subprocess.run(["mount", "-o", "remount,size=100m", str(where)], check=True)
    return f"with room for {room} KiB, for {what}"


def read_only(trial: Trial) -> str:
    """Results on a disk that turns read-only, from the start or at some moment of a run."""
    trial.results.mkdir(exist_ok=True)
    at_once = trial.random.random() < 0.3
    running = None if at_once else trial.start_and_wait()
    results = str(trial.results)
    mount(trial, "--bind", results, results)
    subprocess.run(["mount", "-o", "remount,ro,bind", results], check=True)
    running = running or trial.start()
    if trial.finish(running) == 0:
        raise NotInjectedError
    if "Read-only file system" not in trial.outputs[-1]:
        raise LostError("nothing was said of the read-only disk")
    trial.cleanup.pop_all().close()
    return "from the start" if at_once else "in the middle of a run"


def at_rest_or_in_a_run(trial: Trial, deed: Callable[[], str]) -> str:
    """Do something to a finished study, or in the middle of a run."""
    if trial.random.random() < 0.5:
        trial.finish_undisturbed()
        return f"{deed()}, at rest"
    running = trial.start_and_wait()
    try:
        return f"{deed()}, in a run"
    finally:
        trial.finish(running)


def damage(trial: Trial) -> str:
    """Truncate, empty or overwrite a result in place, whatever its time of modification says."""

    def deed() -> str:
        kind = trial.random.choice(["*.pt", "*.csv", "any"])
        file = trial.pick(*(RESULTS if kind == "any" else [f"**/{kind}"]))
        try:
            content, status = file.read_bytes(), file.stat()
        except FileNotFoundError:
            raise NotInjectedError from None
        if not content:
            raise NotInjectedError
        how = trial.random.choice(["emptied", "cut off", "a line less", "garbage", "a bit flipped"])
        where = trial.random.randrange(len(content))
        damaged = {
            "emptied": b"",
            "cut off": content[:where],
            "a line less": b"".join(content.splitlines(keepends=True)[:-1]),
            "garbage": trial.random.randbytes(len(content)),
            "a bit flipped": content[:where] + bytes([content[where] ^ 1]) + content[where + 1 :],
        }[how]
        file.write_bytes(damaged)
        when = trial.random.choice(["now", "kept", "old", "future"])
        if when != "now":
            times = {"kept": status.st_mtime, "old": 1e9, "future": 4e9}
            os.utime(file, (times[when], times[when]))
        return f"{file.relative_to(trial.results)} {how}, time {when}"

    return at_rest_or_in_a_run(trial, deed)


def delete_a_log(trial: Trial) -> str:
    def deed() -> str:
        file = trial.pick("logs/**/*.log")
        file.unlink(missing_ok=True)
        return str(file.relative_to(trial.results))

    return at_rest_or_in_a_run(trial, deed)


def set_the_clock_aside(trial: Trial) -> str:
    """Give some results the time of another age; half the time, with something left to make."""

    def deed() -> str:
        seconds = trial.random.choice([0.0, 1e9, time.time() + 86400, 4e9])
        share = trial.random.choice([0.1, 0.5, 1.0])
        files = [file for file in sorted(trial.results.rglob("*")) if file.is_file()]
        for file in files:
            if trial.random.random() < share:
                try:
                    os.utime(file, (seconds, seconds))
                except FileNotFoundError:
                    continue
        missing = ""
        if trial.random.random() < 0.5:
            gone = trial.pick("grpo/**/*.csv", "figures/*.pdf", "claims.csv")
            gone.unlink(missing_ok=True)
            missing = f", without {gone.relative_to(trial.results)}"
        return f"{share:.0%} of the files at {datetime.fromtimestamp(seconds):%Y-%m-%d}{missing}"

    return at_rest_or_in_a_run(trial, deed)


def lose_memory(trial: Trial) -> str:
    """As people do to clear a lock, or by copying the results elsewhere; with whatever times."""
    trial.finish_undisturbed()
    shutil.rmtree(trial.path / ".snakemake")
    for file in sorted(trial.results.rglob("*")):
        if trial.random.random() < 0.5:
            seconds = time.time() - trial.random.uniform(0, 1e6)
            os.utime(file, (seconds, seconds))
    return "Snakemake's memory"


def lose_a_record(trial: Trial) -> str:
    """Remove a record or spoil it; half the time, with what Snakemake remembers."""
    trial.finish_undisturbed()
    file = trial.pick("records/**/*.json")
    how = trial.random.choice(["removed", "null", "of other files", "cut off"])
    if how == "removed":
        file.unlink()
    elif how == "of other files":
        record = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**record, "sha256": {"/etc/hostname": "00"}}))
    else:
        file.write_text("null" if how == "null" else file.read_text()[:100])
    if trial.random.random() < 0.5:
        shutil.rmtree(trial.path / ".snakemake")
    return f"{file.relative_to(trial.results)} {how}"


def two_at_once(trial: Trial) -> str:
    first = trial.start()
    apart = trial.random.choice([0.0, 0.05, 0.5, 2.0, trial.random.uniform(0, trial.seconds)])
    time.sleep(apart)
    second = trial.start()
    for running in (first, second):
        trial.finish(running)
    return f"{apart:.2f} s apart, exit status {first.returncode} and {second.returncode}"


FAULTS: dict[str, Fault] = {
    "kill -9 of a job": kill_a_job,
    "kill -9 of Snakemake": kill_snakemake,
    "kill -9 of both": kill_both,
    "Ctrl-C": interrupt,
    "SIGTERM": terminate,
    "disk full": disk_full,
    "results read-only": read_only,
    "damaged result": damage,
    "deleted log": delete_a_log,
    "clock set aside": set_the_clock_aside,
    "lost memory": lose_memory,
    "lost record": lose_a_record,
    "two runs at once": two_at_once,
}
"""By the names of the report."""
