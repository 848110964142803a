"""Results on disk: whole or not at all, and refused where damaged."""

import os
import time
from pathlib import Path

import pytest

from workflow.lib.jobs.files import (
    DamagedFileError,
    UnwritableFileError,
    forget_future_times,
    rebuild,
    whole_file,
)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    with pytest.raises(RuntimeError), whole_file(target) as beside:
        beside.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_file(target) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    with whole_file(target) as beside:
        beside.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]


def test_what_a_killed_writer_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".result.txt.0123abcd.part").write_text("half")
    (tmp_path / ".other.txt.0123abcd.part").write_text("half of another")
    with whole_file(tmp_path / "result.txt") as beside:
        beside.write_text("whole")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".other.txt.0123abcd.part", "result.txt"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")
    with (
        pytest.raises(UnwritableFileError, match=r"result\.txt could not .*: No space left"),
        whole_file(target) as beside,
    ):
        beside.write_text("half")
        Path("/dev/full").write_text("x")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_time_to_come_is_forgotten_and_no_other(tmp_path: Path) -> None:
    old, future = tmp_path / "old", tmp_path / "folder/future"
    future.parent.mkdir()
    for file, seconds in ((old, 1e9), (future, 9e9)):
        file.touch()
        os.utime(file, (seconds, seconds))
    forget_future_times(tmp_path)
    assert old.stat().st_mtime == 1e9
    assert abs(future.stat().st_mtime - time.time()) < 60


def test_a_damaged_file_comes_with_its_remedy() -> None:
    message = str(DamagedFileError("results/a.csv", "is empty"))
    assert message.startswith("results/a.csv is empty. Run `rm results/a.csv`, then the same")
    assert "Run `rm a b`" in rebuild("a", "b")
