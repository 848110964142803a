"""What a job is made of: the code that decides its results, and the software."""

import functools
import os
import platform
import site
import sys
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

import grimp

from workflow.lib.jobs.files import ROOT, whole_file
from workflow.lib.jobs.fingerprint import fingerprint, fingerprint_of

DECIDES_NO_RESULT = ("workflow.lib.jobs.", "workflow.lib.study.settings")
"""Modules of which no job's results depend: what every job does besides its work (logs, records,
messages), and the definitions of settings, since a job is given the values themselves."""


@functools.cache
def code_of(module: str) -> list[str]:
    """`file@fingerprint` of a module and of every project module it imports that decides results.

    Directly or through others; the import statements say which, so nobody has to keep a list.
    """
    files = sorted(f"{name.replace('.', '/')}.py" for name in _modules_of(module))
    return [f"{file}@{fingerprint(ROOT / file)}" for file in files]


@functools.cache
def software_of(module: str) -> dict[str, str]:
    """The versions of Python (to the minor) and of the packages that this code imports."""
    graph = _import_graph()
    imported = {
        package
        for name in _modules_of(module)
        for package in graph.find_modules_directly_imported_by(name)
        if not package.startswith("workflow.") and package not in sys.stdlib_module_names
    }
    versions = {package: version(package) for package in sorted(imported)}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **versions}


def hiding_package() -> str:
    """The folder of another package called `workflow` that a job would find first, or nothing.

    Snakemake puts the project at the end of a job's path, after PYTHONPATH and what is installed.
    """
    added = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    for folder in [*added, *site.getsitepackages()]:
        if Path(folder).resolve() != ROOT and PathFinder.find_spec("workflow", [folder]):
            return folder
    return ""


@functools.cache
def version(package: str) -> str:
    """The version of an installed package, whatever device it was built for."""
    return metadata.version(package).split("+")[0]


def keep_sources(folder: Path) -> None:
    """Keep the text of every module under its fingerprint, as `lib/task/teacher.py@0123456789ab`.

    So the code of a result can be shown as it was when the result was made, whatever it is now.
    """
    for name in _project_modules():
        path = ROOT / f"{name.replace('.', '/')}.py"
        if path.exists():
            text = path.read_text(encoding="utf-8")
            kept = folder / f"{path.relative_to(ROOT)}@{fingerprint_of(text)}"
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                with whole_file(kept) as partial:
                    partial.write_text(text, encoding="utf-8")


@functools.cache
def _modules_of(module: str) -> list[str]:
    found = {module} | _import_graph().find_upstream_modules(module)
    return [
        name
        for name in found
        if name.startswith("workflow.") and not name.startswith(DECIDES_NO_RESULT)
    ]


def _project_modules() -> list[str]:
    return sorted(name for name in _import_graph().modules if name.startswith("workflow."))


@functools.cache
def _import_graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "workflow",
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )
