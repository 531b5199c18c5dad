"""
Read the offset from UTC at the end of a time, in the spellings that pages use.

`Z`, `UTC`, `+02:00`, `+0200`, `+2`, `GMT+1`, `UTC+05:30`, `(CEST)`. An abbreviation of several
zones (`EST`, `IST`) and a name (`Europe/Berlin`) give no offset. Two numbers that differ, and an
offset that no zone has, make a time unreadable.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone

ZONE_HOURS = {
    "WET": 0, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "SAST": 2, "EEST": 3,
    "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12,
    "NZDT": 13,
}  # fmt: skip
"""Abbreviations of one zone, with its hours ahead of UTC. `EDT`, `IST` or `BST` are of several."""
_MINUS = r"\-−﹣－"
_PARTS_OF_HOURS = (
    -570, -270, -210, -150, 210, 270, 330, 345, 390, 450, 510, 525, 570, 630, 690, 765, 825,
)  # fmt: skip
_MINUTES = frozenset([*(60 * hours for hours in range(-12, 15)), *_PARTS_OF_HOURS])
"""The offsets of zones since 1970, in minutes, in IANA's time zone database."""

_NUMERIC = re.compile(
    rf"\s{{0,3}}(?:(?:UTC|GMT|UT|Z)\s?(?P<sign>[+{_MINUS}])\s?|(?P<alone>[+{_MINUS}]))"
    r"(?P<h>\d\d?)(?::?(?P<m>\d\d)(?::?00)?)?(?![\d:]|[.,]\d)",
    re.IGNORECASE,
)
_UTC = re.compile(r"\s{0,3}\(?(?:UTC|GMT|UT|Zulu|Z)(?![^\W_])\)?", re.IGNORECASE)
_NAMED = re.compile(rf"\s{{0,3}}\(?({'|'.join(ZONE_HOURS)})(?![^\W_])\)?")
_BRACKET = re.compile(r"\s{0,3}(?:\[[^\]]{0,60}\]|\([^)]{0,60}\))")
_WRONG_REST = re.compile(rf"\s{{0,3}}(?:\d|[+{_MINUS}]|[:.,]\d)")

Offset = tuple[timezone | None, int]
"""A zone, None if the text has none, and the place behind it."""


def zone_at(text: str, at: int) -> Offset | None:
    """
    Return the zone at a place right behind a time, and where it ends.

    None stands for a text that makes the time unreadable: digits that belong to it, an offset that
    no zone has, two different offsets.
    """
    zones: list[timezone] = []
    while (step := _one(text, at)) is not None:
        zone, at = step
        if zone is None:
            return None
        zones.append(zone)
    named = _NAMED.match(text, at)
    if named is not None:
        zones = zones or [timezone(timedelta(hours=ZONE_HOURS[named[1]]))]
        at = named.end()
    for _ in range(2):
        bracket = _BRACKET.match(text, at)
        at = bracket.end() if bracket else at
    if _WRONG_REST.match(text, at) or len({zone.utcoffset(None) for zone in zones}) > 1:
        return None
    return (zones[0] if zones else None), at


def _one(text: str, at: int) -> Offset | None:
    """Return one offset at a place, with None for an impossible one; None without an offset."""
    numeric = _NUMERIC.match(text, at)
    if numeric is not None:
        return _offset(numeric), numeric.end()
    utc = _UTC.match(text, at)
    return (UTC, utc.end()) if utc is not None else None


def _offset(match: re.Match[str]) -> timezone | None:
    hours, minutes = int(match["h"]), int(match["m"] or "0")
    total = 60 * hours + minutes
    if (match["sign"] or match["alone"]) != "+":
        total = -total
    return timezone(timedelta(minutes=total)) if minutes < 60 and total in _MINUTES else None
