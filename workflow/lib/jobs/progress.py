"""How far a loop has come."""

import time
from collections.abc import Mapping
from typing import Any

SHOWN = {
    "loss": "loss",
    "accuracy": "accuracy",
    "accuracy_carry": "carry",
    "reward": "reward",
    "kl": "kl",
}
"""The metrics that a line shows, where a loop has them, and what it calls them."""


class Progress:
    """Lines that say how far a loop has come, how fast it goes and how long it will take."""

    def __init__(self, total: int, unit: str) -> None:
        self.total = total
        self.unit = unit
        self.start = time.monotonic()

    def report(self, done: int, metrics: Mapping[str, Any]) -> None:
        """Print a line on the state after `done` of the total."""
        elapsed = time.monotonic() - self.start
        rate = done / max(elapsed, 1e-9)
        left = (self.total - done) / rate
        # `z` makes 0.0000 of what rounds to -0.0000.
        numbers = "  ".join(
            f"{word} {float(metrics[name]):z.4f}" for name, word in SHOWN.items() if name in metrics
        )
        print(
            f"{self.unit} {done}/{self.total}  {numbers}  "
            f"{rate:.1f} {self.unit}s/s  {left:.0f} s left"
        )

    def on_step(self, step: int, loss: Any) -> None:
        """Report every hundredth step, and the last, with its loss."""
        if step % 100 == 0 or step == self.total:
            # A tensor that still has a gradient cannot be made a number without a warning.
            self.report(step, {"loss": loss.detach() if hasattr(loss, "detach") else loss})
