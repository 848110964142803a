"""The tools that judge a finished run."""

import copy
import hashlib
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.unit.questions.examples import QUESTIONS, changed, runs_of, write_runs
from workflow.lib.jobs import fingerprint
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
    decided,
)
from workflow.lib.study.tables import write_csv
from workflow.tools import claims_by_seed, require_claims, verify


@pytest.fixture(autouse=True)
def present_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that the manifests name counts as the present one."""
    monkeypatch.setattr(verify, "changed_files", lambda code: [])


TABLE = "iteration,accuracy\n1,0.5\n5,{}\n"
MANIFEST: dict[str, Any] = {
    "study": {"seeds": [42]},
    "code": ["workflow/lib/training/sft.py@0123456789ab"],
    "software": [{"torch": "2.13.0"}],
    "machines": [{"cpu": "A", "torch": "2.13.0"}],
    "sha256": {
        "results/grpo/weak/seed42.csv": hashlib.sha256(TABLE.format(0.75).encode()).hexdigest(),
        "results/sft/q0.3/seed42.pt": hashlib.sha256(b"x").hexdigest(),
    },
}


def make_run(folder: Path, manifest: dict[str, Any], accuracy: float, verdict: str) -> Path:
    (folder / "grpo/weak").mkdir(parents=True)
    (folder / "sft/q0.3").mkdir(parents=True)
    table = TABLE.format(accuracy)
    made = {"results/grpo/weak/seed42.csv": hashlib.sha256(table.encode()).hexdigest()}
    manifest = {**manifest, "sha256": {**manifest["sha256"], **made}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "grpo/weak/seed42.csv").write_text(table)
    (folder / "sft/q0.3/seed42.pt").write_bytes(b"x")
    (folder / "claims.csv").write_text(f"claim,observed,verdict\nfast,10,{verdict}\n")
    return folder


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    folder = make_run(tmp_path / "reference", MANIFEST, 0.75, "reproduced")
    (folder / "sft/q0.3/seed42.pt").unlink()
    return folder


def compare(
    tmp_path: Path,
    reference: Path,
    verdict: str = "reproduced",
    accuracy: float = 0.75,
    **changes: object,
) -> tuple[int, Path]:
    manifest = {**copy.deepcopy(MANIFEST), **changes}
    ours = make_run(tmp_path / "results", manifest, accuracy, verdict)
    return verify.main(ours, reference), ours


def test_the_same_bytes(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(tmp_path, reference)[0] == 0
    assert capsys.readouterr().out == "All 2 results have the same bytes as the reference.\n"


def test_another_processor(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _ = compare(tmp_path, reference, accuracy=0.7, machines=[{"cpu": "B"}])
    assert status == 0
    assert capsys.readouterr().out.splitlines() == [
        "Every claim holds, as in the reference run.",
        "1 of 2 results have other bytes. Likely reason: another processor (B, where the reference "
        "has A).",
        "  results/grpo/weak/seed42.csv: accuracy by at most 0.05",
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"software": [{"torch": "2.14.0"}]}, "other versions of packages ({'torch': '2.14.0'})."),
        (
            {"code": [f"workflow/lib/{n}.py@ffffffffffff" for n in range(5)]},
            "other code (workflow/lib/0.py@ffffffffffff, workflow/lib/1.py@ffffffffffff, "
            "workflow/lib/2.py@ffffffffffff, 2 more).",
        ),
        (
            {"code": [], "machines": [{"cpu": "B", "torch": "2.13.0"}]},
            "other code; another processor (B, where the reference has A).",
        ),
        (
            {"machines": [{"cpu": "A", "torch": "2.13.0+cpu"}]},
            "the same processor, but another torch.",
        ),
        ({}, "none that the manifests know of"),
    ],
)
def test_the_likely_reason(
    tmp_path: Path,
    reference: Path,
    changes: dict[str, Any],
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare(tmp_path, reference, accuracy=0.7, **changes)[0] == 0
    assert f"Likely reason: {reason}" in capsys.readouterr().out


def test_other_bytes_and_a_claim_that_fails(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, ours = compare(tmp_path, reference, "not reproduced", accuracy=0.7)
    assert status == 1
    assert "Not all of these claims hold: fast." in capsys.readouterr().out
    assert require_claims.main(ours) == 1
    output = capsys.readouterr()
    assert f"{MANIFEST['sha256']['results/sft/q0.3/seed42.pt']} results/sft/q0.3" in output.out
    assert "fast: not reproduced (10)" in output.err


def test_results_are_looked_at_not_only_the_manifest(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = make_run(tmp_path / "results", MANIFEST, 0.75, "reproduced")
    (ours / "sft/q0.3/seed42.pt").write_bytes(b"damaged")
    (ours / "grpo/weak/seed42.csv").unlink()
    assert verify.main(ours, reference) == 1
    output = capsys.readouterr().out
    assert "2 results are missing, or not as they were made" in output
    assert "`rm -f results/grpo/weak/seed42.csv results/sft/q0.3/seed42.pt`" in output


def test_results_of_other_code_than_is_here_are_not_compared(
    tmp_path: Path,
    reference: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(verify, "changed_files", fingerprint.changed_files)
    code = [f"workflow/lib/task/teacher.py@{'0' * 12}"]
    assert compare(tmp_path, reference, accuracy=0.7, code=code)[0] == 2
    assert "not of the code as it is now (workflow/lib/task/teacher.py)" in capsys.readouterr().err


def test_another_study_or_none_is_not_compared(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(tmp_path, reference, study={"seeds": [1]})[0] == 2
    assert "The configuration is not the reference's" in capsys.readouterr().out
    assert verify.main(tmp_path / "nowhere", reference) == 2
    assert "nowhere/manifest.json is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (REPRODUCED, 0),
        (AS_EXPECTED, 0),
        (CONTRADICTED, 0),
        (NOT_REPRODUCED, 1),
        (NOT_AS_EXPECTED, 1),
        (NOT_APPLICABLE, 1),
    ],
)
def test_a_claim_holds_by_its_verdict(tmp_path: Path, verdict: str, status: int) -> None:
    run = make_run(tmp_path / "results", MANIFEST, 0.7, verdict)
    assert require_claims.main(run) == status


def test_the_verdicts_of_a_good_run_of_everything_pass(tmp_path: Path) -> None:
    run = make_run(tmp_path / "results", MANIFEST, 0.7, REPRODUCED)
    rows = [
        row
        for name, question in QUESTIONS.items()
        for row in decided(name, question, runs_of(name), "")
    ]
    write_csv(run / "claims.csv", rows)
    assert require_claims.main(run) == 0


def test_claims_are_required(tmp_path: Path) -> None:
    run = make_run(tmp_path / "results", MANIFEST, 0.7, "reproduced")
    assert require_claims.main(run) == 0
    (run / "claims.csv").write_text("claim,observed,verdict\nfast,10,not applicable\n")
    assert require_claims.main(run) == 1
    (run / "claims.csv").write_text("claim,observed,verdict\n")
    with pytest.raises(ValueError, match="holds no claims"):
        require_claims.main(run)


def test_claims_are_decided_for_each_seed_and_for_all_of_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of three seeds stalls: its own study fails, and so does that of all three."""
    monkeypatch.chdir(tmp_path)
    runs = {name: runs_of("predictions")[name] for name in ("weak", "long", "cold")}
    runs["weak"] = changed(runs["weak"], "metrics", {"accuracy": 0.85}, [43])
    write_runs(runs)
    claims_by_seed.main(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert "overturn: 1 of 3 studies of 1 seeds fail" in lines
    assert "overturn: 1 of 1 studies of 3 seeds fail" in lines
    assert "stable: 0 of 3 studies of 1 seeds fail" in lines
    assert "    43: overall: 0.850; carry: 1.000" in lines
    assert sum(" fail" in line for line in lines) == 2 * 10


@pytest.mark.parametrize("seeds", [[42], [44, 42]])
def test_runs_of_some_seeds_have_those_in_every_table(seeds: list[int]) -> None:
    run = runs_of("fig6_reward_is_the_objective")["learned"]
    part = claims_by_seed.only(run, seeds)
    for field in fields(run):
        value = getattr(part, field.name)
        if field.name in ("q", "settings"):
            assert value == getattr(run, field.name)
        else:
            assert sorted(value) == sorted(seeds)


def test_a_table_of_claims_is_no_damaged_table_of_numbers(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = "results/questions/fig1_rlvr_overturns.csv"
    ours = make_run(tmp_path / "results", MANIFEST, 0.75, "reproduced")
    for folder, observed in ((reference, "10"), (ours, "15")):
        table = folder / "questions/fig1_rlvr_overturns.csv"
        table.parent.mkdir()
        table.write_text(f"claim,observed\nfast,{observed}\n")
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["sha256"][file] = hashlib.sha256(table.read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
    assert verify.main(ours, reference) == 0
    assert "and 1 without numbers to compare\n" in capsys.readouterr().out


def test_without_results_one_sentence_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert require_claims.main(tmp_path) == 2
    assert (
        capsys.readouterr().err == f"{tmp_path}/manifest.json is missing: run `snakemake` first.\n"
    )


@pytest.mark.parametrize(
    "tool",
    [
        *(f"workflow.tools.{name}" for name in ("watch", "verify", "require_claims")),
        *("workflow.tools.claims_by_seed", "examples.quickstart"),
    ],
)
def test_a_tool_says_what_it_is_for(tool: str) -> None:
    command = [sys.executable, "-m", tool, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: python -m {tool}")
