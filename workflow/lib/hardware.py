"""Where training computes."""

import ctypes
import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def cuda_device_count() -> int:
    """How many CUDA GPUs torch could use here; told without the seconds its import takes."""
    if not _torch_has_cuda():
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def _torch_has_cuda() -> bool:
    """Whether the installed torch was built for CUDA, as its version file says."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return False
    version = Path(torch.origin).with_name("version.py").read_text()
    return re.search(r"^cuda\b.*= ['\"]", version, flags=re.MULTILINE) is not None


def uses_gpu(device: str) -> bool:
    """Whether a training job computes on a GPU here, for a `device` of auto, cpu or cuda.

    Raises:
        ValueError: for cuda where there is none.
    """
    if device == "cpu":
        return False
    found = cuda_device_count() > 0
    if device == "cuda" and not found:
        raise ValueError(
            "device: 'cuda' was asked for, but no CUDA GPU can be used here "
            "(no driver, no device, or a CPU build of torch): take 'auto' or 'cpu'."
        )
    return found


def prepare_torch(device: str) -> "torch.device":
    """Set torch up so that a job's numbers depend on nothing but its inputs, and name its device.

    One thread, whatever the number of cores: sums are then added in one order, and more cores run
    more jobs at a time, which is also faster for a model this small.
    """
    import torch

    torch.set_num_threads(1)
    # glibc hands freed memory back to the system, and asks for it again at each step, until it has
    # once seen a large piece (of up to 32 MiB) freed: then it keeps what it has.
    torch.empty(31 * 2**20, dtype=torch.uint8)
    if not uses_gpu(device):
        return torch.device("cpu")
    # On one CPU thread all that is used here is deterministic; on a GPU it has to be asked for.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    return torch.device("cuda")
