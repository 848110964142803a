"""Documents that are made from something say what it says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_configurations_page_is_the_schemas() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workflow.tools.config_reference"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    page = (ROOT / "config/README.md").read_text(encoding="utf-8")
    assert page == done.stdout, "run `make config-reference`"
