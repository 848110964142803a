"""Carries, for numbers of any kind: integers, tensors, arrays and columns of tables alike."""

from typing import Any


def no_carry_sum(a: Any, b: Any) -> Any:
    """The systematic error: units and tens added modulo 10 each, hundreds digit 0."""
    return (a // 10 + b // 10) % 10 * 10 + (a + b) % 10


def carries(a: Any, b: Any) -> tuple[Any, Any]:
    """Whether the units of `a + b` carry, and whether the tens do."""
    return a % 10 + b % 10 >= 10, a + b >= 100


def has_carry(a: Any, b: Any) -> Any:
    """Whether the units or the tens of `a + b` carry: where the no-carry sum is wrong."""
    units, tens = carries(a, b)
    return units | tens
