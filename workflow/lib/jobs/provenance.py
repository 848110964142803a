"""What a job is made of: the code it will run, and the software."""

import functools
import platform
from importlib import metadata
from pathlib import Path

import grimp

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.fingerprint import fingerprint, fingerprint_of

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the Snakefile."""


@functools.cache
def code_of(script: str) -> list[str]:
    """`file@fingerprint` of a script of `workflow/scripts` and of every project module it imports.

    Directly or through others; the import statements say which, so nobody has to keep a list.
    """
    module = f"workflow.scripts.{script}"
    modules = {module} | _import_graph().find_upstream_modules(module)
    files = sorted(f"{name.replace('.', '/')}.py" for name in modules)
    return [f"{file}@{fingerprint(ROOT / file)}" for file in files]


@functools.cache
def _import_graph() -> grimp.ImportGraph:
    return grimp.build_graph("workflow", cache_dir=None)


def software(*packages: str) -> dict[str, str]:
    """The versions of Python (to the minor) and of the packages, builds for a device aside."""
    versions = {name: _version(name) for name in packages}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **versions}


@functools.cache
def _version(package: str) -> str:
    return metadata.version(package).split("+")[0]


def keep_sources(folder: Path) -> None:
    """Keep the text of every module under its fingerprint, as `lib/task/teacher.py@0123456789ab`.

    So the code of a result can be shown as it was when the result was made, whatever it is now.
    """
    for name in _import_graph().modules:
        path = ROOT / f"{name.replace('.', '/')}.py"
        if path.exists():
            text = path.read_text(encoding="utf-8")
            kept = folder / f"{path.relative_to(ROOT)}@{fingerprint_of(text)}"
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                with whole_file(kept) as beside:
                    beside.write_text(text, encoding="utf-8")
