"""How far a loop has come."""

import pytest
import torch

from workflow.lib.jobs.progress import Progress


def test_a_line_says_how_far_how_fast_and_how_long(capsys: pytest.CaptureFixture) -> None:
    Progress(10, "step").report(5, {"loss": 0.25})
    line = capsys.readouterr().out
    assert line.startswith("step 5/10  loss 0.2500  ")
    assert " steps/s  " in line and line.endswith(" s left\n")


def test_a_line_shows_the_metrics_that_matter_under_short_names(
    capsys: pytest.CaptureFixture,
) -> None:
    row = {"kl": 0.5, "iteration": 5, "accuracy": 1.0, "accuracy_carry": 0.25, "entropy": 2.0}
    Progress(10, "iteration").report(5, row)
    assert "5/10  accuracy 1.0000  carry 0.2500  kl 0.5000  " in capsys.readouterr().out


def test_a_loss_may_still_have_a_gradient(capsys: pytest.CaptureFixture) -> None:
    Progress(1, "step").on_step(1, torch.tensor(0.5, requires_grad=True))
    assert "step 1/1  loss 0.5000  " in capsys.readouterr().out


def test_the_time_left_is_at_the_rate_so_far(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress(600, "iteration")
    monkeypatch.setattr("time.monotonic", lambda: progress.start + 12)
    progress.report(240, {})
    assert capsys.readouterr().out.endswith("  20.0 iterations/s  18 s left\n")


def test_what_rounds_to_zero_has_no_sign(capsys: pytest.CaptureFixture) -> None:
    Progress(10, "iteration").report(1, {"kl": -1e-7})
    assert "  kl 0.0000  " in capsys.readouterr().out


def test_of_many_steps_each_hundredth_and_the_last_have_a_line(
    capsys: pytest.CaptureFixture,
) -> None:
    progress = Progress(250, "step")
    for step in range(1, 251):
        progress.on_step(step, 0.5)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["100/250", "200/250", "250/250"]
