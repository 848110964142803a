"""State dicts on disk: the same bytes for the same weights, and no trust in a damaged file."""

import pickle
from pathlib import Path

import pytest
import torch

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.model.checkpoints import load_checkpoint, save_checkpoint
from workflow.lib.model.transformer import Transformer


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


def test_a_missing_checkpoint_is_missing_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.pt")
