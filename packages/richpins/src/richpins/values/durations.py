"""
Parse durations in ISO 8601 and in the informal notations that pages use.

Examples are `PT1H30M`, `PT90`, `P0DT0H45M`, `1 h 30 min`, `1:30`, `90`, `1½ hours` and
`{"minValue": …, "maxValue": …}`. Ranges yield the larger value.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from richpins.structured_data.graph import Node

MAX_MINUTES = 525_600
"""One year. No cooking time or film is longer."""

_ISO_DURATION = re.compile(
    r"P\s*+(?:(?P<Y>[\d.,]*+)\s*+Y)?\s*+(?:(?P<MO>[\d.,]*+)\s*+M(?![a-z]))?\s*+"
    r"(?:(?P<W>[\d.,]*+)\s*+W)?\s*+(?:(?P<D>[\d.,]*+)\s*+D)?\s*+"
    r"(?:T\s*+(?:(?P<H>[\d.,]*+)\s*+H)?\s*+(?:(?P<M>[\d.,]*+)\s*+M)?\s*+"
    r"(?:(?P<S>[\d.,]*+)\s*+S)?)?\s*+",
    re.IGNORECASE,
)
_NEGATIVE_PART = re.compile(
    r"P(?:\s*+[\d.,]++\s*+[YMWD]|)*+\s*+T?(?:\s*+[\d.,]++\s*+[HMS]|)*+\s*+[-−]", re.IGNORECASE
)
"""A negative part, as in `PT-15M` or `PT1H-5M`: a mistake on the page, not a range."""
_ISO_WITHOUT_UNIT = re.compile(r"PT?\s*+(?:(\d++)\s*+H\s*+)?(\d++)\s*+", re.IGNORECASE)
_MISPLACED_T = re.compile(
    r"(?=P)P?T?(?:(\d+)D)?T?(?:(\d+)H)?T?(?:(\d+)M)?T?(?:(\d+)S)?", re.IGNORECASE
)
_CLOCK_DURATION = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?")
_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75", "⅓": ".333", "⅔": ".667", "⅛": ".125"}
_MIXED_HOURS = re.compile(r"(?:(\d{1,9})\s{1,3})?(\d{1,9})\s{0,3}[/⁄]\s{0,3}(\d{1,9})")
_DURATION_RANGE = re.compile(
    r"([\d.,]{1,12})\s{0,3}(?:-|–|—|to|bis|à|a|до)\s{0,3}([\d.,]{1,12})", re.IGNORECASE
)
_UNIT_MINUTES: dict[str, Decimal] = {
    "d": Decimal(1440), "h": Decimal(60), "m": Decimal(1), "s": Decimal(1) / 60,
}  # fmt: skip
_DAY_WORDS = r"days?|d|jours?|tage?n?|d[ií]as?|giorn[oi]|dagen|dag|dni|dzień|dn[íyů]|дн\w*|суток|日"
_HOUR_WORDS = (
    r"h(?:ou)?rs?|h(?:ou)?r|hrs?|h|heures?|stunden?|std|horas?|or[ae]|uur|uren|timmar|timme|"
    r"timer|time|tim|t|godz\w*|hodin\w*|hod|óra|ore|ώρ\w+|час\w*|ч|год\w*|saat|sa|שע\w+|"
    r"ساع\w*|時間|小时|小時|시간|tund\w*|tunti\w*|val"
)
_MINUTE_WORDS = (
    r"min(?:ute|uto|uti|uut|ut|uter|uten|utter|utes|utos|utů|uty|uta)?[sn]?|mins?|m|minuut|"
    r"minuten|minut\w*|λεπτ\w+|мин\w*|хв\w*|dk|dakika|dak|דק\w*|دق\w*|分鐘|分钟|分|분|perc\w*"
)
_SECOND_WORDS = r"sec(?:ond)?s?|s|sekunden?|segundos?|secondi|сек\w*|秒|초"
_UNIT_WORDS = (("d", _DAY_WORDS), ("h", _HOUR_WORDS), ("m", _MINUTE_WORDS), ("s", _SECOND_WORDS))
_QUANTITY = re.compile(
    r"(\d{1,12}+(?:[.,]\d{1,12}+|)?+)\s{0,3}+(?:"
    + "|".join(f"(?P<{name}>(?:{words})(?![^\\W\\d_]))" for name, words in _UNIT_WORDS)
    + r")\.?",
    re.IGNORECASE,
)
_MINUTES_WITHOUT_UNIT = re.compile(r"\d\s{0,3}h(?:rs?|ours?)?\.?\s{0,3}(\d{1,2})$", re.IGNORECASE)
_FRACTION_REPLACEMENTS = {
    sign: (re.compile(rf"(\d{{1,9}})\s{{0,3}}{sign}"), rf"\g<1>{part}")
    for sign, part in _FRACTIONS.items()
}
_PHRASES_BY_DURATION = {
    "1 hour": ("an hour", "one hour", "eine stunde", "une heure", "una hora", "un'ora", "een uur"),
    "30 minutes": (
        "half an hour", "half hour", "a half hour", "eine halbe stunde", "halbe stunde",
        "une demi-heure", "media hora", "mezz'ora", "een half uur", "half uur", "en halvtimme",
        "en halv time", "pół godziny", "meia hora",
    ),
    "90 minutes": (
        "an hour and a half", "one and a half hours", "1 hour and a half", "anderthalb stunden",
        "eineinhalb stunden", "une heure et demie", "1 heure et demie", "hora y media",
        "una hora y media", "un'ora e mezza", "anderhalf uur", "półtorej godziny",
    ),
    "1 minute": ("a minute", "one minute"),
}  # fmt: skip
_DURATION_BY_PHRASE = {
    words: plain for plain, spellings in _PHRASES_BY_DURATION.items() for words in spellings
}
_PRIME_MINUTES = re.compile(r"(\d{1,3})\s?['’′]")
_MULTIPLICATION = re.compile(r"(\d)\s?[x×]\s?(\d{1,3})(?=\s?[^\W\d])", re.IGNORECASE)


def minutes(value: Any) -> int | None:
    """Return whole minutes, rounded half up, or None for zero and values that are not durations."""
    duration_s = seconds(value, bare_unit="m")
    if duration_s is None:
        return None
    rounded = int((duration_s / 60).to_integral_value(rounding="ROUND_HALF_UP"))
    return rounded if 0 < rounded <= MAX_MINUTES else None


def seconds(value: Any, *, bare_unit: str = "s") -> Decimal | None:
    """Return seconds. A number without a unit is in `bare_unit` (s or m)."""
    if isinstance(value, Node):
        value = value.first("maxvalue", "value", "minvalue", "name", "duration")
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        value = repr(value)
    if not isinstance(value, str) or len(value) > 200:
        return None
    text = value.strip()
    if text[:1] in {"-", "−"} or _NEGATIVE_PART.match(text):
        return None
    result = (
        _parse_iso(text) if text[:1] in {"P", "p", "T", "t"} else _parse_informal(text, bare_unit)
    )
    return result if result is not None and result > 0 else None


def _parse_iso(text: str) -> Decimal | None:
    text = text.replace(" ", "") if text[:2].upper() == "PT" or text[:2].upper() == "P0" else text
    if text[:1] in {"T", "t"}:
        text = f"P{text}"
    match = _ISO_DURATION.fullmatch(text)
    if match and match["MO"] and not any(match[name] for name in "YWDHMS"):
        text = f"PT{match['MO']}M"  # `P30M` alone means 30 minutes, not months
        match = _ISO_DURATION.fullmatch(text)
    if match:
        parts = {name: _parse_number(match[name]) for name in ("Y", "MO", "W", "D", "H", "M", "S")}
        days = parts["Y"] * 365 + parts["MO"] * 30 + parts["W"] * 7 + parts["D"]
        return ((days * 24 + parts["H"]) * 60 + parts["M"]) * 60 + parts["S"]
    without_unit = _ISO_WITHOUT_UNIT.fullmatch(text)
    if without_unit:
        return (_parse_number(without_unit[1]) * 60 + _parse_number(without_unit[2])) * 60
    misplaced = _MISPLACED_T.fullmatch(text)
    if misplaced:
        days, hours, mins, secs = (_parse_number(parts) for parts in misplaced.groups())
        return ((days * 24 + hours) * 60 + mins) * 60 + secs
    return _parse_informal(re.sub(r"^PT?\s*", "", text, flags=re.IGNORECASE), "m")


def _parse_informal(text: str, bare_unit: str) -> Decimal | None:
    clock = _CLOCK_DURATION.fullmatch(text.removesuffix("h").removesuffix("H").strip())
    if clock:
        first, second, third = (_parse_number(part) for part in clock.groups())
        if clock[3] is None and bare_unit == "s":
            return first * 60 + second
        return (first * 60 + second) * 60 + third
    text = _replace_words_and_fractions(text)
    try:
        if re.fullmatch(r"\d+(?:\.\d+)?", text):
            return Decimal(text) * (60 if bare_unit == "m" else 1)
    except ArithmeticError:
        return None
    text = _DURATION_RANGE.sub(lambda match: match[2], text)
    total, last_unit = Decimal(0), None
    for match in _QUANTITY.finditer(text):
        unit = match.lastgroup or "m"
        if last_unit is not None and _UNIT_MINUTES[unit] >= _UNIT_MINUTES[last_unit]:
            break
        total += _parse_number(match[1]) * _UNIT_MINUTES[unit] * 60
        last_unit = unit
    trailing_minutes = _MINUTES_WITHOUT_UNIT.search(text.rstrip())
    if trailing_minutes and last_unit == "h":
        total += _parse_number(trailing_minutes[1]) * 60
    return total if last_unit is not None else None


def _replace_words_and_fractions(text: str) -> str:
    plain = _DURATION_BY_PHRASE.get(text.lower().replace("’", "'"))
    if plain is not None:
        return plain
    text = _PRIME_MINUTES.sub(r"\1 min", text) if _PRIME_MINUTES.fullmatch(text) else text
    text = _MULTIPLICATION.sub(lambda match: str(int(match[1]) * int(match[2])), text)
    text = _MIXED_HOURS.sub(_fraction_to_decimal, text)
    for symbol, decimals in _FRACTIONS.items():
        if symbol in text:
            pattern, decimal = _FRACTION_REPLACEMENTS[symbol]
            text = pattern.sub(decimal, text).replace(symbol, f"0{decimals}")
    return text


def _fraction_to_decimal(match: re.Match[str]) -> str:
    whole, numerator, denominator = (int(part or 0) for part in match.groups())
    return f"{whole + numerator / denominator:.3f}" if denominator else match[0]


def _parse_number(text: str | None) -> Decimal:
    if not text:
        return Decimal(0)
    try:
        return Decimal(text.replace(",", "."))
    except ArithmeticError:
        return Decimal(0)
