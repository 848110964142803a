"""A model's state dict on disk."""

import io
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from workflow.lib.jobs.files import DamagedFileError, whole_file


def save_checkpoint(path: str | Path, state: Mapping[str, Tensor]) -> None:
    """Write a state dict so that `torch.load(path, weights_only=True)` reads it."""
    # Through memory: torch writes the name of the file it saves to into the file.
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    with whole_file(path) as beside:
        beside.write_bytes(buffer.getvalue())


def load_checkpoint(path: str | Path) -> dict[str, Tensor]:
    """The state dict in a checkpoint; never runs code that a file brings.

    Raises:
        DamagedFileError: where the file is no checkpoint.
    """
    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError:
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise DamagedFileError(path, f"is no checkpoint ({reason})") from error
