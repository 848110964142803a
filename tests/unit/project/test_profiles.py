"""What the two profiles share."""

import re
from pathlib import Path

import yaml

PROFILES = Path(__file__).parents[3] / "profiles"
HERE_ONLY = {"cores", "resources"}
"""What `profiles/default` says of the one machine that it is for."""


def test_a_cluster_runs_again_what_one_machine_would() -> None:
    default, slurm = (
        yaml.safe_load((PROFILES / name / "config.yaml").read_text(encoding="utf-8"))
        for name in ("default", "slurm")
    )
    shared = {key: value for key, value in default.items() if key not in HERE_ONLY}
    assert shared.items() <= slurm.items()
    assert "rerun-triggers" in shared


def test_the_slurm_profile_says_what_each_training_rule_asks_for() -> None:
    """Else the machine that submits the jobs would decide by its own whether they ask for a GPU."""
    asking = set()
    for file in (PROFILES.parent / "workflow/rules").glob("*.smk"):
        _, *rules = re.split(r"^rule (\w+):", file.read_text(), flags=re.MULTILINE)
        asking |= {
            name for name, body in zip(rules[::2], rules[1::2], strict=True) if "gpu=" in body
        }
    slurm = yaml.safe_load((PROFILES / "slurm/config.yaml").read_text(encoding="utf-8"))
    assert set(slurm["set-resources"]) == asking
    assert all(
        {"gpu", "mem_mb", "runtime"} <= set(asked) for asked in slurm["set-resources"].values()
    )
