"""What a job tells its log while it runs."""

import contextlib
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def logged(path: str | Path) -> Iterator[None]:
    """Send what is printed, and the traceback of what goes wrong, to a rule's log file."""
    with (
        Path(path).open("w", buffering=1, encoding="utf-8") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            yield
        except BaseException:
            traceback.print_exc()
            sys.exit(1)


class Progress:
    """Lines that say how far a loop has come, how fast it goes and how long it will take."""

    def __init__(self, total: int, unit: str) -> None:
        self.total = total
        self.unit = unit
        self.start = time.monotonic()

    def report(self, done: int, **metrics: float) -> None:
        """Print a line on the state after `done` of the total."""
        elapsed = time.monotonic() - self.start
        rate = done / max(elapsed, 1e-9)
        left = (self.total - done) / rate
        numbers = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        print(
            f"{self.unit} {done}/{self.total}  {numbers}  "
            f"{rate:.1f} {self.unit}s/s  {left:.0f} s left"
        )
