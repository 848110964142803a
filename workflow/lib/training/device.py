"""Where training computes."""

import ctypes
import fcntl
import importlib.util
import os
import re
import tempfile
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


def take_gpu() -> int:
    """The number of a GPU that has no more jobs on it than any other: this job's, until it ends.

    Every job keeps a lock on a file of its GPU. The kernel drops it when the job's process ends, in
    whatever way, so that a job that was killed holds no GPU.
    """
    folder = Path(tempfile.gettempdir()) / f"grpo-gpus-of-user-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    gpus = _visible_gpus()
    nth_job = 0
    while True:
        nth_job += 1
        for number, gpu in enumerate(gpus):
            if _locked(folder / f"{gpu}-job{nth_job}"):
                return number


def _visible_gpus() -> list[str]:
    """A name for each GPU that this process sees, the same for all processes that see it."""
    count = cuda_device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(number) for number in range(count)]
    # No more than there are: CUDA, too, ends the list at the first that it does not know.
    return [name.strip().replace("/", "-") for name in names[:count]]


def _locked(file: Path) -> bool:
    """Whether the file's lock could be had; if so it is kept, as the file is never closed."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True


def prepare_torch(device: str, gpus: int) -> "torch.device":
    """Set torch up so that a job's numbers depend on nothing but its inputs, and name its device.

    One thread, whatever the number of cores: sums are then added in one order, and more cores run
    more jobs at a time, which is also faster for a model this small.

    Args:
        device: auto, cpu or cuda.
        gpus: how many GPUs the job was given. One without any leaves those it sees to others.
    """
    import torch

    torch.set_num_threads(1)
    # By default glibc takes large blocks from the system with mmap and returns them when freed, so
    # that each step would ask for its memory anew. Freeing such a block raises the size from which
    # blocks count as large to its own, up to DEFAULT_MMAP_THRESHOLD_MAX, which is 32 MiB on 64-bit
    # systems (see M_MMAP_THRESHOLD in mallopt(3)). 31 MiB and malloc's header stay below that.
    torch.empty(31 * 2**20, dtype=torch.uint8)
    if not uses_gpu(device) or gpus == 0:
        return torch.device("cpu")
    gpu = torch.device("cuda", take_gpu())
    torch.cuda.set_device(gpu)
    # On one CPU thread all that is used here is deterministic; on a GPU it has to be asked for.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    return gpu
