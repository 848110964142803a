"""One side of one comparison, in a process of its own.

Prints, as JSON, the seconds that the training took and the recorded shares of zero-std groups.

    python -m tests.benchmark.job plain weak 300 checkpoint.pt

Sides are `plain` and `library`; jobs are `sft`, `weak`, `long`, `cold`; then come the number of
steps or iterations and the checkpoint that GRPO starts from. Both sides compute on one thread.
"""

import json
import sys
import time
from dataclasses import replace

import torch

from tests import plain
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import GrpoSettings, SftSettings
from workflow.lib.task.addition import verify
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.grpo import train_grpo
from workflow.lib.training.sft import train_sft

SEED = 42


def run_plain(job: str, count: int, checkpoint: str) -> list[float]:
    if job == "sft":
        plain.train_sft(SEED, 0.3, steps=count)
        return []
    model = plain.PlainTransformer()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))
    rows = plain.train_grpo(model, SEED, count, run=job)
    return [row["frac_reward_zero_std"] for row in rows]


def run_library(job: str, count: int, checkpoint: str) -> list[float]:
    if job == "sft":
        train_sft(SEED, "sft/q0.3", 0.3, replace(SftSettings(), steps=count))
        return []
    model = Transformer.from_state_dict(torch.load(checkpoint, weights_only=True))
    settings = replace(GrpoSettings(), iterations=count)
    rows = train_grpo(SEED, f"grpo/{job}", model, verify, settings)
    return [row.frac_reward_zero_std for row in rows]


if __name__ == "__main__":
    side, job, count, checkpoint = sys.argv[1:]
    torch.set_num_threads(1)
    if side == "library":
        prepare_torch("cpu", gpus=0)
    start = time.perf_counter()
    zero_std = {"plain": run_plain, "library": run_library}[side](job, int(count), checkpoint)
    print(json.dumps({"seconds": time.perf_counter() - start, "zero_std": zero_std}))
