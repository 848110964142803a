"""One study, and what a user can do to it: run the pipeline, and follow what it says."""

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

TIMEOUT = 300
"""Seconds after which a run counts as hung."""


class NotInjectedError(Exception):
    """The fault came too late, or there was nothing for it to hit: try another moment."""


class NotPossibleError(Exception):
    """This machine does not allow the fault; the text says why."""


class LostError(Exception):
    """What must not happen did; the text says what."""


Run = subprocess.Popen[bytes]


@dataclass
class Trial:
    """A copy of the project on which one fault is tried."""

    path: Path
    random: random.Random
    undisturbed: Path
    """Another, on which the study has run."""
    seconds: float
    """How long that took."""
    cleanup: ExitStack
    outputs: list[str] = field(default_factory=list)
    """What each run said, in order."""
    said: dict[int, TextIO] = field(default_factory=dict)
    """Where each run says it, by its process."""

    @property
    def results(self) -> Path:
        return self.path / "results"

    def start(self, *arguments: str) -> Run:
        """Start README's command in a process group of its own, as a terminal does."""
        command = [
            *(sys.executable, "-m", "snakemake", "--cores", "2", "--resources", "gpu=1"),
            *("--configfile", "study.yaml", *arguments),
        ]
        said = self.cleanup.enter_context(tempfile.TemporaryFile("w+"))  # noqa: SIM115
        running = subprocess.Popen(
            command,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A shell that runs this in the background has its children ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.said[running.pid] = said
        return running

    def finish(self, running: Run) -> int:
        """Wait for a run to end; its exit status."""
        try:
            running.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            raise LostError(f"a run did not end within {TIMEOUT} seconds") from None
        finally:
            said = self.said[running.pid]
            said.seek(0)
            self.outputs.append(said.read())
        return running.returncode

    def run(self, *arguments: str) -> int:
        """README's command, to its end; its exit status."""
        return self.finish(self.start(*arguments))

    def start_and_wait(self) -> Run:
        """Start a run, and come back at a random moment of it.

        Raises:
            NotInjectedError: where it was over by then.
        """
        running = self.start()
        time.sleep(self.random.uniform(0.02, 0.95) * self.seconds)
        if running.poll() is not None:
            self.finish(running)
            raise NotInjectedError
        return running

    def finish_undisturbed(self) -> None:
        """Make this a copy of the study that has run."""
        shutil.copytree(self.undisturbed, self.path, dirs_exist_ok=True)

    def pick(self, *patterns: str) -> Path:
        """One of the results that are there.

        Raises:
            NotInjectedError: where there is none.
        """
        found = sorted({file for pattern in patterns for file in self.results.glob(pattern)})
        if not found:
            raise NotInjectedError
        return self.random.choice(found)

    def follow(self) -> str | None:
        """Do what the last run said is to be done first; in a word what that was, if it said it."""
        said = self.outputs[-1]
        if remove := re.search(r"Run `rm ([^`]+)`", said):
            for name in shlex.split(remove[1]):
                if not (self.path / name).exists():
                    raise LostError(f"{name} was to be removed, and is not there")
                (self.path / name).unlink()
            return "rm"
        if "--unlock" in said:
            if self.run("--unlock") != 0:
                raise LostError("--unlock was to be used, and failed")
            return "--unlock"
        return None

    def recover(self) -> list[str]:
        """Give README's command, and what it asks for, until the study is done; what it asked for.

        Raises:
            LostError: where it fails without a word on what to do.
        """
        asked: list[str] = []
        while self.run() != 0:
            step = self.follow()
            if step is None or len(asked) == 4:
                raise LostError("README's command fails, and does not say what to do")
            asked.append(step)
        return asked
