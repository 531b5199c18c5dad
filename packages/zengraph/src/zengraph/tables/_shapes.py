"""
The shapes of packed rows: the sorted columns of a row.

A shape is a JSON list. Most rows share a few shapes, so the indexes of requested columns are
cached. If each row has one column of its own, such as one whose name contains a position in a file,
no shape repeats, and parsing would take two thirds of a read's time. So when two shapes differ in
only one column, the text before and after that column is remembered. Other shapes with the same
beginning and end have the same indexes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import orjson

_BETWEEN = b'","'
_PATTERNS = 8

Numbers = tuple[int | None, ...]
"""The index of each requested column; None for a column that the shape lacks."""


class _Pattern(NamedTuple):
    """Shapes that differ in only one column, which is not requested."""

    before: bytes
    after: bytes
    numbers: Numbers


class _Request:
    """What is known about shapes for one set of requested columns."""

    def __init__(self) -> None:
        self.patterns: tuple[_Pattern, ...] = ()
        self.last: list[bytes] = []
        """The columns of the last parsed shape."""


def make_shape(columns: Sequence[bytes]) -> bytes:
    """Return the shape with these sorted columns."""
    joined = b'["' + _BETWEEN.join(columns) + b'"]' if columns else b"[]"
    if joined.count(b'"') == 2 * len(columns) and _is_plain(joined):
        return joined
    return orjson.dumps([column.decode("latin-1") for column in columns])


def parse_columns(shape: bytes) -> list[bytes]:
    if shape != b"[]" and _is_plain(shape):
        return shape[2:-2].split(_BETWEEN)
    return [name.encode("latin-1") for name in orjson.loads(shape)]


@lru_cache(maxsize=256)
def parse_numbers(shape: bytes) -> Mapping[bytes, int]:
    return {column: number for number, column in enumerate(parse_columns(shape))}


def read_numbers(shape: bytes, columns: tuple[bytes, ...]) -> Numbers:
    """Return the indexes of `columns`. Readers request the same few sets again and again."""
    for before, after, numbers in _request(columns).patterns:
        if shape.startswith(before) and shape.endswith(after):
            own = shape[len(before) : len(shape) - len(after)]
            if own and b'"' not in own and own not in columns and _is_plain(own):
                return numbers
    return _parse(shape, columns)


@lru_cache(maxsize=1024)
def _request(_columns: tuple[bytes, ...]) -> _Request:
    return _Request()


@lru_cache(maxsize=256)
def _parse(shape: bytes, columns: tuple[bytes, ...]) -> Numbers:
    """Parse a shape, and remember what it has in common with the previous one."""
    number_of, request = parse_numbers(shape), _request(columns)
    numbers, names = tuple(map(number_of.get, columns)), list(number_of)
    pairs = zip(names, request.last, strict=False)
    differ = [number for number, (name, last) in enumerate(pairs) if name != last]
    if len(names) == len(request.last) and len(differ) == 1 and _is_plain(shape):
        (odd,) = differ
        if names[odd] not in columns and request.last[odd] not in columns:
            before = b'["' + b"".join([name + _BETWEEN for name in names[:odd]])
            after = b"".join([_BETWEEN + name for name in names[odd + 1 :]]) + b'"]'
            new = _Pattern(before, after, numbers)
            request.patterns = (new, *request.patterns[: _PATTERNS - 1])
    request.last = names
    return numbers


def _is_plain(shape: bytes) -> bool:
    """Return True if a shape has no JSON escapes and only one-byte characters."""
    return b"\\" not in shape and shape.isascii() and shape.decode("ascii").isprintable()
