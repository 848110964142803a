"""How far a loop has come."""

import time
from typing import SupportsFloat


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
        # Adding 0 makes 0 of what rounds to -0.
        numbers = "  ".join(f"{name} {round(value, 4) + 0:.4f}" for name, value in metrics.items())
        print(
            f"{self.unit} {done}/{self.total}  {numbers}  "
            f"{rate:.1f} {self.unit}s/s  {left:.0f} s left"
        )

    def on_step(self, step: int, loss: SupportsFloat) -> None:
        """Report every hundredth step, and the last, with its loss."""
        if step % 100 == 0 or step == self.total:
            self.report(step, loss=float(loss))
