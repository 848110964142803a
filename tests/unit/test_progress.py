"""How far a loop has come."""

import pytest

from workflow.lib.progress import Progress


def test_a_line_says_how_far_how_fast_and_how_long(capsys: pytest.CaptureFixture) -> None:
    Progress(10, "step").report(5, loss=0.25)
    line = capsys.readouterr().out
    assert line.startswith("step 5/10  loss 0.2500  ")
    assert " steps/s  " in line and line.endswith(" s left\n")
