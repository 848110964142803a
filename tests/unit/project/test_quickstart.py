"""The way in for readers of code: it runs, and prints what the library says."""

import re

import pytest

from examples import quickstart
from workflow.lib.study.settings import GrpoSettings, SftSettings
from workflow.lib.task.addition import verify
from workflow.lib.training.grpo import train_grpo
from workflow.lib.training.sft import evaluate_sft, train_sft


def test_it_prints_the_curve_of_the_pipelines_own_run(capsys: pytest.CaptureFixture[str]) -> None:
    sft = SftSettings(steps=20, batch_size=64)
    grpo = GrpoSettings(iterations=7, num_prompts=8, eval_prompts=256)
    quickstart.main(sft, grpo)
    output = capsys.readouterr().out

    model = train_sft(42, "sft/q0.3", 0.3, sft)
    before = evaluate_sft(42, "sft/q0.3", model, 256)
    assert f"right on {before['accuracy']:.3f} of all prompts" in output
    curve = re.findall(r"^ +(\d+)  (\S+) (█*)░* (\S+)  +(\S+)$", output, re.MULTILINE)
    assert [(int(n), accuracy, carry, zero_std) for n, accuracy, _, carry, zero_std in curve] == [
        (
            row.iteration,
            f"{row.accuracy:.3f}",
            f"{row.accuracy_carry:.3f}",
            f"{row.frac_reward_zero_std:.2f}",
        )
        for row in train_grpo(42, "grpo/weak", model, verify, grpo)
    ]
    assert [len(bar) for _, _, bar, _, _ in curve] == [
        round(40 * float(accuracy)) for _, accuracy, _, _, _ in curve
    ]


def test_its_settings_are_the_chapters_for_fewer_iterations() -> None:
    assert SftSettings() == quickstart.SFT
    assert GrpoSettings(iterations=quickstart.GRPO.iterations) == quickstart.GRPO
    assert (quickstart.SEED, quickstart.Q) == (42, 0.3)
