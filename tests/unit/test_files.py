"""Results on disk: whole or not at all, and refused where damaged."""

import math
import pickle
from pathlib import Path

import pandas as pd
import pytest
import torch

from workflow.lib.files import (
    DamagedFileError,
    load_checkpoint,
    save_checkpoint,
    whole_file,
    write_csv,
)
from workflow.lib.model import Transformer
from workflow.lib.tables import GRPO_COLUMNS, read_metrics, read_seeds


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
    assert str(path) in message and "Delete it and run `snakemake` again" in message
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
    assert "Delete it and run `snakemake` again" in str(caught.value)


def test_seeds_keep_their_order(tmp_path: Path) -> None:
    for seed in (9, 1):
        write_csv(tmp_path / f"{seed}.csv", [{"x": float(seed)}])
    frames = read_seeds([str(tmp_path / "9.csv"), str(tmp_path / "1.csv")], [9, 1], ["x"])
    assert list(frames) == [9, 1]
    pd.testing.assert_frame_equal(frames[1], pd.DataFrame({"x": [1.0]}))
