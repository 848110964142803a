"""Results on disk: whole or not at all, and refused where damaged."""

import math
import os
import pickle
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

from workflow.lib.jobs.files import (
    DamagedFileError,
    UnwritableFileError,
    forget_future_times,
    load_checkpoint,
    save_checkpoint,
    whole_file,
    write_csv,
)
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.tables import GRPO_COLUMNS, read_metrics, read_seeds


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


def test_floats_survive_a_round_trip(tmp_path: Path) -> None:
    numbers = [0.1, 1 / 3, 1e-300, -0.0, 123456789.123456789, math.pi * 1e-8, 5e-324]
    write_csv(tmp_path / "a.csv", [{"x": number, "n": 1} for number in numbers])
    assert read_metrics(tmp_path / "a.csv", ["x"]).x.tolist() == numbers


def test_checkpoint_round_trip_has_the_same_bytes_under_any_name(tmp_path: Path) -> None:
    state = Transformer.initial(0).state_dict()
    save_checkpoint(tmp_path / "a.pt", state)
    save_checkpoint(tmp_path / "other name.pt", state)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "other name.pt").read_bytes()
    loaded = load_checkpoint(tmp_path / "a.pt")
    assert list(loaded) == list(state)
    assert all(loaded[key].equal(state[key]) for key in state)


class Evil:
    """A pickle that would run code."""

    def __reduce__(self) -> tuple:
        return (Path.touch, (Path("was-run"),))


def test_a_pickle_that_would_run_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"emb.weight": Evil()}, tmp_path / "zip.pt")
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Evil()))
    for name in ("zip.pt", "raw.pt"):
        with pytest.raises(DamagedFileError, match=f"{name} is no checkpoint"):
            load_checkpoint(tmp_path / name)
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("damage", [b"", b"garbage", "half"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, damage: bytes | str) -> None:
    path = tmp_path / "seed1.pt"
    save_checkpoint(path, Transformer.initial(0).state_dict())
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if isinstance(damage, str) else damage)
    with pytest.raises(DamagedFileError) as caught:
        load_checkpoint(path)
    message = str(caught.value)
    assert str(path) in message and f"Run `rm {path}`, then the same command again" in message
    assert "\n" not in message


def test_a_missing_file_is_missing_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.pt")
    with pytest.raises(FileNotFoundError):
        read_metrics(tmp_path / "none.csv", [])


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
def test_a_damaged_table_is_named(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "seed1.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DamagedFileError) as caught:
        read_metrics(path, GRPO_COLUMNS)
    assert str(path) in str(caught.value) and fault in str(caught.value)
    assert f"Run `rm {path}`, then the same command again" in str(caught.value)


def test_seeds_keep_their_order(tmp_path: Path) -> None:
    for seed in (9, 1):
        write_csv(tmp_path / f"{seed}.csv", [{"x": float(seed)}])
    frames = read_seeds([str(tmp_path / "9.csv"), str(tmp_path / "1.csv")], [9, 1], ["x"])
    assert list(frames) == [9, 1]
    pd.testing.assert_frame_equal(frames[1], pd.DataFrame({"x": [1.0]}))
