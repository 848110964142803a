"""How large is the model, and how long does the study take?"""

from typing import TYPE_CHECKING

from workflow.lib.drawing.publish import publish
from workflow.lib.study.question import Claim, Experiments, Observed, Question

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

CLAIMED_PARAMETERS, COUNTED_PARAMETERS = 120_000, 69_325
"""What the chapter says, and what its own code makes."""
TOLERANCE = 0.1
CPU_MINUTES, SEEDS = 40, 3
"""What the chapter says that its seeds take on a CPU."""


def size(runs: Experiments) -> Observed:
    """The claim `size`."""
    counts = {int(frame.parameters.item()) for run in runs.values() for frame in run.sft.values()}
    claimed = CLAIMED_PARAMETERS
    return Observed(
        f"{', '.join(f'{count:,}' for count in sorted(counts))} parameters",
        holds=all(abs(count - claimed) <= TOLERANCE * claimed for count in counts),
        contradicts=counts == {COUNTED_PARAMETERS},
    )


def time(runs: Experiments) -> Observed:
    """The claim `time`; seconds differ from run to run, so the text says only what they decide."""
    seeds = next(iter(runs.values())).metrics
    # Experiments that start from one SFT model share its training.
    sft = {(run.q, seed): took for run in runs.values() for seed, took in run.sft_seconds.items()}
    grpo = [took for run in runs.values() for took in run.grpo_seconds.values()]
    allowed = CPU_MINUTES * len(seeds) / SEEDS
    holds = sum(sft.values()) + sum(grpo) <= 60 * allowed
    return Observed(f"{'at most' if holds else 'more than'} {allowed:.0f} minutes", holds)


QUESTION = Question(
    of_chapter=True,
    title="What it costs",
    draws=["weak", "long", "cold"],
    claims=[
        Claim(
            "size",
            f"About {CLAIMED_PARAMETERS:,} parameters",
            "chapter",
            f"The count in the checkpoint is within {TOLERANCE:.0%} of {CLAIMED_PARAMETERS:,}",
            size,
            chapter=f"{COUNTED_PARAMETERS:,} by the chapter's own code",
        ),
        Claim(
            "time",
            f"GPU about 10 minutes, CPU about {CPU_MINUTES}",
            "chapter",
            f"All training jobs, one after another, take at most {CPU_MINUTES} minutes for "
            f"{SEEDS} seeds",
            time,
            chapter="no more than this sentence",
        ),
    ],
    caption="The size of the model, and the time that training takes.",
)

if __name__ == "__main__":
    publish(QUESTION, snakemake)
