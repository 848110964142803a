"""Documents that are made from something say what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("page", "tool"),
    [("config/README.md", "config_reference"), ("docs/architecture.md", "architecture")],
)
def test_a_page_that_is_made_is_what_its_tool_makes(page: str, tool: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"workflow.tools.{tool}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == done.stdout, f"run `make {tool.replace('_', '-')}`"


def test_the_library_has_pages_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "pdoc", "--docformat", "google"),
            *("--output-directory", str(tmp_path), "workflow.lib"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    page = (tmp_path / "workflow/lib/training/grpo.html").read_text(encoding="utf-8")
    assert "Group Relative Policy Optimization" in page
