"""Fingerprints: of what code computes, and of what settings say."""

import re
from pathlib import Path

import pytest

from workflow.lib.jobs.fingerprint import digest, fingerprint, fingerprint_of

SOURCE = '''"""A module."""
import os


def f(x):
    """Says what it does."""
    print(f"working on {x}")
    if x < 0:
        raise ValueError(f"{x} is below 0")
    return x + 1  # one more


class A:
    """A class."""

    y: int = 1
    """An attribute."""
'''


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
        ("{x} is below 0", "less than nothing"),
        ('f"{x} is below 0"', '"less", x'),
        ("working on {x}", "at work"),
        ('    print(f"working on {x}")\n', ""),
        ('{x}")', '{x}", end="")'),
    ],
)
def test_what_decides_no_result_does_not_count(old: str, new: str) -> None:
    assert old in SOURCE
    assert fingerprint_of(SOURCE) == fingerprint_of(SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ("import os", "import sys"),
        ("y: int = 1", "y: int = 2"),
        ("f(x)", "f(x, z=1)"),
        ("raise ValueError", "raise TypeError"),
        ('raise ValueError(f"{x} is below 0")', "raise"),
        ('raise ValueError(f"{x} is below 0")', "x = 0"),
        ("x < 0", "x <= 0"),
        ('{x}")', '{x}", file=open("a", "w"))'),
        ("print(", "write("),
        ("print(f", "y = print(f"),
    ],
)
def test_what_means_something_else_counts(old: str, new: str) -> None:
    assert old in SOURCE
    assert fingerprint_of(SOURCE) != fingerprint_of(SOURCE.replace(old, new))


def test_the_words_of_a_printed_file_count() -> None:
    one, other = (fingerprint_of(f"print({word!r}, file=page)") for word in ("a", "b"))
    assert one != other


@pytest.mark.parametrize("body", ["pass", '"""Nothing."""', "print(1)"])
def test_a_body_that_does_nothing(body: str) -> None:
    assert fingerprint_of(f"def f():\n    {body}\n") == fingerprint_of("def f():\n    pass\n")


def test_a_file_has_the_fingerprint_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    assert fingerprint(tmp_path / "a.py") == fingerprint_of(SOURCE)
    assert re.fullmatch("[0-9a-f]{12}", fingerprint_of(SOURCE))


def test_a_digest_tells_values_apart_and_not_their_order() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest([1, 2]) != digest([2, 1])
    assert re.fullmatch("[0-9a-f]{12}", digest("β"))
