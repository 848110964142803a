"""Runs: what is told of their rows, and how they are read from what jobs left behind."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.questions.examples import changed, made_by, make_runs
from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import write_record
from workflow.lib.study import layout, runs
from workflow.lib.study.configuration import Study, read_study
from workflow.lib.study.metrics import Row
from workflow.lib.study.question import Question
from workflow.lib.study.runs import GRPO_COLUMNS, REWARD_COLUMNS, SFT_COLUMNS, Runs
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.study.tables import write_csv
from workflow.lib.task import addition, arithmetic

ITERATIONS = [1.0, 5.0, 10.0, 15.0]


def run_of(kl: list[float], seed: int = 1) -> Runs:
    """Runs of one seed that recorded these KLs."""
    run = make_runs(settings=GrpoSettings(iterations=15), seeds=[seed])
    assert run.metrics[seed].iteration.tolist() == ITERATIONS
    return changed(run, "metrics", {"kl": kl}, [seed])


def test_a_metric_at_an_iteration_is_that_of_the_last_row_up_to_it() -> None:
    run = run_of([0.1, 0.5, 0.3, 0.2])
    asked = {1: 0.1, 4: 0.1, 5: 0.5, 9: 0.5, 10: 0.3, 15: 0.2, 1000: 0.2}
    assert {at: run.at(at, "kl")[1] for at in asked} == asked
    assert run.last("kl") == {1: 0.2}


def test_late_is_the_last_third() -> None:
    """Of 15 iterations those after the tenth; of 30 those after the twentieth."""
    assert run_of([9.0, 9.0, 9.0, 2.0]).late("kl") == {1: 2.0}
    longer = make_runs(settings=GrpoSettings(iterations=30), seeds=[1])
    longer = changed(longer, "metrics", {"kl": [9, 9, 9, 9, 9, 1, 3]}, [1])
    assert longer.metrics[1].iteration.iloc[-2:].tolist() == [25, 30]
    assert longer.late("kl") == {1: 2.0}


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.floats(0, 1))
def test_a_level_is_reached_at_the_first_row_at_it_or_above(kl: list[float], level: float) -> None:
    expected = next(
        (at for at, value in zip(ITERATIONS, kl, strict=True) if value >= level), np.inf
    )
    assert run_of(kl).reaches("kl", level) == {1: expected}


def test_a_level_that_is_never_reached_is_reached_at_infinity() -> None:
    assert run_of([0.1, np.nan, 0.3, 0.2]).reaches("kl", 0.4) == {1: np.inf}


def test_each_seed_has_its_own_numbers() -> None:
    run = changed(make_runs(seeds=[7, 3]), "metrics", {"kl": 1.0}, [3])
    run = changed(run, "sft", {"accuracy": 0.4}, [7])
    assert list(run.last("kl")) == [7, 3]
    assert run.last("kl")[3] == 1.0 != run.last("kl")[7]
    assert run.start("accuracy")[7] == 0.4 != run.start("accuracy")[3]


def test_the_tail_is_the_rows_of_the_last_iterations() -> None:
    frame = run_of([0.0] * 4).metrics[1]
    assert runs.tail(frame, 5).iteration.tolist() == [15]
    assert runs.tail(frame, 6).iteration.tolist() == [10, 15]
    assert runs.tail(frame, 1000).iteration.tolist() == ITERATIONS


def test_the_carry_of_a_table_is_the_task_s() -> None:
    a, b = addition.all_prompts()
    table = pd.DataFrame({"a": a.tolist(), "b": b.tolist()}, dtype=float)
    assert runs.has_carry(table).tolist() == arithmetic.has_carry(a, b).tolist()
    assert (~runs.has_carry(table)).sum() == 3025


def test_a_sweep_is_in_the_order_of_its_values_and_the_first_of_two_counts() -> None:
    one, two, again = (make_runs(q) for q in (0.3, 0.0, 0.3))
    swept = runs.sweep({"one": one, "two": two, "again": again}, lambda run: run.q)
    assert list(swept) == [0.0, 0.3]
    assert swept[0.0] is two and swept[0.3] is one


# From files

QUESTION = Question(
    title="",
    claims=[],
    caption="",
    experiments={
        "one": {"teacher_correctness": 0.3, "iterations": 5},
        "two": {"teacher_correctness": 0.3, "reward": "learned"},
        "three": {"teacher_correctness": 0.0},
    },
)
SEEDS = [9, 1]
NAMES = ["one", "two", "three"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study all of whose training jobs have run; every file holds a number of its own."""
    monkeypatch.chdir(tmp_path)
    study = read_study({"seeds": SEEDS, "questions": "all"}, {"fig1_x": QUESTION})
    for number, step in enumerate(layout.training(study, NAMES), 1):
        for what in ("metrics", "prompts"):
            if what in step.files:
                Path(step[what]).parent.mkdir(parents=True, exist_ok=True)
        columns = {
            "grpo": tuple(field.name for field in fields(Row)),
            "sft": SFT_COLUMNS,
            "reward": REWARD_COLUMNS,
        }[step.name.partition("/")[0]]
        write_csv(step["metrics"], [dict.fromkeys(columns, float(number))])
        written = [step["metrics"]]
        if "prompts" in step.files:
            write_csv(
                step["prompts"], [{"a": number, "b": 2, "solved": 0.0, "probability": 0.5}] * 2
            )
            written.append(step["prompts"])
        Path(step.record).parent.mkdir(parents=True, exist_ok=True)
        write_record(step.record, made_by(number / 2), written)
    return study


def read(study: Study, names: list[str] = NAMES) -> dict[str, Runs]:
    experiments: dict[str, Any] = {
        name: {
            "teacher_correctness": study.experiments[name].teacher_correctness,
            "grpo": vars(study.experiments[name].grpo),
        }
        for name in names
    }
    return runs.read_runs(layout.files_of_runs(study, names), experiments, study.seeds)


def test_runs_are_read_from_the_files_of_their_own_jobs(study: Study) -> None:
    numbers = {step.name: n for n, step in enumerate(layout.training(study, NAMES), 1)}
    found = read(study)
    assert list(found) == NAMES
    for name, run in found.items():
        q = study.experiments[name].teacher_correctness
        assert run.q == q and run.settings == study.experiments[name].grpo
        for table in (run.metrics, run.sft, run.before, run.after):
            assert list(table) == SEEDS
        for seed in SEEDS:
            started = numbers[f"sft/q{layout.format_q(q)}/seed{seed}"]
            trained = numbers[f"grpo/{name}/seed{seed}"]
            assert run.metrics[seed].accuracy.item() == trained
            assert run.sft[seed].accuracy.item() == started
            assert run.before[seed].a.tolist() == [started] * 2
            assert run.after[seed].a.tolist() == [trained] * 2
            assert run.sft_seconds[seed] == started / 2
            assert run.grpo_seconds[seed] == trained / 2


def test_only_a_learned_reward_has_reward_models(study: Study) -> None:
    found = read(study)
    assert found["one"].reward_models == found["three"].reward_models == {}
    numbers = [frame.margin.item() for frame in found["two"].reward_models.values()]
    names = [step.name for step in layout.training(study, NAMES)]
    assert numbers == [names.index(f"reward/q0.3/seed{seed}") + 1 for seed in SEEDS]


def test_experiments_that_start_alike_share_their_tables(study: Study) -> None:
    found = read(study)
    assert found["one"].sft[9] is found["two"].sft[9] is not found["three"].sft[9]
    assert found["one"].before[1] is found["two"].before[1]


def test_a_damaged_file_among_the_runs_is_named(study: Study) -> None:
    path = layout.GRPO.of(experiment="two", seed=1)["prompts"]
    Path(path).write_text("a,b,solved\n1,2,3\n")
    with pytest.raises(DamagedFileError, match=f"{path} lacks the column probability"):
        read(study)
    assert list(read(study, ["one", "three"])) == ["one", "three"]


def test_a_gap_of_an_accuracy_on_a_rare_kind_is_none(study: Study) -> None:
    path = layout.GRPO.of(experiment="one", seed=1)["metrics"]
    frame = pd.read_csv(path)
    frame.assign(accuracy_both=np.nan).to_csv(path, index=False)
    assert np.isnan(read(study)["one"].metrics[1].accuracy_both.item())


HEADER = ",".join(GRPO_COLUMNS)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "is not a table of numbers"),
        ("\x00\x01\xff", ""),
        (HEADER, "has no rows"),
        (HEADER + "\n1,2,3", "gaps"),
        (HEADER + "\n1,2,3,4,5,six", "is not a table of numbers"),
        ("iteration,accuracy\n1,2", "lacks the column accuracy_carry"),
    ],
)
def test_a_damaged_table_is_named_with_what_to_do(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "seed1.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DamagedFileError) as caught:
        runs.read_table(path, GRPO_COLUMNS)
    assert str(path) in str(caught.value) and fault in str(caught.value)
    assert f"Run `rm {path}`, then the same command again" in str(caught.value)


def test_a_missing_table_is_missing_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        runs.read_table(tmp_path / "none.csv", [])


def test_tables_are_in_the_order_of_experiments_then_seeds(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.csv") for n in range(4)]
    for n, path in enumerate(paths):
        write_csv(path, [{"x": float(n)}])
    tables = runs.read_tables(paths, ["one", "two"], [9, 1], ["x"])
    assert {
        (name, seed): frame.x.item() for name, of in tables.items() for seed, frame in of.items()
    } == {("one", 9): 0, ("one", 1): 1, ("two", 9): 2, ("two", 1): 3}
    with pytest.raises(ValueError, match="zip"):
        runs.read_tables(paths[:3], ["one", "two"], [9, 1], ["x"])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float]
) -> None:
    path = tmp_path_factory.mktemp("floats") / "a.csv"
    write_csv(path, [{"x": number, "n": 1} for number in numbers])
    assert runs.read_table(path, ["x"]).x.tolist() == numbers
