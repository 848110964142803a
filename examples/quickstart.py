"""Teach a model a mistake, then let a reward correct it: the whole study in small.

    python -m examples.quickstart

This calls the library as the pipeline does, with the same settings and random streams, only for
fewer iterations. So its numbers are those of results/sft/q0.3/seed42.csv and the first rows of
results/grpo/weak/seed42.csv. It takes less than a minute on one core.
"""

import argparse

from workflow.lib.study.settings import GrpoSettings, SftSettings
from workflow.lib.task.addition import verify
from workflow.lib.training.device import prepare_torch
from workflow.lib.training.grpo import train_grpo
from workflow.lib.training.sft import evaluate_sft, train_sft

SEED, Q = 42, 0.3
"""What decides all random numbers, with the runs' names; how often the teacher is right."""
SFT = SftSettings()
GRPO = GrpoSettings(iterations=60)
BAR = 40
"""Characters that an accuracy of 1 takes."""


def main(sft: SftSettings = SFT, grpo: GrpoSettings = GRPO) -> None:
    """Train, and print the curve as it comes."""
    device = prepare_torch("auto", gpus=1)
    print(f"SFT: {sft.steps} steps on a teacher who is right with probability {Q} ...", flush=True)
    model = train_sft(SEED, "sft/q0.3", Q, sft, device)
    before = evaluate_sft(SEED, "sft/q0.3", model, grpo.eval_prompts, device)
    print(
        f"Now the model is right on {before['accuracy']:.3f} of all prompts, "
        f"and on {before['accuracy_carry']:.3f} of those that carry.\n"
    )
    print(
        f"GRPO: {grpo.iterations} iterations, with a reward of 1 for the right sum and else 0 ..."
    )
    print(f"{'iteration':>9}  {'accuracy':<{BAR + 7}}{'carry':>5}  zero-std groups")
    for row in train_grpo(SEED, "grpo/weak", model, verify, grpo, device):
        full = round(BAR * row.accuracy)
        print(
            f"{row.iteration:>9}  {row.accuracy:.3f} {'█' * full}{'░' * (BAR - full)} "
            f"{row.accuracy_carry:.3f}  {row.frac_reward_zero_std:>15.2f}",
            flush=True,
        )


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m examples.quickstart", description=__doc__).parse_args()
    main()
