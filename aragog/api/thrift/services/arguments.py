"""Check the arguments of a call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aragog.api.thrift.contract import MOST_ITEMS
from aragog.errors import BadInput

T = TypeVar("T")

MOST_NAME_BYTES = 200


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


def bounded(value: int | None, name: str, least: int, most: int, default: int | None = None) -> int:
    """A number of a request; raises BadInput if it is out of bounds, or missing without default."""
    if value is None and default is not None:
        return default
    if value is None or not least <= value <= most:
        raise BadInput(f"{name}: must be from {least} to {most}, got {value}")
    return value
