"""
Parse the opening hours of places in the notation of schema.org: `Mo-Fr 09:00-17:00`.

Days may be named in several languages. Days on which the place is closed are omitted.
"""

from __future__ import annotations

import html
import re
from typing import Any

from richpins.structured_data.graph import Node
from richpins.values import scalars

_MAX_ENTRIES = 60
_DAY_NAMES = {
    "Mo": "monday montag lundi lunes lunedì lunedi segunda segunda-feira maandag måndag mandag "
    "pondělí pondelok poniedziałek понедельник понеділок hétfő luni maanantai ponedjeljak "
    "ponedeljek pazartesi δευτέρα",
    "Tu": "tuesday dienstag mardi martes martedì martedi terça terça-feira dinsdag tisdag tirsdag "
    "úterý utorok wtorek вторник вівторок kedd marți tiistai utorak torek salı τρίτη",
    "We": "wednesday mittwoch mercredi miércoles miercoles mercoledì mercoledi quarta quarta-feira "
    "woensdag onsdag středa streda środa среда середа szerda miercuri keskiviikko srijeda sreda "
    "çarşamba τετάρτη",
    "Th": "thursday donnerstag jeudi jueves giovedì giovedi quinta quinta-feira donderdag torsdag "
    "čtvrtek štvrtok czwartek четверг четвер csütörtök joi torstai četvrtak četrtek "
    "perşembe πέμπτη",
    "Fr": "friday freitag vendredi viernes venerdì venerdi sexta sexta-feira vrijdag fredag pátek "
    "piatok piątek пятница п'ятниця péntek vineri perjantai petak petek cuma παρασκευή",
    "Sa": "saturday samstag sonnabend samedi sábado sabado sabato zaterdag lördag lørdag sobota "
    "суббота субота szombat sâmbătă lauantai subota cumartesi σάββατο",
    "Su": "sunday sonntag dimanche domingo domenica zondag söndag søndag neděle nedeľa niedziela "
    "воскресенье неділя vasárnap duminică sunnuntai nedjelja nedelja pazar κυριακή",
}
_DAYS = {name: day for day, names in _DAY_NAMES.items() for name in names.split()}
_ABBREVIATIONS = {day.lower(): day for day in _DAY_NAMES}
_UNTIL = r"\s{0,3}(?:[-–—]|\b(?:to|through|thru|bis|au|à|a|al|até|t/m|tot|do|till|til|по)\b)\s{0,3}"
_DAY_RANGE = re.compile(rf"([^\W\d_][\w'-]{{1,20}}?){_UNTIL}([^\W\d_][\w'-]{{1,20}})")
_TIMES = re.compile(
    r"(?P<days>[^\W\d_][^\d:]{1,50}?)\s{0,3}:?\s{1,3}"
    r"(?P<times>\d{1,2}[:.]\d\d\s?[-–]\s?\d{1,2}[:.]\d\d)"
)
_CLOSED = re.compile(
    r"[^\W\d_]\D{0,40}?[\s:,]{0,5}(?:[-–—]|\b(?:closed|off|geschlossen|ruhetag|fermée?|chius[oa]|"
    r"cerrado|fechado|gesloten|lukket|stängt|suljettu|zavřeno|zatvorené|nieczynne|zamknięte|"
    r"zatvoreno|zaprto|zárva|închis|закрыто|выходной|зачинено|kapalı|κλειστά))\s{0,3}\.?",
    re.IGNORECASE,
)
_CLOCK_TIME = re.compile(
    r"(\d{1,2})[:.](\d{2})(?:[:.]\d{2}(?:\.\d{1,9})?)?(\s?[ap]\.?m\b\.?)?", re.IGNORECASE
)
_MIDNIGHT = re.compile(r"0?0:00")


def parse_opening_hours(raw: list[Any]) -> tuple[str, ...] | None:
    """Return entries such as `Mo-Fr 09:00-17:00`; None if there is none. Other text is kept."""
    entries = [
        _parse_node(v) if isinstance(v, Node) else _parse_text(v) for v in raw[:_MAX_ENTRIES]
    ]
    return tuple(filter(None, entries)) or None


def _parse_node(node: Node) -> str | None:
    days = [_day(re.split(r"[/#:]", html.unescape(str(day)))[-1]) for day in node.all("dayofweek")]
    opens, closes = (scalars.text(node.first(name)) for name in ("opens", "closes"))
    if not (days and opens and closes):
        return None
    start, end = _time_of_day(opens), _time_of_day(closes)
    # Google's documentation: from midnight to midnight, a place is closed.
    is_closed = _MIDNIGHT.fullmatch(start) and _MIDNIGHT.fullmatch(end)
    return None if is_closed else f"{','.join(days)} {start}-{end}"


def _day(text: str) -> str:
    """Return the abbreviation of a day or of a range of days, and `PH` for public holidays."""
    name = text.strip()
    if name.lower().startswith("publicholiday"):
        return "PH"
    return _known_days(name) or name[:2]


def _known_days(text: str) -> str | None:
    name = text.strip().lower()
    if name in _DAYS or name in _ABBREVIATIONS:
        return _DAYS.get(name) or _ABBREVIATIONS[name]
    match = _DAY_RANGE.fullmatch(name)
    if match is None:
        return None
    ends = [_DAYS.get(end) or _ABBREVIATIONS.get(end) for end in match.groups()]
    return f"{ends[0]}-{ends[1]}" if all(ends) else None


def _parse_text(value: Any) -> str | None:
    text = scalars.text(value)
    if text is None or _CLOSED.fullmatch(text):
        return None
    match = _TIMES.fullmatch(text)
    days = _known_days(match["days"]) if match is not None else None
    return f"{days} {match['times']}" if match is not None and days else text


def _time_of_day(text: str) -> str:
    """Return the hours and minutes of a time such as `T8:00:00+01:00`, or the text itself."""
    match = _CLOCK_TIME.search(text[:40])
    return f"{match[1]}:{match[2]}{match[3] or ''}" if match else text[:20]
