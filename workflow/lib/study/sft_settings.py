"""The settings of supervised fine-tuning; the defaults are the chapter's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SftSettings:
    """Supervised fine-tuning on the flawed teacher's answers."""

    steps: int = 1200
    batch_size: int = 256
    learning_rate: float = 3e-3
