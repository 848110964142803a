"""Fingerprints: of meaning, of the whole import closure, of nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.lib.jobs import provenance
from workflow.lib.jobs.fingerprint import fingerprint

ROOT = Path(__file__).parents[3]

SOURCE = '''"""A module."""
import os


def f(x):
    """Says what it does."""
    return x + 1  # one more


class A:
    """A class."""

    y: int = 1
    """An attribute."""
'''


def of(source: str, tmp_path: Path) -> str:
    path = tmp_path / f"{abs(hash(source))}.py"
    path.write_text(source)
    return fingerprint(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# one more", "# two more"),
        ("Says what it does.", "Says nothing."),
        ("A module.", "Another module."),
        ("An attribute.", "Something."),
        ("x + 1", "(x\n        + 1)"),
        ("\n\n\nclass", "\n\n\n\n\nclass"),
        ('    """Says what it does."""\n', ""),
    ],
)
def test_what_is_only_written_otherwise_does_not_count(old: str, new: str, tmp_path: Path) -> None:
    assert old in SOURCE
    assert of(SOURCE, tmp_path) == of(SOURCE.replace(old, new), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ("import os", "import sys"),
        ("y: int = 1", "y: int = 2"),
        ("f(x)", "f(x, z=1)"),
    ],
)
def test_what_means_something_else_counts(old: str, new: str, tmp_path: Path) -> None:
    assert of(SOURCE, tmp_path) != of(SOURCE.replace(old, new), tmp_path)


def test_a_body_of_nothing_but_a_docstring(tmp_path: Path) -> None:
    assert of('def f():\n    """Nothing."""\n', tmp_path) == of("def f():\n    pass\n", tmp_path)


def files_of(script: str) -> set[str]:
    return {entry.partition("@")[0] for entry in provenance.code_of(script)}


SCRIPTS = sorted(path.stem for path in (ROOT / "workflow/scripts").glob("[!_]*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_scripts_code_is_what_python_loads_for_it(script: str) -> None:
    """The import graph against the interpreter: the project's modules, once it has been imported.

    The script stops where it asks for `snakemake`, after its imports.
    """
    program = (
        "import sys, importlib\n"
        f"try: importlib.import_module('workflow.scripts.{script}')\n"
        "except NameError as error: assert 'snakemake' in str(error)\n"
        "import workflow\n"
        "print(*sorted(m.__file__ for n, m in sys.modules.items()"
        " if n.startswith('workflow.') and m.__file__ and not m.__file__.endswith('__init__.py')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {str(Path(path).relative_to(ROOT)) for path in done.stdout.split()}
    loaded.add(f"workflow/scripts/{script}.py")  # gone from sys.modules after its NameError
    assert files_of(script) == loaded


def test_training_does_not_depend_on_how_figures_look() -> None:
    assert "workflow/lib/drawing/figures.py" not in files_of("train_sft") | files_of("grpo")
    assert "workflow/lib/training/grpo.py" not in files_of("train_sft")
    assert "workflow/lib/study/grpo_settings.py" not in files_of("train_sft")
    assert "workflow/lib/training/sft.py" not in files_of("grpo")


def test_no_import_is_hidden_from_the_graph() -> None:
    """Imports by name at run time cannot be seen in the source: there are to be none."""
    hidden = {"import_module", "__import__", "exec", "eval", "runpy", "exec_module"}
    for path in ROOT.glob("workflow/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = {getattr(node, "id", None), getattr(node, "attr", None)}
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.name for alias in node.names} | {getattr(node, "module", None)}
            assert not names & hidden, f"{path} hides an import with {names & hidden}"


def test_packages_hold_no_code_of_their_own() -> None:
    """It would run in every job, and be in no fingerprint."""
    for path in ROOT.glob("workflow/**/__init__.py"):
        assert path.read_text() == "", path


def test_software_names_versions_without_builds() -> None:
    software = provenance.software("torch", "numpy")
    assert software["torch"] == "2.13.0"
    assert software["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_pins_of_the_environments_and_of_the_lock_file_agree() -> None:
    lock = dict(
        line.split("==")
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if line and not line.startswith("#")
    )
    files = sorted((ROOT / "envs").glob("*.yaml"))
    assert files
    for file in files:
        *_, pip = yaml.safe_load(file.read_text())["dependencies"]
        for pin in pip["pip"]:
            name, version = pin.split("==")
            assert lock[name] == version, f"{file.name} pins {pin}, requirements.lock {lock[name]}"


def test_everything_that_is_asked_for_is_pinned() -> None:
    lines = (ROOT / "requirements.in").read_text().splitlines()
    wanted = {line.partition("==")[0].lower() for line in lines if line and line[0] != "#"}
    pinned = {
        line.partition("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()
    }
    assert wanted <= pinned
