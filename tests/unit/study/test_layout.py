"""Where files lie: all below one folder, each made by one job, all named once."""

from collections import Counter
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.questions.examples import QUESTIONS
from workflow.lib.study import layout
from workflow.lib.study.configuration import Study, read_study
from workflow.lib.study.layout import Step

PATTERNS = [value for value in vars(layout).values() if isinstance(value, Step)]


@pytest.fixture(scope="module")
def study() -> Study:
    return read_study({"questions": "all", "seeds": [7, 3]}, QUESTIONS)


@pytest.fixture(scope="module")
def steps(study: Study) -> list[Step]:
    """Every job of a study of everything."""
    questions = [
        (layout.DRAWN_QUESTION if question.draw else layout.QUESTION).of(question=name)
        for name, question in QUESTIONS.items()
    ]
    once = [layout.CLAIMS, layout.EXPLORE, layout.MANIFEST, layout.REPORT]
    curves = layout.CURVES.of(curves="mine")
    return [*layout.training(study, list(study.experiments)), *questions, curves, *once]


def files_of(step: Step) -> list[str]:
    return [*step.results, step.record, step.log, step.benchmark]


def test_every_path_lies_below_results(steps: list[Step]) -> None:
    for step in [*steps, *PATTERNS]:
        for path in files_of(step):
            assert path.startswith("results/") and "//" not in path and ".." not in path


def test_no_two_jobs_share_a_file(steps: list[Step]) -> None:
    counts = Counter(path for step in steps for path in files_of(step))
    assert [path for path, count in counts.items() if count > 1] == []
    assert len(counts) > 500


def test_a_job_s_own_files_are_named_after_it() -> None:
    step = layout.GRPO.of(experiment="weak", seed=42)
    assert step.name == "grpo/weak/seed42"
    assert step.record == "results/records/grpo/weak/seed42.json"
    assert step.log == "results/logs/grpo/weak/seed42.log"
    assert step.benchmark == "results/benchmarks/grpo/weak/seed42.tsv"
    assert step["metrics"] == "results/grpo/weak/seed42.csv"
    assert step.record not in step.results
    assert step.results == [step[what] for what in step.files]


@pytest.mark.parametrize("step", PATTERNS, ids=lambda step: step.name)
def test_every_file_of_a_job_has_all_of_its_wildcards(step: Step) -> None:
    def wildcards(pattern: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(pattern) if name}

    for path in files_of(step):
        assert wildcards(path) == wildcards(step.name), path


def test_every_training_job_is_listed_once(study: Study) -> None:
    steps = layout.training(study, ["weak", "long", "learned", "learned-anchored", "cold"])
    assert Counter(step.name for step in steps) == Counter(
        f"{name}/seed{seed}"
        for seed in (7, 3)
        for name in [
            *("sft/q0.3", "sft/q0", "reward/q0.3"),
            *("grpo/weak", "grpo/long", "grpo/learned", "grpo/learned-anchored", "grpo/cold"),
        ]
    )
    names = [step.name for step in steps]
    for seed in (7, 3):
        for before in ("sft/q0.3", "reward/q0.3"):
            assert names.index(f"{before}/seed{seed}") < names.index(f"grpo/learned/seed{seed}")


def test_files_of_runs_are_in_the_order_of_experiments_then_seeds(study: Study) -> None:
    files = layout.files_of_runs(study, ["learned", "cold"])
    assert files == {
        "grpo": [
            *("results/grpo/learned/seed7.csv", "results/grpo/learned/seed3.csv"),
            *("results/grpo/cold/seed7.csv", "results/grpo/cold/seed3.csv"),
        ],
        "sft": [
            *("results/sft/q0.3/seed7.csv", "results/sft/q0.3/seed3.csv"),
            *("results/sft/q0/seed7.csv", "results/sft/q0/seed3.csv"),
        ],
        "before": [
            *("results/sft/q0.3/prompts/seed7.csv", "results/sft/q0.3/prompts/seed3.csv"),
            *("results/sft/q0/prompts/seed7.csv", "results/sft/q0/prompts/seed3.csv"),
        ],
        "after": [
            *("results/grpo/learned/prompts/seed7.csv", "results/grpo/learned/prompts/seed3.csv"),
            *("results/grpo/cold/prompts/seed7.csv", "results/grpo/cold/prompts/seed3.csv"),
        ],
        "reward": ["results/reward/q0.3/seed7.csv", "results/reward/q0.3/seed3.csv"],
        "records": [step.record for step in layout.training(study, ["learned", "cold"])],
    }


def test_a_rule_needs_no_reward_model(study: Study) -> None:
    assert layout.reward_model(study, "weak", 7) is None
    assert layout.reward_model(study, "within-10", 7) is None
    model = layout.reward_model(study, "learned", 7)
    assert model and model["checkpoint"] == "results/reward/q0.3/seed7.pt"


@pytest.mark.parametrize(
    ("q", "spelling"),
    [(0.3, "0.3"), (1, "1"), (1.0, "1"), (0, "0"), (-0.0, "0"), (1e-5, "1e-05"), (0.001, "0.001")],
)
def test_a_correctness_has_one_spelling(q: float, spelling: str) -> None:
    assert layout.format_q(q) == spelling


@given(st.floats(0, 1))
def test_the_spelling_of_a_correctness_is_read_back(q: float) -> None:
    assert float(layout.format_q(q)) == q
