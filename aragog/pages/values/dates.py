"""
Parse dates in the formats that pages use, without guessing a time or time zone.

`2024-05-01` is a date, `2024-05-01T10:00` a time without a zone, and `2024-05-01T10:00+02:00` a
time with one. Ambiguous text (`03/04/2024`) is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, cast

from aragog.pages.provenance import Candidate, Ledger


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, or a month of a year, if the page gives no full date."""

    year: int
    month: int | None = None

    def isoformat(self) -> str:
        """Return `2001` or `2001-05`."""
        return f"{self.year:04}" + (f"-{self.month:02}" if self.month else "")


Moment = date | datetime
"""A datetime without tzinfo is a time for which the page states no zone."""
AnyDate = date | datetime | PartialDate

_ISO = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})"
    r"(?:[T\s]+(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?(?:\s?(?P<ap>[ap])\.?m\b\.?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}:?(?:\d{2})?)?)?"
    r"(?:\[[^\]]*\])?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(\d{4})(?:-(\d{2}))?")
_SLASHED = re.compile(
    r"(\d{1,4})[/.](\d{1,2})[/.](\d{1,4})(?:[,\s]+(\d{1,2}):(\d{2})(?::(\d{2}))?"
    r"(?:\s?(?:Uhr|h)\b)?\s*([+-]\d{2}:\d{2})?)?"
)
_ZONE_HOURS = {
    "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "SAST": 2, "EEST": 3, "MSK": 3,
    "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
"""Abbreviations of one zone, with its hours ahead of UTC. `EDT`, `IST` or `BST` are of several."""
_ZONE_NAME = re.compile(rf"(?<=\d|m|r|\.)\s?\(?\b({'|'.join(_ZONE_HOURS)})\b\)?(?!\s\d{{4}}\b)")
_TIME = re.compile(r"\d:\d\d")
_NAMED = re.compile(
    r"(?:[^\W\d_]+,?\s+)?(?:(?P<d1>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:de\s+)?(?P<m1>[^\W\d_]{3,12})\.?"
    r"|(?P<m2>[^\W\d_]{3,12})\.?\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?),?\s+(?:de\s+|del\s+)?"
    r"(?P<y>\d{4})"
    r"(?:,?\s+(?:at\s+)?(?P<h>\d{1,2}):(?P<mi>\d{2})(?::(?P<s>\d{2}))?\s*(?P<ap>[ap]\.?m\.?)?"
    r"\s*(?:Uhr\s*)?(?P<z>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?.{0,12}",
    re.IGNORECASE,
)
_CJK = re.compile(
    r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]"
    r"(?:\s?(?:\([^()]{1,3}\)|（[^（）]{1,3}）))?(?:\s?(\d{1,2})[:：時时시]\s?(\d{2})分?)?.{0,12}"
)
_JS = re.compile(
    r"[A-Za-z]{3} ([A-Za-z]{3}) (\d{1,2}) (?:(\d{4}) )?(\d{2}):(\d{2}):(\d{2})"
    r"(?: (?:GMT|UTC|(?P<name>[A-Z]{3,4}))([+-]\d{4})?)?"
    r"(?: (\d{4}))?.*"
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan januar january janvier januari janeiro enero ene gennaio gen stycznia января янв",
            "feb februar february fev février fevrier febrero febbraio februari fevereiro февраля",
            "mar march mars marz märz marzo março marco maart marca мар марта mär",
            "apr april avril avr abril abr aprile kwietnia апр апреля",
            "may mai mayo mag maggio maio mei maj maja мая",
            "jun june juni juin junio giugno giu junho czerwca июн июня",
            "jul july juli juillet julio luglio lug julho lipca июл июля",
            "aug august août aout agosto ago augustus augusti sierpnia авг августа",
            "sep sept september septembre septiembre settembre set setembro września сен сентября",
            "oct october okt oktober octobre octubre ottobre ott outubro października окт октября",
            "nov november novembre noviembre novembro listopada ноя ноября",
            (
                "dec december dez dezember décembre decembre diciembre dic dicembre dezembro "
                "grudnia дек декабря"
            ),
        ),
        1,
    )
    for name in names.split()
}
_MIN_YEAR, _MAX_YEAR = 1000, 2200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: Any) -> Moment | None:
    """Return a date or time as the page gives it, or None if it is invalid or ambiguous."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str) or len(value) > 120:
        return None
    return _moment(value.strip())


@lru_cache(256)
def _moment(text: str) -> Moment | None:
    """Parse a text; cached because each date of a page is compared, ranked and then read."""
    if _TIME.search(text):
        text = _ZONE_NAME.sub(_offset, text)
    try:
        return (
            _iso(text)
            or _javascript(text)
            or _named(text)
            or _slashed(text)
            or _digits(text)
            or _cjk(text)
        )
    except (ValueError, OverflowError):
        return None


def _offset(zone: re.Match[str]) -> str:
    return f" +{_ZONE_HOURS[zone[1]]:02}:00"


def moment_or_year(value: Any) -> AnyDate | None:
    """
    Return a moment, else a year or month (`2001`, `2001-05`), as books and films often give no full
    date.
    """
    instant = moment(value)
    if instant is not None:
        return instant
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    plain = _YEAR.fullmatch(str(value).strip())
    if plain is None or not _MIN_YEAR <= int(plain[1]) <= _MAX_YEAR:
        return None
    month = int(plain[2]) if plain[2] else None
    return PartialDate(int(plain[1]), month) if month is None or 1 <= month <= 12 else None


def year(value: Any) -> int | None:
    """Return the year of a moment, or of a text such as `2004` or `2004-05`."""
    instant = moment(value)
    if instant is not None:
        return instant.year
    plain = _YEAR.fullmatch(str(value).strip()) if value is not None else None
    return int(plain[1]) if plain and _MIN_YEAR <= int(plain[1]) <= _MAX_YEAR else None


def _iso(text: str) -> Moment | None:
    match = _ISO.match(text)
    if not match or not _MIN_YEAR <= int(match[1]) <= _MAX_YEAR:
        return None
    rest = text[match.end() :].strip()
    if rest and (rest[0].isdigit() or rest[0] == "-"):
        return None
    day = date(int(match[1]), int(match[2]), int(match[3]))
    if match[4] is None:
        return day
    micros = int(f"{match[7]}000000"[:6]) if match[7] else 0
    hour = _hour(match[4], match["ap"])
    extra = timedelta(days=1) if hour == 24 else timedelta()
    at = datetime(
        day.year, day.month, day.day, hour % 24, int(match[5]), int(match[6] or 0), micros
    )
    return at.replace(tzinfo=_zone(match[9])) + extra


def _hour(digits: str, half: str | None) -> int:
    """Return the hour of a day; `half` is the first letter of `am` or `pm`, if any."""
    hour = int(digits)
    return hour % 12 + (12 if half[0] in "pP" else 0) if half and hour <= 12 else hour


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0") if len(text) > 3 else f"{text[1:]:0>2}00"
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
    return timezone(offset if text[0] == "+" else -offset)


def _named(text: str) -> Moment | None:
    match = _NAMED.fullmatch(text)
    if not match:
        return None
    month = _MONTHS.get((match["m1"] or match["m2"]).lower().rstrip("."))
    if month is None:
        return None
    day = date(int(match["y"]), month, int(match["d1"] or match["d2"]))
    if match["h"] is None:
        return day
    hour = _hour(match["h"], match["ap"])
    at = datetime(day.year, day.month, day.day, hour, int(match["mi"]), int(match["s"] or 0))
    return at.replace(tzinfo=_zone(match["z"]))


def _javascript(text: str) -> Moment | None:
    match = _JS.fullmatch(text)
    year_text = (match[3] or match[9]) if match else None
    month = _MONTHS.get(match[1].lower()) if match else None
    if not match or not year_text or month is None:
        return None
    at = datetime(int(year_text), month, int(match[2]), int(match[4]), int(match[5]), int(match[6]))
    named_zone = "GMT" in text or "UTC" in text
    hours = _ZONE_HOURS.get(match["name"] or "")
    if match[8] is None and hours is not None:
        return at.replace(tzinfo=timezone(timedelta(hours=hours)))
    return at.replace(tzinfo=_zone(match[8]) or (UTC if named_zone else None))


def _slashed(text: str) -> Moment | None:
    match = _SLASHED.fullmatch(text)
    if not match:
        return None
    first, second, third = int(match[1]), int(match[2]), int(match[3])
    if len(match[1]) == 4:
        day = date(first, second, third)
    elif len(match[3]) != 4:
        return None
    elif "." in text.split(maxsplit=1)[0] or first > 12 or first == second:
        day = date(third, second, first)
    elif second > 12:
        day = date(third, first, second)
    else:
        return None
    if match[4] is None:
        return day
    at = datetime(day.year, day.month, day.day, int(match[4]), int(match[5]), int(match[6] or 0))
    return at.replace(tzinfo=_zone(match[7]))


def _cjk(text: str) -> Moment | None:
    """Parse dates such as `2019年3月4日 10時05分`."""
    match = _CJK.fullmatch(text)
    if not match:
        return None
    day = date(int(match[1]), int(match[2]), int(match[3]))
    if match[4] is None:
        return day
    return datetime(day.year, day.month, day.day, int(match[4]), int(match[5]))


def _digits(text: str) -> Moment | None:
    return _from_epoch(int(text)) if text.isdigit() and len(text) in {10, 13} else None


def _from_epoch(value: float) -> Moment | None:
    """Parse seconds or milliseconds since 1970, which are always UTC."""
    at = value / 1000 if value > 100_000_000_000 else value
    if not 100_000_000 < at < 4_102_444_800:
        return None
    return _EPOCH + timedelta(seconds=at)


def pick(
    ledger: Ledger,
    field: str,
    candidates: Iterable[Candidate],
    *,
    otherwise: Iterable[Candidate] = (),
) -> AnyDate | None:
    """Return the date of `field`: a full date before a year, whatever their sources."""
    ranked = sorted(candidates, key=lambda candidate: moment(candidate.value) is None)
    result = ledger.pick(field, moment_or_year, ranked, otherwise=otherwise, expected="a date")
    return cast("AnyDate | None", result)
