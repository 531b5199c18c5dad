"""
Reads records of other versions of aragog. Such records may have unknown fields.

During an upgrade, old and new processes share Redis, the broker and the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any


def known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new mapping of the values that the dataclass has fields for."""
    names = _names(kind)
    if names.issuperset(values):
        return dict(values)
    return {name: value for name, value in values.items() if name in names}


def unknown_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the dataclass has no fields for. They stay with the record."""
    names = _names(kind)
    if names.issuperset(values):
        return {}
    return {name: value for name, value in values.items() if name not in names}


@cache
def _names(kind: type) -> frozenset[str]:
    return frozenset(f.name for f in fields(kind))
