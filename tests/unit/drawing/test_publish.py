"""The job of a question, from the files of its runs to its figure, claims and caption."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.jobs.test_job import Files
from tests.unit.questions.examples import QUESTIONS, SEEDS, runs_of, write_runs
from workflow.lib.drawing.publish import publish
from workflow.lib.jobs.job import Script
from workflow.lib.study import layout
from workflow.lib.study.question import NOT_APPLICABLE, decided
from workflow.lib.study.runs import read_claims


def script_of(name: str, difference: str = "") -> Script:
    """What Snakemake hands to the job of a question all of whose runs are good."""
    question, study = QUESTIONS[name], write_runs(runs_of(name))
    step = (layout.DRAWN_QUESTION if question.draw else layout.QUESTION).of(question=name)
    for path in (*step.results, step.record, step.log):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "question": name,
        "difference": difference,
        "seeds": list(SEEDS),
        "experiments": {key: asdict(study.experiments[key]) for key in question.names},
        "code": [],
        "software": {},
    }
    inputs = InputFiles(**layout.files_of_runs(study, question.names))
    outputs = Files(**{what: step[what] for what in step.files}, record=step.record)
    script = SimpleNamespace(
        log=[step.log], input=inputs, output=outputs, params=SimpleNamespace(job=settings)
    )
    return cast(Script, script)


class InputFiles(Files):
    """Files of which lists have names."""

    def __getitem__(self, name: Any) -> Any:
        return vars(self)[name]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["fig1_rlvr_overturns", "cost"])
def test_a_question_s_job_writes_what_its_runs_say(name: str) -> None:
    question = QUESTIONS[name]
    publish(question, script_of(name))
    step = (layout.DRAWN_QUESTION if question.draw else layout.QUESTION).of(question=name)
    claims = read_claims(step["claims"])
    assert claims == decided(name, question, runs_of(name), "")
    caption = Path(step["caption"]).read_text(encoding="utf-8")
    assert caption.startswith(question.caption) and claims[0]["observed"] in caption
    log = Path(step.log).read_text(encoding="utf-8")
    assert f"{claims[0]['claim']}: {claims[0]['verdict']} ({claims[0]['observed']})" in log
    made = json.loads(Path(step.record).read_text(encoding="utf-8"))["sha256"]
    assert sorted(made) == sorted(step.results)
    if question.draw:
        assert f"/Title ({question.title})".encode() in Path(step["figure"]).read_bytes()


def test_what_was_run_otherwise_is_drawn_and_not_judged() -> None:
    name = "fig1_rlvr_overturns"
    publish(QUESTIONS[name], script_of(name, "sft.steps is 3, not 1200"))
    step = layout.DRAWN_QUESTION.of(question=name)
    assert {row["verdict"] for row in read_claims(step["claims"])} == {NOT_APPLICABLE}
    assert "sft.steps is 3, not 1200" in Path(step["caption"]).read_text(encoding="utf-8")
    assert Path(step["figure"]).read_bytes().startswith(b"%PDF")


def test_runs_that_were_changed_by_hand_are_refused() -> None:
    name = "fig1_rlvr_overturns"
    script = script_of(name)
    path = layout.GRPO.of(experiment="weak", seed=43)["metrics"]
    Path(path).write_text(Path(path).read_text().replace("1.0", "0.9"))
    with pytest.raises(SystemExit):
        publish(QUESTIONS[name], script)
    assert f"{path} is not what its job wrote" in Path(script.log[0]).read_text()
    assert not Path(layout.DRAWN_QUESTION.of(question=name)["claims"]).exists()
