"""
Read records of another version of aragog: a field that this code does not know is no error.

Old and new processes share Redis, the broker and the store while an upgrade is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any


def known(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that a dataclass has, for its constructor."""
    names = _names(kind)
    return {name: value for name, value in values.items() if name in names}


def unknown(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The other values, for whoever hands the record on."""
    names = _names(kind)
    return {name: value for name, value in values.items() if name not in names}


@cache
def _names(kind: type) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind))
