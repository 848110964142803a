"""The code and the software of a job: the whole import closure, and nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.lib.jobs import code
from workflow.lib.jobs.fingerprint import fingerprint, fingerprint_of

ROOT = Path(__file__).parents[3]
MODULES = sorted(
    f"{folder}.{path.stem}"
    for folder in ("scripts", "questions")
    for path in (ROOT / "workflow" / folder).glob("[a-z]*.py")
)


def files_of(module: str) -> set[str]:
    """The files of a module's code, below `workflow`."""
    entries = [entry.partition("@") for entry in code.code_of(f"workflow.{module}")]
    assert all(mark == fingerprint(ROOT / file) for file, _, mark in entries)
    return {file.removeprefix("workflow/") for file, _, _ in entries}


LOADED = """
import sys
from importlib import import_module
from pathlib import Path
import_module(f"workflow.{sys.argv[1]}")
for name, module in sys.modules.items():
    if name.startswith("workflow.") and not module.__file__.endswith("__init__.py"):
        print(name.replace(".", "/") + ".py")
"""


@pytest.mark.parametrize(
    "module", ["scripts.grpo", "scripts.report_pages", "questions.fig8_group_size"]
)
def test_a_jobs_code_is_what_python_loads_for_it(module: str) -> None:
    """The import graph against the interpreter, but for the modules that decide no result.

    What a figure draws with is imported while it is drawn, and is no module of the project.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOADED, module], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {file.removeprefix("workflow/") for file in done.stdout.split()}
    decide_nothing = {
        file for file in loaded if file.startswith("lib/jobs/") or file == "lib/study/settings.py"
    }
    assert decide_nothing
    assert files_of(module) == loaded - decide_nothing


@pytest.mark.parametrize("module", MODULES)
def test_a_jobs_code_has_the_job_itself_and_no_module_that_decides_no_result(module: str) -> None:
    files = files_of(module)
    assert f"{module.replace('.', '/')}.py" in files
    assert not any(file.startswith(("lib/jobs/", "tools/")) for file in files)
    assert "lib/study/settings.py" not in files
    others = {f"{name.replace('.', '/')}.py" for name in MODULES if name != module}
    assert not files & others


def test_each_job_depends_on_its_own_subjects_only() -> None:
    sft, grpo = files_of("scripts.train_sft"), files_of("scripts.grpo")
    fig8 = files_of("questions.fig8_group_size")
    assert not any(file.startswith(("lib/drawing", "lib/report")) for file in sft | grpo)
    assert "lib/training/grpo.py" in grpo - sft and "lib/training/sft.py" in sft - grpo
    assert "lib/training/metrics.py" in grpo - sft
    assert {"lib/drawing/curves.py", "lib/study/question.py", "lib/study/theory.py"} <= fig8
    assert not any(file.startswith(("lib/training", "lib/model", "lib/report")) for file in fig8)


def test_training_s_software_is_what_decides_numbers() -> None:
    software = code.software_of("workflow.scripts.grpo")
    assert list(software) == ["python", "numpy", "torch"]
    assert software["torch"] == "2.13.0"
    assert software["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert list(code.software_of("workflow.scripts.train_sft")) == ["python", "numpy", "torch"]


def test_a_question_s_software_is_what_draws_it() -> None:
    software = code.software_of("workflow.questions.fig8_group_size")
    assert {"python", "matplotlib", "numpy", "pandas"} <= software.keys()
    assert not {"torch", "plotly", "snakemake"} & software.keys()
    assert "plotly" in code.software_of("workflow.scripts.explore")


def test_every_source_is_kept_as_it_is(tmp_path: Path) -> None:
    code.keep_sources(tmp_path)
    for module in MODULES:
        for entry in code.code_of(f"workflow.{module}"):
            text = (tmp_path / entry).read_text(encoding="utf-8")
            assert text == (ROOT / entry.partition("@")[0]).read_text(encoding="utf-8")
    for kept in tmp_path.rglob("*.py@*"):
        assert fingerprint_of(kept.read_text(encoding="utf-8")) == kept.name.partition("@")[2]


def test_a_source_that_is_kept_already_stays_as_it_was(tmp_path: Path) -> None:
    code.keep_sources(tmp_path)
    [kept] = tmp_path.glob("workflow/lib/task/teacher.py@*")
    older = kept.read_text(encoding="utf-8") + "# the same\n"
    kept.write_text(older, encoding="utf-8")
    code.keep_sources(tmp_path)
    assert kept.read_text(encoding="utf-8") == older


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


def test_scripts_and_questions_can_be_imported() -> None:
    names = [
        f"workflow.{folder}.{path.stem}"
        for folder in ("scripts", "questions")
        for path in sorted((ROOT / "workflow" / folder).glob("[!_]*.py"))
    ]
    program = f"from importlib import import_module\nfor name in {names}: import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert len(names) > 15 and done.returncode == 0, done.stderr


def test_paths_of_results_are_spelled_in_one_place() -> None:
    """In code; what a docstring says to a reader does not count."""
    layout = ROOT / "workflow/lib/study/layout.py"
    for path in [
        *ROOT.glob("workflow/**/*.py"),
        *ROOT.glob("workflow/**/*.smk"),
        ROOT / "Snakefile",
    ]:
        text = path.read_text()
        if path.suffix == ".py":
            tree = ast.parse(text)
            said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            text = "\n".join(
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in said
            )
        assert path == layout or "results/" not in text, path
