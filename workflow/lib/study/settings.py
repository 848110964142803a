"""Every setting: its type, bounds, default and meaning, in one place.

The schema of the configuration and config/README.md are made from these classes. The defaults are
the chapter's. Training jobs import this module, so it does not import pydantic.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Len, Lt, MinLen

LearningRate = Annotated[float, Gt(0), Le(1)]
Probability = Annotated[float, Ge(0), Le(1)]


class Described:
    """A class whose attributes' docstrings are the descriptions of its keys."""

    __pydantic_config__: ClassVar = {"use_attribute_docstrings": True, "extra": "forbid"}


@dataclass(frozen=True)
class SftSettings(Described):
    """Supervised fine-tuning on the flawed teacher's answers."""

    steps: Annotated[int, Ge(1), Le(1_000_000)] = 1200
    """Optimizer steps."""
    batch_size: Annotated[int, Ge(1), Le(65536)] = 256
    """Fresh random prompts per step."""
    learning_rate: LearningRate = 0.003
    """Adam's learning rate, constant."""


@dataclass(frozen=True)
class RewardModelSettings(Described):
    """The training of the model behind a learned reward."""

    steps: Annotated[int, Ge(1), Le(1_000_000)] = 1600
    """Optimizer steps."""
    batch_size: Annotated[int, Ge(1), Le(65536)] = 128
    """Fresh random prompts per step, each with the teacher's and a corrupted answer."""
    learning_rate: LearningRate = 0.003
    """Adam's learning rate, constant."""


@dataclass(frozen=True)
class Evaluation(Described):
    """How accuracies are measured."""

    num_prompts: Annotated[int, Ge(64), Le(1_000_000)] = 2048
    """Fresh random prompts per accuracy."""


@dataclass(frozen=True)
class Grpo(Described):
    """The keys of the section `grpo`; names as in TRL's GRPOConfig where it has them."""

    iterations: Annotated[int, Ge(1), Le(1_000_000)] = 300
    """Rollouts, each followed by its updates."""
    num_prompts: Annotated[int, Ge(1), Le(65536)] = 32
    """Prompts per rollout."""
    num_generations: Annotated[int, Ge(2), Le(4096)] = 8
    """Completions sampled per prompt (group size G). A group of one has no spread."""
    num_iterations: Annotated[int, Ge(1), Le(1000)] = 2
    """Epochs over each rollout."""
    minibatch_size: Annotated[int, Ge(1), Le(65536)] = 64
    """Completions per optimizer step. Must divide num_prompts × num_generations."""
    learning_rate: LearningRate = 0.0001
    """Adam's learning rate, constant."""
    epsilon: Annotated[float, Gt(0), Lt(1)] = 0.2
    """PPO's clip: the ratio of new to old probability counts up to 1 ± epsilon. There is one ratio
    per completion, not length-normalised; TRL has one per token by default."""
    beta: Annotated[float, Ge(0), Le(100)] = 0.0
    """Weight of the KL penalty against the SFT reference; 0 is none. The penalty is the estimate k1
    of a completion, log π_old − log π_ref, and is subtracted from its advantage (so it is in its
    units, standard deviations of a group for `group`). Shao et al. (2024) and TRL add the estimate
    k3 of each token to the loss."""
    max_grad_norm: Annotated[float, Gt(0), Le(1_000_000)] = 1.0
    """The gradient's norm is clipped at this."""
    reward: Literal["verifier", "within_10", "without_hundreds", "learned"] = "verifier"
    """What a completion is rewarded for. `verifier`: the right answer. `within_10`: any number at
    most 10 away from it. `without_hundreds`: right tens and units. `learned`: what a model trained
    on the same teacher's answers thinks of it (`reward_model`)."""
    reward_noise: Probability = 0.0
    """Probability that a verdict is flipped. Not for a learned reward."""
    advantage: Literal["group", "group_mean", "leave_one_out", "batch", "none"] = "group"
    """What makes an advantage of a reward. `group`: (r − mean) / std of the group (GRPO).
    `group_mean`: r − mean of the group (Dr. GRPO). `leave_one_out`: r − mean of the group's others
    (RLOO). `batch`: (r − mean) / std of the whole batch. `none`: r itself."""
    temperature: Annotated[float, Ge(0.01), Le(100)] = 1.0
    """Temperature of the policy, in sampling and in its log-probabilities."""
    advantage_epsilon: Annotated[float, Gt(0), Le(1)] = 0.0001
    """Added to the standard deviation that rewards are divided by."""
    eval_every: Annotated[int, Ge(1), Le(1_000_000)] = 5
    """A row of metrics is recorded every so many iterations, and at the first and the last."""


@dataclass(frozen=True)
class GrpoSettings(Grpo):
    """All settings of one GRPO run."""

    eval_prompts: int = Evaluation.num_prompts
    """The configuration's `evaluation.num_prompts`."""


@dataclass(frozen=True)
class ExperimentKeys(Grpo):
    """The keys of one of `experiments`: those of `grpo`, and what the run starts from."""

    teacher_correctness: Probability = field(kw_only=True)
    """Probability q that the teacher of the SFT model it starts from gives the true sum; otherwise
    the teacher forgets to carry."""


@dataclass(frozen=True)
class CurvesFigure(Described):
    """A figure that draws metrics of experiments against the iteration."""

    metrics: Annotated[list[str], MinLen(1)]
    """Columns of the GRPO metrics, a panel each."""
    experiments: Annotated[list[str], Len(1, 8)]
    """Names of experiments, a colour each."""
    title: Annotated[str, Len(1, 80)] = ""
    """The figure's title; its name, if there is none."""


@dataclass(frozen=True)
class Config(Described):
    """The keys of a configuration."""

    seeds: Annotated[list[Annotated[int, Ge(0), Le(2**32 - 1)]], MinLen(1)] = field(
        default_factory=lambda: [42, 43, 44]
    )
    """Seeds of the study. Each trains models of its own; curves are means over them."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where training computes. `auto` takes a CUDA GPU where there is one and the CPU elsewhere;
    `cuda` without a GPU is an error. It never makes anything rerun."""
    sft: SftSettings = SftSettings()
    """Supervised fine-tuning on the flawed teacher's answers."""
    grpo: Grpo = Grpo()
    """GRPO settings of every experiment that does not override them."""
    reward_model: RewardModelSettings = RewardModelSettings()
    """The training of the model behind a learned reward."""
    evaluation: Evaluation = Evaluation()
    """How accuracies are measured, after SFT and along GRPO."""
    questions: list[str] | str = "chapter"
    """What the study asks: `chapter`, `all`, or a list of names such as `[fig3_cold_start]`. Each
    question has a figure and brings the experiments that it needs."""
    experiments: dict[str, ExperimentKeys | None] = field(default_factory=dict)
    """GRPO runs by name (small letters, digits, `_` and `-`; at most 40). Each can override any key
    of `grpo`. The name of a question's experiment changes that one, and `null` drops it. Any other
    name is an experiment of your own, which always runs and needs `teacher_correctness`."""
    curves: dict[str, CurvesFigure | None] = field(default_factory=dict)
    """Figures of your own by name (as experiments are named): each draws metrics of experiments
    against the iteration, `results/figures/<name>.pdf`. `null` drops one of the file below."""
