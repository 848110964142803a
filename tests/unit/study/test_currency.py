"""Which results are damaged and which are out of date, as their records say."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workflow.lib.jobs.records import check_unchanged, read_record, write_record
from workflow.lib.study.currency import State, examine
from workflow.lib.study.layout import Step

FIRST = Step("first", "first", {"table": "first.csv"})
SECOND = Step("second", "second", {"table": "second.csv"})
THIRD = Step("third", "third", {"table": "third.csv"})
STEPS = [FIRST, SECOND, THIRD]
"""Each is made from the one before."""
MADE_BY: dict[str, Any] = {"code": ["a.py@1"], "software": {"python": "3.11"}, "beta": 0.0}


def make(step: Step, *inputs: Step) -> None:
    settings = {key: value for key, value in MADE_BY.items() if key not in ("code", "software")}
    files = [file for read in inputs for file in read.outputs]
    made_by = {
        **{key: MADE_BY[key] for key in ("code", "software")},
        **{"settings": settings, "machine": {}, "seconds": 1.0},
        "inputs": check_unchanged(files, [read.record for read in inputs]),
    }
    for file in step.outputs:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(step["table"]).write_text(f"{step.name}\n")
    write_record(step.record, made_by, step.results)


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(FIRST)
    make(SECOND, FIRST)
    make(THIRD, SECOND)


def state(**changes: Any) -> State:
    """With changes of what the second job would be made by."""
    return examine(STEPS, lambda step: {**MADE_BY, **(changes if step is SECOND else {})})


def test_what_would_be_made_the_same_is_current() -> None:
    assert state() == State()


def test_a_change_reaches_what_depends_on_it() -> None:
    assert state(beta=0.1).outdated == {"second": "beta was 0.0, is 0.1", "third": ""}


def test_what_is_made_again_with_the_same_bytes_leaves_the_rest_current() -> None:
    make(SECOND, FIRST)
    assert state() == State()


def test_other_bytes_of_an_input_are_seen_though_its_own_record_knows_them() -> None:
    Path(FIRST["table"]).write_text("from another study\n")
    write_record(FIRST.record, {**read_record(FIRST.record)}, FIRST.results)
    outdated = state().outdated
    assert outdated.keys() == {"second", "third"} and "first" in outdated["second"]


def lose(path: str) -> Callable[[], None]:
    return Path(path).unlink


def spoil(path: str, text: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(text)


@pytest.mark.parametrize(
    ("fault", "outdated"),
    [
        (lose(SECOND["table"]), {"second": "", "third": ""}),
        (lose(SECOND.record), {"second": "", "third": ""}),
        (spoil(SECOND.record, "null"), {"second": "its record cannot be read", "third": ""}),
        (lambda: shutil.copy(FIRST.record, SECOND.record), None),
    ],
)
def test_a_result_without_its_record_is_not_current(
    fault: Callable[[], object], outdated: dict[str, str] | None
) -> None:
    fault()
    assert state().outdated == (outdated or {"second": "its record is of other files", "third": ""})
    assert state().damaged == {}


def test_a_damaged_result_is_named_and_nothing_outside_the_study_is() -> None:
    Path(THIRD["table"]).write_text("edited\n")
    record = read_record(SECOND.record)
    write_record(SECOND.record, {**record}, ["/etc/hostname"])
    assert list(state().damaged) == [THIRD["table"]]
