"""
Read the UTC offset at the end of a time, in the forms that pages use.

These are `Z`, `UTC`, `+02:00`, `+0200`, `+2`, `GMT+1`, `UTC+05:30` and `(CEST)`. Abbreviations of
several zones (`EST`, `IST`) and names (`Europe/Berlin`) are ignored. A time with two different
offsets, or with an offset that no zone has, is unreadable.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone

ZONE_HOURS = {
    "WET": 0, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "SAST": 2, "EEST": 3,
    "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12,
    "NZDT": 13,
}  # fmt: skip
"""
Unambiguous abbreviations with their offset from UTC in hours. `EDT`, `IST` and `BST` are ambiguous.
"""
_MINUS_SIGNS = r"\-−﹣－"
_FRACTIONAL_HOUR_OFFSETS = (
    -570, -270, -210, -150, 210, 270, 330, 345, 390, 450, 510, 525, 570, 630, 690, 765, 825,
)  # fmt: skip
_VALID_OFFSETS = frozenset([*(60 * hours for hours in range(-12, 15)), *_FRACTIONAL_HOUR_OFFSETS])
"""All zone offsets since 1970 in the IANA time zone database, in minutes."""

_NUMERIC_OFFSET = re.compile(
    rf"\s{{0,3}}(?:(?:UTC|GMT|UT|Z)\s?(?P<sign>[+{_MINUS_SIGNS}])\s?|(?P<bare_sign>[+{_MINUS_SIGNS}]))"
    r"(?P<h>\d\d?)(?::?(?P<m>\d\d)(?::?00)?)?(?![\d:]|[.,]\d)",
    re.IGNORECASE,
)
_UTC_NAME = re.compile(r"\s{0,3}\(?(?:UTC|GMT|UT|Zulu|Z)(?![^\W_])\)?", re.IGNORECASE)
_ABBREVIATION = re.compile(rf"\s{{0,3}}\(?({'|'.join(ZONE_HOURS)})(?![^\W_])\)?")
_BRACKETED_TEXT = re.compile(r"\s{0,3}(?:\[[^\]]{0,60}\]|\([^)]{0,60}\))")
_UNREADABLE_ENDING = re.compile(rf"\s{{0,3}}(?:\d|[+{_MINUS_SIGNS}]|[:.,]\d)")

Offset = tuple[timezone | None, int]
"""A time zone (None if the text has none) and the position after it."""


def zone_at(text: str, position: int) -> Offset | None:
    """
    Return the zone at `position`, right after a time, and where it ends.

    Returns None if the time is unreadable, because more digits follow, no zone has the offset, or
    two offsets differ.
    """
    zones: list[timezone] = []
    while (match := _next_zone(text, position)) is not None:
        zone, position = match
        if zone is None:
            return None
        zones.append(zone)
    abbreviation = _ABBREVIATION.match(text, position)
    if abbreviation is not None:
        zones = zones or [timezone(timedelta(hours=ZONE_HOURS[abbreviation[1]]))]
        position = abbreviation.end()
    for _ in range(2):
        bracket = _BRACKETED_TEXT.match(text, position)
        position = bracket.end() if bracket else position
    if (
        _UNREADABLE_ENDING.match(text, position)
        or len({zone.utcoffset(None) for zone in zones}) > 1
    ):
        return None
    return (zones[0] if zones else None), position


def _next_zone(text: str, position: int) -> Offset | None:
    """Return the zone at `position`; None without one, (None, end) if no zone has the offset."""
    numeric = _NUMERIC_OFFSET.match(text, position)
    if numeric is not None:
        return _parse_offset(numeric), numeric.end()
    utc = _UTC_NAME.match(text, position)
    return (UTC, utc.end()) if utc is not None else None


def _parse_offset(match: re.Match[str]) -> timezone | None:
    hours, minutes = int(match["h"]), int(match["m"] or "0")
    total = 60 * hours + minutes
    if (match["sign"] or match["bare_sign"]) != "+":
        total = -total
    return timezone(timedelta(minutes=total)) if minutes < 60 and total in _VALID_OFFSETS else None
