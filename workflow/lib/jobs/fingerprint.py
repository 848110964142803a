"""Code compared by what it means; settings, by what they say."""

import ast
import functools
import hashlib
import json
from pathlib import Path


@functools.cache
def fingerprint(path: Path) -> str:
    """Twelve hex digits that change with what a Python file means, not with how it is written.

    Comments, docstrings and formatting do not count.
    """
    return fingerprint_of(path.read_text(encoding="utf-8"))


def fingerprint_of(source: str) -> str:
    """The same of a Python source text."""
    return hashlib.sha256(repr(_meaning(ast.parse(source))).encode()).hexdigest()[:12]


def _meaning(value: object) -> object:
    """A syntax tree as nested lists, without what is empty, where it stands and docstrings.

    `ast.dump` says the same, but not in the same words in every version of Python.
    """
    if isinstance(value, ast.AST):
        kept: list[object] = [type(value).__name__]
        for name in value._fields:
            field = getattr(value, name, None)
            if field is not None and field != []:
                kept.append((name, _meaning(field)))
        return kept
    if isinstance(value, list):
        return [_meaning(item) for item in value if not _is_idle(item)]
    return value


def _is_idle(statement: object) -> bool:
    """Docstrings, also of attributes, and `pass`: statements that do nothing."""
    return type(statement) is ast.Pass or (
        type(statement) is ast.Expr
        and type(statement.value) is ast.Constant
        and type(statement.value.value) is str
    )


def digest(value: object) -> str:
    """Twelve hex digits of a value made of lists, mappings, text and numbers."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
