"""Code compared by what it computes; settings, by what they say."""

import ast
import functools
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from workflow.lib.jobs.files import ROOT


@functools.cache
def fingerprint(path: Path) -> str:
    """Twelve hex digits that change with what a Python file computes.

    Comments, docstrings and formatting do not count, nor do the words of an error or of a line in
    a log: what is raised ends the job, and what is printed goes to its log, not to its results.
    """
    return fingerprint_of(path.read_text(encoding="utf-8"))


def changed_files(code: Iterable[str]) -> list[str]:
    """The files of some `file@fingerprint` that are no longer as they were."""
    planned = dict(entry.rsplit("@", 1) for entry in code)
    return [
        file
        for file, mark in planned.items()
        if not (ROOT / file).exists() or fingerprint(ROOT / file) != mark
    ]


def fingerprint_of(source: str) -> str:
    """The same of a Python source text."""
    return hashlib.sha256(repr(_as_lists(ast.parse(source))).encode()).hexdigest()[:12]


def _as_lists(value: object) -> object:
    """A syntax tree as nested lists, without line numbers and what decides no result.

    `ast.dump` says the same, but not in the same words in every version of Python.
    """
    if isinstance(value, ast.Raise) and isinstance(value.exc, ast.Call):
        return ["Raise", _as_lists(value.exc.func)]
    if isinstance(value, ast.AST):
        kept: list[object] = [type(value).__name__]
        for name in value._fields:
            field = getattr(value, name, None)
            if field is not None and field != []:
                kept.append((name, _as_lists(field)))
        return kept
    if isinstance(value, list):
        return [_as_lists(item) for item in value if not _decides_nothing(item)]
    return value


def _decides_nothing(statement: object) -> bool:
    """Docstrings, also of attributes; `pass`; and printing to standard output."""
    if not isinstance(statement, ast.Expr):
        return isinstance(statement, ast.Pass)
    match statement.value:
        case ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Name(id="print"), keywords=keywords):
            return all(keyword.arg != "file" for keyword in keywords)
    return False


def digest(value: object) -> str:
    """Twelve hex digits of a value made of lists, mappings, text and numbers."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
