"""What made a result: the code it came from, compared by meaning, and the software."""

import ast
import functools
import hashlib
import platform
from importlib import metadata
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the Snakefile."""


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


@functools.cache
def fingerprint(path: Path) -> str:
    """Twelve hex digits that change with what a Python file means, not with how it is written.

    Comments, docstrings and formatting do not count.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [statement for statement in body if not _is_bare_string(statement)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:12]


def _is_bare_string(statement: ast.stmt) -> bool:
    """Docstrings, of attributes too: text that no code can see run."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def software(*packages: str) -> dict[str, str]:
    """The versions of Python (to the minor) and of the packages, builds for a device aside."""
    versions = {name: metadata.version(name).split("+")[0] for name in packages}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **versions}
