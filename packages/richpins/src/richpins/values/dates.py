"""
Parse dates in the formats that pages use, without guessing a time or time zone.

`2024-05-01` is a date, `2024-05-01T10:00` a time without a zone, and `2024-05-01T10:00+02:00` a
time with one. In `03/04/2024`, a weekday in front or the page's language decides which number is
the day; otherwise the date is rejected. If a time is understood only in part, the result is the day
alone or nothing. A leap second becomes the second before it, so that the day does not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import Any, cast

from richpins.provenance import Candidate, Ledger
from richpins.values import date_orders
from richpins.values.local_dates import western
from richpins.values.month_names import month_number
from richpins.values.partial_dates import MAX_YEAR, MIN_YEAR, PartialDate, partial_date
from richpins.values.time_zones import zone_at

Moment = date | datetime
"""A datetime without tzinfo is a time for which the page gives no zone."""
AnyDate = date | datetime | PartialDate

_CLOCK = r"(?P<h>\d{1,2})(?::|\s?h\s?(?=\d\d(?!\d)))(?P<mi>\d{2})(?::(?P<s>\d{2}))?"
_BEFORE_TIME = (
    r"(?:,|[,.]?\s{1,9}(?:[-–—|•·@]\s{1,3})?)"
    r"(?:(?:at|à|às|as|um|kl\.?|klo|a\slas|alle(?:\sore)?|ore|om|o|v|в)\s{1,3})?"
)
"""The text between a date and its time."""
_AM_PM = r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
_ISO = re.compile(
    r"(?P<y>\d{4})(?:(?P<gap>[-\s])(?P<mo>\d{1,2})(?P=gap)(?P<d>\d{1,2})|(?P<mo2>\d{2})(?P<d2>\d{2}))(?!\d)"
    r"(?:[T\s]+(?P<h>\d{1,2}):?(?P<mi>\d{2})(?::?(?P<s>\d{2})(?:[.,](?P<f>\d{1,30}))?)?"
    rf"{_AM_PM})?",
    re.IGNORECASE,
)
_SHORT_TIME = re.compile(r"[T,\s]{0,3}\d{1,2}(?::\d?(?::\d{0,2})?)?\Z")
"""A time without minutes or with a one-digit minute: only the day is certain."""
_WEEKDAY = (
    r"(?:(?:le|am|on|el|il)\s{1,3})?"
    r"(?:(?P<weekday>[^\W\d_]{1,30}+(?:-feira)?)(?:[,.]{1,2}\s{0,9}|\s{1,9}))?"
)
_SLASHED = re.compile(
    rf"{_WEEKDAY}(?P<first>\d{{1,4}})(?P<mark>[/-]|\.\s?)(?P<second>\d{{1,2}})(?P=mark)"
    rf"(?P<third>\d{{1,4}})(?:(?<=\d)(?P<end>\.)(?!\d))?"
    rf"(?:{_BEFORE_TIME}{_CLOCK}{_AM_PM}(?:\s?(?:Uhr|h)\b)?)?",
    re.IGNORECASE,
)
_OPTIONAL_TIME = rf"(?:{_BEFORE_TIME}{_CLOCK}\s{{0,3}}{_AM_PM}\s?(?:Uhr\b)?)?"
_ORDINAL = r"(?:st|nd|rd|th|er|re|[.º°])?"
_OF = r"(?:(?:de|del|of)\s+|d['’])?"
_MONTH_NAME = r"[^\W\d_]{3,12}"
_NAMED_MONTH_DATE = re.compile(
    rf"{_WEEKDAY}(?:(?:the|le|den)\s+)?"
    rf"(?:(?P<d1>\d{{1,2}}){_ORDINAL}\s+{_OF}(?P<m1>{_MONTH_NAME})\.?"
    rf"|(?P<m2>{_MONTH_NAME})\.?\s+(?P<d2>\d{{1,2}}){_ORDINAL})(?:,\s*|\s+){_OF}"
    rf"(?P<y>\d{{4}}){_OPTIONAL_TIME}",
    re.IGNORECASE,
)
_DASHED = re.compile(
    rf"{_WEEKDAY}(?:(?P<d1>\d{{1,2}})(?P<mark>[-/.])(?P<m1>{_MONTH_NAME})\.?"
    rf"|(?P<m2>{_MONTH_NAME})(?P<mark2>[-/])(?P<d2>\d{{1,2}}))(?:(?P=mark)|(?P=mark2))"
    rf"(?P<y>\d{{4}}){_OPTIONAL_TIME}",
    re.IGNORECASE,
)
"""`18-Mar-2018`, `Mar-18-2018`."""
_YEAR_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<y>\d{{4}})(?:(?:[.,]|\sm\.)?\s{{1,3}}(?:gada\s)?|[-/])"
    rf"(?:(?P<m1>{_MONTH_NAME})\.?(?:\s{{1,3}}|[-/])(?P<d1>\d{{1,2}}){_ORDINAL}(?![\d:])"
    rf"|(?P<d2>\d{{1,2}}){_ORDINAL}(?:\s{{1,3}}|[-/])(?P<m2>{_MONTH_NAME})\b\.?){_OPTIONAL_TIME}",
    re.IGNORECASE,
)
"""`2018 March 18`, `2018. március 18.`, `2018 m. kovo 18 d.`, `2018. gada 18. marts`."""
_CJK = re.compile(
    r"(?P<y>\d{4})\s?[年년]\s?(?P<mo>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日일]"
    r"(?:\s?(?:\([^()]{1,3}\)|（[^（）]{1,3}）))?"
    r"(?:\s?(?P<day>上午|凌晨|早上|午前|오전|下午|晚上|午後|오후)?\s?(?P<h>\d{1,2})[:：時时시]\s?(?P<mi>\d{2})"
    rf"(?:[:：分분]\s?(?P<s>\d{{2}})[秒초]?|[分분])?{_AM_PM})?",
    re.IGNORECASE,
)
_ERA = re.compile(r"\A(令和|平成|昭和|(?:中華)?民國)\s?(\d{1,3}|元)\s?(?=年)")
_YEARS_BEFORE_ERA = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "中華民國": 1911}
"""The year before the first year of each era (in Japan and Taiwan)."""


def _to_western_year(match: re.Match[str]) -> str:
    return str(_YEARS_BEFORE_ERA[match[1]] + (1 if match[2] == "元" else int(match[2])))


_FORENOON = frozenset({"上午", "凌晨", "早上", "午前", "오전"})
_MAX_REST = 12
_MAYBE_AM_PM = re.compile(r"\s{0,3}(?:[^\W\d_a-zA-Z]|[ap]\b)")
"""A word after a time that may mean am or pm."""
_JAVASCRIPT = re.compile(
    r"[A-Za-z]{3},? ([A-Za-z]{3}) {1,2}(\d{1,2}),? (?:(\d{4}) )?(\d{2}):(\d{2}):(\d{2})"
)
_YEAR_AT_END = re.compile(r"\s(\d{4})\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: Any, language: str | None = None) -> Moment | None:
    """
    Return a date or time as the page gives it, or None if it is invalid or ambiguous.

    The page's `language`, such as `fr` or `en-GB`, decides whether the day comes first in
    `2/12/2015`. `en` and `en-US` do not decide it, because templates set them on pages of any
    country.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str) or len(value) > 120:
        return None
    text = western(value.strip(), language)
    return _parse_moment(text) or (_parse_by_language(text, language) if language else None)


@lru_cache(256)
def _parse_moment(text: str) -> Moment | None:
    """Cached, because each date on a page is parsed several times."""
    try:
        return next(filter(None, (read(text) for read in _READERS)), None)
    except (ValueError, OverflowError):
        return None


def _parse_by_language(text: str, language: str) -> Moment | None:
    if not date_orders.has_day_first(language):
        return None
    try:
        return _parse_slashed(text, is_day_first=True)
    except (ValueError, OverflowError):
        return None


def moment_or_year(value: Any, language: str | None = None) -> AnyDate | None:
    """
    Return a moment, or else a year or month (`2001`, `2001-05`).

    Books and films often have no full date.
    """
    instant = moment(value, language)
    if instant is not None:
        return instant
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return partial_date(western(str(value).strip(), language))


def year(value: Any) -> int | None:
    """Return the year in a moment, or in a string such as `2004` or `2004-05`."""
    instant = moment(value)
    if instant is not None:
        return instant.year
    partial = partial_date(str(value).strip()) if value is not None else None
    return partial.year if partial else None


def _parse_iso(text: str) -> Moment | None:
    match = _ISO.match(text)
    if not match:
        return None
    month, day = match["mo"] or match["mo2"], match["d"] or match["d2"]
    result = _day(int(match["y"]), int(month), int(day))
    if match["h"] is None:
        rest = text[match.end() :].strip()
        has_more_digits = rest and (rest[0].isdigit() or rest[0] == "-")
        return None if has_more_digits and not _SHORT_TIME.match(rest) else result
    return _with_time(result, match, text)


def _day(year: int, month: int, day: int) -> date:
    """Return a day. Raises ValueError for an impossible day or a year outside 1000 to 2200."""
    if not MIN_YEAR <= year <= MAX_YEAR:
        raise ValueError(year)
    return date(year, month, day)


def _with_time(
    day: date, match: re.Match[str], text: str, *, am_pm: str | None = None
) -> Moment | None:
    """
    Return a match's day with its time and the zone after it; None if the zone is unreadable.

    If the next word may mean am or pm, return only the day.
    """
    zone = zone_at(text, match.end())
    if zone is None:
        return None
    if _MAYBE_AM_PM.match(text, zone[1]):
        return day
    groups = match.groupdict()
    hour = _to_24_hours(int(match["h"]), am_pm or match["half"])
    minute, second = int(match["mi"]), int(match["s"] or 0)
    microseconds = int(f"{groups.get('f') or ''}000000"[:6])
    if second == _LEAP_SECOND:
        second = _leap_second_base(hour, minute, zone[0])
    added_day = (
        timedelta(days=1) if hour == _MIDNIGHT and not (minute or second or microseconds) else None
    )
    local_time = datetime(
        day.year, day.month, day.day, 0 if added_day else hour, minute, second, microseconds
    )
    return local_time.replace(tzinfo=zone[0]) + (added_day or timedelta())


_LEAP_SECOND = 60
_MIDNIGHT = 24


def _leap_second_base(hour: int, minute: int, zone: timezone | None) -> int:
    """Return 59 for a leap second. Raises ValueError unless it may be the end of a UTC day."""
    offset_minutes = zone.utcoffset(None) // timedelta(minutes=1) if zone else 0
    is_last_minute = (60 * hour + minute - offset_minutes) % 1440 == 1439 if zone else minute == 59
    if not is_last_minute:
        raise ValueError(minute)
    return 59


def _to_24_hours(hour: int, am_pm: str | None) -> int:
    """
    Return the hour from 0 to 23. `am_pm` is `a`, `p` or nothing.

    Raises ValueError if the hour and `am_pm` contradict each other, as in `14:00 am`.
    """
    if not am_pm:
        return hour
    is_pm = am_pm in "pP"
    if (hour > 12 and not is_pm) or (hour == 0 and is_pm):
        raise ValueError(hour)
    return hour if hour > 12 else hour % 12 + (12 if is_pm else 0)


def _parse_named_month(text: str) -> Moment | None:
    match = _NAMED_MONTH_DATE.match(text) or _DASHED.match(text) or _YEAR_FIRST.match(text)
    month = month_number(match["m1"] or match["m2"]) if match else None
    if match is None or month is None:
        return None
    return _with_time_or_day(
        _day(int(match["y"]), month, int(match["d1"] or match["d2"])), match, text
    )


def _with_time_or_day(
    day: date, match: re.Match[str], text: str, *, am_pm: str | None = None
) -> Moment | None:
    """Return a match's day, with a time if there is one; None if too much text follows."""
    if match["h"] is None:
        return day if len(text) - match.end() <= _MAX_REST else None
    zone = zone_at(text, match.end())
    if zone is None or len(text) - zone[1] > _MAX_REST:
        return None
    return _with_time(day, match, text, am_pm=am_pm)


def _parse_javascript(text: str) -> Moment | None:
    match = _JAVASCRIPT.match(text)
    month = month_number(match[1]) if match else None
    if not match or month is None:
        return None
    year_match = _YEAR_AT_END.search(text) if match[3] is None else None
    year_text = match[3] or (year_match[1] if year_match else None)
    zone = zone_at(text[: year_match.start()] if year_match else text, match.end())
    if year_text is None or zone is None:
        return None
    day = _day(int(year_text), month, int(match[2]))
    local_time = datetime(day.year, day.month, day.day, int(match[4]), int(match[5]), int(match[6]))
    return local_time.replace(tzinfo=zone[0])


def _parse_slashed(text: str, *, is_day_first: bool = False) -> Moment | None:
    """Parse a date of three numbers. `is_day_first` decides only if nothing else shows the day."""
    match = _SLASHED.match(text)
    day = _day_of_numbers(match, is_day_first=is_day_first) if match else None
    if match is None or day is None:
        return None
    if match["h"] is None:
        is_complete = match.end() == len(text) or _SHORT_TIME.match(text, match.end())
        return day if is_complete else None
    zone = zone_at(text, match.end())
    return _with_time(day, match, text) if zone and zone[1] == len(text) else None


def _day_of_numbers(match: re.Match[str], *, is_day_first: bool) -> date | None:
    """Return the day, or None if it is ambiguous or the word before it is not a weekday."""
    first, second, third = (int(match[name]) for name in ("first", "second", "third"))
    weekday = date_orders.weekday(match["weekday"]) if match["weekday"] else None
    if match["weekday"] and weekday is None:
        return None
    if len(match["first"]) == 4 and len(match["third"]) <= 2:
        return _day(first, second, third)
    if len(match["third"]) != 4 or len(match["first"]) > 2:
        return None
    if match["mark"][0] == "." or first > 12 or first == second:
        return _day(third, second, first)
    if second > 12:
        return _day(third, first, second)
    by_weekday = [
        day
        for day in (_day(third, second, first), _day(third, first, second))
        if day.weekday() == weekday
    ]
    if len(by_weekday) == 1:
        return by_weekday[0]
    is_certain = is_day_first and (weekday is None or by_weekday)
    return _day(third, second, first) if is_certain else None


def _parse_cjk(text: str) -> Moment | None:
    """Parse dates such as `2019年3月4日 10時05分`."""
    match = _CJK.match(_ERA.sub(_to_western_year, text, count=1))
    if not match:
        return None
    am_pm = ("a" if match["day"] in _FORENOON else "p") if match["day"] else None
    day = _day(int(match["y"]), int(match["mo"]), int(match["d"]))
    return _with_time_or_day(day, match, match.string, am_pm=am_pm)


def _parse_epoch_or_compact(text: str) -> Moment | None:
    """Parse seconds or milliseconds since 1970, or `20240501103000`."""
    if not (text.isascii() and text.isdigit()):
        return None
    if len(text) in {12, 14} and text[:2] in {"19", "20"}:
        return _parse_iso(f"{text[:8]}T{text[8:]}")
    # Until 2034, `2024050110` may mean seconds or an hour in 2024.
    is_unambiguous = len(text) == 13 or (len(text) == 10 and text[:2] not in {"19", "20"})
    return _from_epoch(int(text)) if is_unambiguous else None


_READERS = (
    _parse_iso,
    _parse_javascript,
    _parse_named_month,
    _parse_slashed,
    _parse_epoch_or_compact,
    _parse_cjk,
)


def _from_epoch(value: float) -> Moment | None:
    """Parse seconds or milliseconds since 1970 (UTC)."""
    epoch_s = value / 1000 if value > 100_000_000_000 else value
    if not 100_000_000 < epoch_s < 4_102_444_800:
        return None
    return _EPOCH + timedelta(seconds=epoch_s)


def pick(
    ledger: Ledger,
    field: str,
    candidates: Iterable[Candidate],
    *,
    fallback: Iterable[Candidate] = (),
    language: str | None = None,
) -> AnyDate | None:
    """
    Return the date of `field`. A full date is preferred to a year from a more trusted source.

    The page's `language` decides the order of day and month in some dates.
    """
    ranked = sorted(candidates, key=lambda candidate: moment(candidate.value, language) is None)
    parse = partial(moment_or_year, language=language)
    result = ledger.pick(field, parse, ranked, fallback=fallback, expected="a date")
    return cast("AnyDate | None", result)
