"""
The names of deltas, and the record of which deltas a header includes.

A delta is a set of changes to lists. Two kinds of writers add deltas: a compaction adds them to the
first groups, and a group that passes on its lines adds them to the groups and lists below it. Every
writer has a source (one byte), and numbers its writes 1, 2, 3 and so on. It uses a new number only
after all deltas of the previous number are written, and a repeated write under the same name has
the same content. So to describe what it includes, a header only needs the last included number of
each source. Sources may write in any order, and a late delta is recognized.

    0 to 127     a slot of compactions (`_claims`)
    128 to 136   the group above, by its number of divisions, when it passes on lines
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Iterable, Mapping, Sequence

DELTA = b"l:p"
"""The prefix of delta columns."""

PASSED = 128
"""The source of the deltas that a first group passes on. Each division below it adds one."""
_NUMBER_BITS = 56
_NUMBER = (1 << _NUMBER_BITS) - 1
_SOURCE_STOP = len(DELTA) + 2
"""The column of a delta begins with `DELTA` and two digits of the source."""
_AFTER = b"~"
"""Sorts after all digits, so a prefix and this byte sort after all columns with the prefix."""

Upto = Mapping[int, int]
"""The last included number, by source."""


def delta_name(source: int, number: int) -> int:
    """Return the name of a delta: an 8-byte number."""
    return source << _NUMBER_BITS | number


def delta_column(name: int) -> bytes:
    return b"%s%016x" % (DELTA, name)


def _source_prefix(source: int) -> bytes:
    return b"%s%02x" % (DELTA, source)


def number_of(name: int) -> int:
    return name & _NUMBER


def deltas(row: Iterable[bytes]) -> list[bytes]:
    """Return the delta columns among a row's columns, sorted."""
    columns = sorted(row)
    return columns[bisect_left(columns, DELTA) : bisect_left(columns, DELTA + _AFTER)]


def not_included(upto: Upto, columns: Sequence[bytes]) -> list[bytes]:
    """
    Return the deltas among the sorted `columns` that a header with that `upto` does not include.

    Bisects the columns of each source, because a group may have dozens.
    """
    result, at = list[bytes](), 0
    while at < len(columns):
        prefix = columns[at][:_SOURCE_STOP]
        stop = bisect_left(columns, prefix + _AFTER, at)
        source = int(prefix[len(DELTA) :], 16)
        first = bisect(columns, delta_column(delta_name(source, upto.get(source, 0))), at, stop)
        result += columns[first:stop]
        at = stop
    return result


def extended(upto: Upto, columns: Iterable[bytes]) -> dict[int, int]:
    """Return a copy of `upto` that also includes these deltas."""
    result = dict(upto)
    for column in columns:
        name = int(column[len(DELTA) :], 16)
        source, number = name >> _NUMBER_BITS, name & _NUMBER
        if number > result.get(source, 0):
            result[source] = number
    return result


def last_of(source: int, upto: Upto, columns: Sequence[bytes]) -> int:
    """
    Return the last number that a row has received from a source, in its header or in a delta.
    `columns` are the row's deltas, sorted.
    """
    prefix = _source_prefix(source)
    stop = bisect_left(columns, prefix + _AFTER)
    last = columns[stop - 1] if stop else b""
    number = int(last[_SOURCE_STOP:], 16) if last.startswith(prefix) else 0
    return max(number, upto.get(source, 0))


def to_names(upto: Upto) -> list[int]:
    """Return the names of the last included deltas, for storing in a header."""
    return [delta_name(source, number) for source, number in sorted(upto.items())]


def of_names(names: Iterable[int]) -> dict[int, int]:
    return {name >> _NUMBER_BITS: name & _NUMBER for name in names}
