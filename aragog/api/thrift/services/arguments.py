"""Check the arguments of a call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aragog.api.values import MOST_ITEMS, MOST_NAME_BYTES
from aragog.errors import BadInput

T = TypeVar("T")


def names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Names of fields; raises BadInput if there are too many, or one is too long."""
    result = tuple(values or ())
    if len(result) > MOST_ITEMS or any(len(name) > MOST_NAME_BYTES for name in result):
        raise BadInput(f"fields: at most {MOST_ITEMS} names of at most {MOST_NAME_BYTES} bytes")
    return result


def items(values: Sequence[T] | None, name: str) -> Sequence[T]:
    """A list of a request; raises BadInput if it was not sent, or is too long."""
    if values is None:
        raise BadInput(f"{name}: is missing")
    if len(values) > MOST_ITEMS:
        raise BadInput(f"{name}: at most {MOST_ITEMS}, got {len(values)}")
    return values


def text(value: str | None, name: str) -> str:
    """A string of a request; raises BadInput if it was not sent."""
    if value is None:
        raise BadInput(f"{name}: is missing")
    return value
