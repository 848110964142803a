"""Where the files of a study lie: the one place that spells a path of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workflow.lib.study.configuration import Study

RESULTS = "results"
"""The folder of everything that a study makes."""
LOGS, RECORDS = f"{RESULTS}/logs", f"{RESULTS}/records"
SOURCES = f"{RECORDS}/code"
"""The texts of the modules that made the results."""


@dataclass(frozen=True)
class Step:
    """The files of one kind of job: patterns with wildcards, or paths, once they are filled in."""

    kind: str
    """The name of its rule; `question`, of which each has a rule of its own."""
    name: str
    """Of the job, below records, logs and benchmarks."""
    files: Mapping[str, str]
    """The results that it makes, below `RESULTS`, by what they are."""
    wildcards: Mapping[str, Any] = field(default_factory=dict)
    """What they are filled in with."""
    prefix: str = ""
    """What a workflow that uses this one as a module puts before every path."""

    def __getitem__(self, what: str) -> str:
        return f"{self.prefix}{RESULTS}/{self.files[what]}"

    @property
    def results(self) -> list[str]:
        """All that it makes but its record."""
        return [self[what] for what in self.files]

    @property
    def record(self) -> str:
        """What made its results, as JSON."""
        return f"{self.prefix}{RECORDS}/{self.name}.json"

    @property
    def outputs(self) -> list[str]:
        """All that it makes."""
        return [*self.results, self.record]

    @property
    def log(self) -> str:
        """What it prints."""
        return f"{LOGS}/{self.name}.log"

    @property
    def benchmark(self) -> str:
        """How long it took, as Snakemake measures it."""
        return f"{RESULTS}/benchmarks/{self.name}.tsv"

    def of(self, **wildcards: object) -> Step:
        """The step with its wildcards filled in."""
        files = {what: pattern.format(**wildcards) for what, pattern in self.files.items()}
        return Step(self.kind, self.name.format(**wildcards), files, wildcards)


SFT = Step(
    "train_sft",
    "sft/q{q}/seed{seed}",
    {
        "checkpoint": "sft/q{q}/seed{seed}.pt",
        "metrics": "sft/q{q}/seed{seed}.csv",
        "prompts": "sft/q{q}/prompts/seed{seed}.csv",
    },
)
REWARD = Step(
    "train_reward",
    "reward/q{q}/seed{seed}",
    {"checkpoint": "reward/q{q}/seed{seed}.pt", "metrics": "reward/q{q}/seed{seed}.csv"},
)
GRPO = Step(
    "grpo",
    "grpo/{experiment}/seed{seed}",
    {
        "metrics": "grpo/{experiment}/seed{seed}.csv",
        "policy": "grpo/{experiment}/seed{seed}.pt",
        "prompts": "grpo/{experiment}/prompts/seed{seed}.csv",
        "answers": "grpo/{experiment}/answers/seed{seed}.csv",
    },
)
TRAINING = (SFT, REWARD, GRPO)

QUESTION = Step(
    "question",
    "questions/{question}",
    {"claims": "questions/{question}.csv", "caption": "questions/{question}.rst"},
)
"""Of a question without a figure."""
DRAWN_QUESTION = Step(
    QUESTION.kind, QUESTION.name, {"figure": "figures/{question}.pdf", **QUESTION.files}
)
CURVES = Step("plot_curves", "figures/{curves}", {"figure": "figures/{curves}.pdf"})
CLAIMS = Step("collect_claims", "claims", {"table": "claims.csv"})
EXPLORE = Step("explore", "explore", {"page": "explore.html"})
MANIFEST = Step("manifest", "manifest", {"manifest": "manifest.json"})
REPORT = Step(
    "report_pages",
    "report",
    {
        "front": "report/workflow.rst",
        "claims": "report/claims.html",
        "answers": "report/answers.html",
        "provenance": "report/provenance.html",
    },
)


def sft(study: Study, experiment: str, seed: int) -> Step:
    """The SFT model that an experiment starts from."""
    return SFT.of(q=format_q(study.experiments[experiment].teacher_correctness), seed=seed)


def reward_model(study: Study, experiment: str, seed: int) -> Step | None:
    """The reward model of an experiment; none where a rule judges completions."""
    started = study.experiments[experiment]
    if started.grpo.reward != "learned":
        return None
    return REWARD.of(q=format_q(started.teacher_correctness), seed=seed)


def training(study: Study, experiments: list[str]) -> list[Step]:
    """The training jobs behind some experiments, each once."""
    steps = [step for name in experiments for step in _training(study, name)]
    return list({step.name: step for step in steps}.values())


def _training(study: Study, experiment: str) -> Iterator[Step]:
    for seed in study.seeds:
        yield sft(study, experiment, seed)
        if model := reward_model(study, experiment, seed):
            yield model
        yield GRPO.of(experiment=experiment, seed=seed)


def files_of_runs(study: Study, experiments: list[str]) -> dict[str, list[str]]:
    """The files that hold the runs of some experiments, as `runs.read_runs` takes them.

    Lists by what the files hold, each in the order of the experiments, then seeds; and `records`,
    those of all the jobs that made them.
    """
    runs = [(name, seed) for name in experiments for seed in study.seeds]
    starts = [sft(study, *run) for run in runs]
    trained = [GRPO.of(experiment=name, seed=seed) for name, seed in runs]
    models = [model for run in runs if (model := reward_model(study, *run))]
    return {
        "grpo": [step["metrics"] for step in trained],
        "sft": [step["metrics"] for step in starts],
        "before": [step["prompts"] for step in starts],
        "after": [step["prompts"] for step in trained],
        "reward": [step["metrics"] for step in models],
        "records": [step.record for step in training(study, experiments)],
    }


def format_q(q: float) -> str:
    """The one spelling of a teacher correctness in paths and names: 0.3, 1, 0, 1e-05."""
    return repr(float(q) + 0.0).removesuffix(".0")
