"""
Find a recipe's times and servings in its visible text, next to captions such as `Prep time`.

These values are used only if the markup has none. Examples are `Prep time: 20 min`, `Serves 4`,
`Zubereitungszeit 1 Std.` and `Pour 6 personnes`. A caption counts only if a duration or number is
next to it. Durations may precede their captions: `20 min prep 1 h cook`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from richpins._plain_text import HIDDEN_ELEMENTS, text_without
from richpins.document import Document
from richpins.values import durations
from richpins.values.yields import Yield, read_yield

MAX_CHARS = 100_000

_GAP = r"[\s:=\-–|·•]{0,6}"
_SERVINGS_CAPTION = re.compile(
    r"\b(?:serves|servings?|yields?|makes|portions?|portionen|portioner|porsjoner|porciones|"
    r"raciones|porzioni|porções|rende|personen|personer|personnes|personas|aantal\s*personen|分量|"
    r"porcj[ieę]|porcí|порц\w{1,3}|annosta|份量)\b" + _GAP + r"(?:(?:about|approx\w{0,9}\.?|around|"
    r"roughly|etwa|ca\.?|circa|environ|ongeveer|ungefär|około)\s)?(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?"
    r"(?:\s+(?!(?:prep|cook|cooking|total|time|ready|calories|course|ingredients|yields?|"
    r"serves|makes|for|per|pro|kcal|kj|nutrition|difficulty|min|mins|"
    r"minutes|minuten|h|hours?|hrs?|std|uur)\b)[^\W\d_]{3,15})?)",
    re.IGNORECASE,
)
_FOR_PEOPLE = re.compile(
    r"\b(?:für|pour|para|per|voor|for)?\s*(\d{1,2}(?:\s*(?:-|–|to)\s*\d{1,2})?)\s*"
    r"(?:servings|portionen|personen|personnes|personas|persone|portions|portioner|porsjoner|"
    r"porciones|raciones|porzioni|porções|people|personer|pers|porce|porcí|porcj\w*|"
    r"osób|osoby|adag|főre|порц\w*|personas|annosta|人份|人分)\b",
    re.IGNORECASE,
)


_INGREDIENTS_FOR = re.compile(
    r"\b(?:ingredients?|ingrédients|zutaten|ingrediënten|ingredientes|ingredienti|ingredienser|"
    r"składniki|suroviny|malzemeler)\s+(?:for|pour|für|voor|per|para|till|til|na)\s+"
    r"(?:(?:about|approx\w{0,9}\.?|environ|etwa|ca\.?|ongeveer|circa|około|cirka)\s+)?"
    r"(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?\s+[^\W\d_]{3,20})",
    re.IGNORECASE,
)
"""Matches `Ingredients for 10 rolls`, but not `for 10 g`: the word must have three letters."""


def text_on_one_line(document: Document, *, whole_body: bool) -> str:
    """Return the text of `<main>` or `<article>`, or else of the body if `whole_body` is set."""
    body = document.tree.body
    if body is None:
        return ""
    main = body.css_first("main") or body.css_first("article")
    if main is None:
        main = body if whole_body else None
    if main is None:
        return ""
    text = " ".join(text_without(main, HIDDEN_ELEMENTS, _SCRIPT_GAP)[:MAX_CHARS].split())
    return (
        _REPEATED_UNIT.sub(r"\1", text) if any(units in text for units in _REPEATED_UNITS) else text
    )


_SCRIPT_GAP = " \ufffc "
"""Replaces a script, so that a caption before it and a value after it are not paired."""
_REPEATED_UNIT = re.compile(
    r"(\d\s(?:hours?|minutes?|days?))\s(?:hours?|hrs?|h|minutes?|mins?|m|days?|d)\b", re.IGNORECASE
)
_REPEATED_UNITS = (
    "hour h", "hours h", "minutes m", "minute m", "day d", "days d", "Hour h", "Hours h",
)  # fmt: skip
"""Units repeated for screen readers: `1 hour hr 15 minutes mins`."""


def _is_duration(text: str, match: re.Match[str]) -> bool:
    """Return True for a number of minutes or hours, as in `servings 10 min`."""
    return _TIME_UNIT.match(text, match.end()) is not None


_TIME_UNIT = re.compile(r"\s*(?:h|hrs?|hours?|min\w*|std|uur|timer|ore)\b", re.IGNORECASE)


def servings_by_class(document: Document) -> tuple[Yield, str] | None:
    """Return the yield in an element with a class such as `servings`, and its text."""
    for node in document.tree.css(_SERVINGS_ELEMENTS)[:_MAX_SERVINGS_ELEMENTS]:
        text = node.attributes.get("data-servings") or text_without(node, HIDDEN_ELEMENTS)
        text = " ".join((text or "").split())
        if not text and node.parent is not None:
            text = " ".join(text_without(node.parent, HIDDEN_ELEMENTS).split())
        if len(text) <= _MAX_SERVINGS_CHARS and _SMALL_NUMBER.search(text):
            parsed_yield = read_yield(text)
            if parsed_yield is not None:
                return parsed_yield, text
    return None


_SERVINGS_ELEMENTS = (
    '[data-servings],[itemprop="recipeYield"],[class*="serves" i],[class*="servings" i],'
    '[class*="yield" i],[class*="portion" i]'
)
_MAX_SERVINGS_ELEMENTS = 20
_MAX_SERVINGS_CHARS = 40
_SMALL_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def servings(text: str) -> tuple[Yield, str] | None:
    """Return the first yield and its text. The size of one portion is not a yield."""
    for pattern in (_SERVINGS_CAPTION, _INGREDIENTS_FOR, _FOR_PEOPLE):
        for match in islice(pattern.finditer(text), _MAX_TOKENS):
            if _is_duration(text, match) or _PER_PORTION.match(match[0]):
                continue
            if pattern is _SERVINGS_CAPTION and _has_number_before(text, match):
                continue
            parsed_yield = read_yield(match[0] if pattern is _FOR_PEOPLE else match[1])
            if parsed_yield is not None and not _is_portion_size(parsed_yield):
                return parsed_yield, match[0].strip()
    return None


def _has_number_before(text: str, match: re.Match[str]) -> bool:
    """Return True for `4 portioner 2 dl`, where the number precedes the word."""
    before = text[max(0, match.start() - _MAX_NUMBER_CHARS) : match.start()]
    return _NUMBER_BEFORE.search(before) is not None and _PORTIONS_WORD.match(match[0]) is not None


_MAX_NUMBER_CHARS = 6
_NUMBER_BEFORE = re.compile(r"(?<!\d)\d{1,2}\s?\Z")
_PORTIONS_WORD = re.compile(
    r"(?:serving|porti|pors|porc|porz|porç|raci|perso|порц|annos)", re.IGNORECASE
)

_PER_PORTION = re.compile(
    r"(?:per|pro|par|por)\b|(?:serving|portion)\b[\s:=–|·•-]{0,6}1(?!\d)"
    r"|1\s(?:serving|porti|porz|porc|raci|porsjon|份|人份)",
    re.IGNORECASE,
)
"""Matches the start of a nutrient table: `per portion`, `Serving: 1 cup`, `1 portion`."""


def _is_portion_size(parsed_yield: Yield) -> bool:
    """Return True if a yield is too large, or is a portion's weight, energy or spoonfuls."""
    if parsed_yield.unit == "servings":
        return parsed_yield.quantity >= _MAX_SERVINGS
    return _SPOONS.match(parsed_yield.unit) is not None


_MAX_SERVINGS = 100
_SPOONS = re.compile(
    r"(?:tbsps?|tsps?|tablespoons?|teaspoons?|esslöffel|teelöffel|kcal|kj|gram|g)\b"
)


@dataclass(frozen=True, slots=True)
class _CaptionToken:
    name: str
    """A field name, or `duration`."""
    start: int
    end: int
    minutes: int | None


_HOURS = (
    r"(?:óra|órás|d[kí]\w{0,20}|h\w{0,20}|std\w{0,20}|stunden?|uur|uren|tim\w{0,20}|godz\w{0,20}|"
    r"ώρ\w{0,20}|час\w{0,20})\.?"
)
_MINUTES = r"(?:m\w{0,8}|λεπτ\w{0,20}|мин\w{0,20}|perc)\.?"
_NUMBER = r"\d{1,4}[\d.,:/½¼¾\s\-–]{0,8}\s?"
_DURATION = (
    rf"((?:{_NUMBER}{_HOURS}[\s,]{{0,3}}(?:and|und|et|y|e|og|i)?\s{{0,3}})?{_NUMBER}{_MINUTES}"
    rf"|{_NUMBER}{_HOURS}(?:\s?\d\d(?!\d))?)"
)
_DAYS = r"(?:days?|dage|dagen|tage?n?|jours?|d[ií]as?|giorn[oi])\b"
_ABOUT = r"(?:(?:around|about|approx\w{0,20}\.?|ca\.?|circa|até|up\s+to|etwa|ongeveer|cirka)\s+)?"
_PREP = (
    r"prep(?:aration)?\s*(?:time)?|hands[- ]on\s*(?:time)?|active\s*time|"
    r"vorbereitungs?zeit|arbeitszeit|temps\s*de\s*pr[ée]paration|pr[ée]paration|tiempo\s*de\s*preparaci[óo]n|preparazione|"
    r"voorbereidingstijd|czas\s*przygotowania|förberedelse|előkészítési\s*idő|előkészület"
)
_COOK = (
    r"cook(?:ing)?\s*(?:time)?|bake\s*time|baking\s*time|kochzeit|backzeit|garzeit|"
    r"temps\s*de\s*cuisson|cuisson|tiempo\s*de\s*cocci[óo]n|cottura|tempo\s*de\s*cozimento|"
    r"kooktijd|baktijd|oventijd|czas\s*gotowania|főzési\s*idő|sütési\s*idő"
)
_TOTAL = (
    r"totale?\s*(?:time|tijd)?|ready\s*in|takes|gesamtzeit|zubereitungszeit|temps\s*total|"
    r"tiempo\s*total|tempo\s*totale|tempo\s*de\s*preparo|bereidingstijd|elkészítési\s*idő|"
    r"(?:teljes|összes)\s*idő|összidő|tilberedningstid|arbejdstid|tid\s*i\s*alt"
)
_CAPTION = (
    rf"\b(?:(?P<prep_minutes>{_PREP})|(?P<cook_minutes>{_COOK})|(?P<total_minutes>{_TOTAL}))(?!\w)"
)
_DURATION_PATTERN = re.compile(_DURATION, re.IGNORECASE)
_DAYS_PATTERN = re.compile(rf"({_NUMBER}{_DAYS}(?:[\s,]{{0,3}}{_DURATION})?)", re.IGNORECASE)
_DAY = re.compile(rf"\d\s?{_DAYS}", re.IGNORECASE)
_CAPTION_BEFORE = re.compile(_CAPTION + _GAP + _ABOUT + "$", re.IGNORECASE)
_CAPTION_AFTER = re.compile(_GAP + _CAPTION, re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_CAPTION_ENDINGS = (
    "time", "hands-on", "hands on", "prep", "preparation", "cook", "cooking", "total", "totale",
    "takes", "in", "zeit",
    "préparation", "cuisson", "preparación", "preparacion", "cocción", "coccion", "preparazione",
    "cottura", "preparo", "prepara", "cozimento", "tijd", "przygotowania", "gotowania",
    "förberedelse", "tid", "alt", "around", "about", "approx", "approximately", "ca", "circa",
    "até", "to", "etwa", "ongeveer", "cirka", "tiempo", "tempo", "idő",
)  # fmt: skip
"""The last word of a caption, or of the text between a caption and its duration."""
_LAST_LETTER = re.compile(r"[^\W\d_][\s:=\-–|·•.]{0,8}$")
_CAPTION_GAP = re.compile(_GAP + _ABOUT, re.IGNORECASE)
_TIME_CAPTION = re.compile(rf"T(?:ime|id|ijd|empo|iempo|emps|otaal)\b{_GAP}{_ABOUT}{_DURATION}")
_INSTRUCTION = re.compile(r"(?:cook|takes)\s+\d", re.IGNORECASE)
"""Without other captions, `Cook 5 minutes` is an instruction, not the recipe's cooking time."""
_MAX_RUN_TOKENS = 12
_MAX_NUMBERS = 5_000
_MAX_TOKENS = 300
_MAX_CAPTION_CHARS = 60
_MIN_RUN_TOKENS = 3


def times(text: str, servings_end: int | None = None) -> dict[str, tuple[int, str]]:
    """
    Map `prep_minutes`, `cook_minutes` and `total_minutes` to minutes and their source text.

    Without a known caption, the total is the duration after a bare `Time`, or else after
    `servings_end`, where the servings caption ends (`4 servings - 30 min`).
    """
    result: dict[str, tuple[int, str]] = {}
    for run in _token_runs(text):
        for name, minutes, start, end in _pair_tokens(run):
            if len(run) < _MIN_RUN_TOKENS and _INSTRUCTION.match(text, start, end):
                continue
            result.setdefault(name, (minutes, text[start:end].strip()))
    _reinterpret_total(result)
    if not result:
        match = next(_bare_time_captions(text), None)
        if match is None and servings_end is not None:
            match = _DURATION_AFTER_SERVINGS.match(text, servings_end)
        total = durations.minutes(match[1].strip()) if match else None
        if match and total is not None:
            result["total_minutes"] = total, match[0].strip()
    return result


def _reinterpret_total(result: dict[str, tuple[int, str]]) -> None:
    total, cook = result.get("total_minutes"), result.get("cook_minutes")
    if total is None or cook is None or "prep_minutes" in result:
        return
    if _AMBIGUOUS_TOTAL.match(total[1]):
        result["prep_minutes"] = total
        del result["total_minutes"]


_AMBIGUOUS_TOTAL = re.compile(
    r"\W*(?:zubereitungszeit|bereidingstijd|tempo\s*de\s*preparo|elkészítési\s*idő|"
    r"tilberedningstid)",
    re.IGNORECASE,
)
"""Captions that mean the total time if there is no cooking time."""


def _bare_time_captions(text: str) -> Iterator[re.Match[str]]:
    """
    Yield each capitalized `Time` with a duration, but not `Oven Time` or `Rest Time`.

    This is fast, because the pattern starts with a fixed letter.
    """
    for match in _TIME_CAPTION.finditer(text):
        before = text[max(0, match.start() - _MAX_QUALIFIER_CHARS) : match.start()]
        if not before[-1:].isalnum() and not _OTHER_TIME_WORD.search(before):
            yield match


_MAX_QUALIFIER_CHARS = 20
_OTHER_TIME_WORD = re.compile(
    r"(?<![^\W\d_])(?:\w{2,12}ing|oven|rest|chill|cool|proof|rise|freeze|freezer|inactive|passive|"
    r"active|grill|roast|soak|wait|set|marinade|marination|fermentation|refrigeration|additional|"
    r"extra|delivery|read|smoke|steam|fry|simmer|stand|cooker|fridge|microwave)[ -]\Z",
    re.IGNORECASE,
)


_DURATION_AFTER_SERVINGS = re.compile(r"[\s—–|·•,-]{1,5}" + _DURATION, re.IGNORECASE)


def _token_runs(text: str) -> Iterator[list[_CaptionToken]]:
    run: list[_CaptionToken] = []
    for token in _find_tokens(text):
        gap = _CAPTION_GAP.match(text, run[-1].end) if run else None
        if run and (gap is None or gap.end() < token.start or len(run) >= _MAX_RUN_TOKENS):
            yield run
            run = []
        run.append(token)
    yield run


def _find_tokens(text: str) -> list[_CaptionToken]:
    """
    Return durations and captions in order.

    Durations are searched first, because they are rare and captions take longer to find.
    """
    tokens_by_start: dict[int, _CaptionToken] = {}
    has_days = _DAY.search(text) is not None
    end = 0
    for digits in islice(_DIGITS.finditer(text), _MAX_NUMBERS):
        position = digits.start()
        duration = _DURATION_PATTERN.match(text, position) if position >= end else None
        if has_days and position >= end:
            duration = _DAYS_PATTERN.match(text, position) or duration
        if duration is None or (position and text[position - 1] in ".,"):
            continue
        start, end = duration.span()
        if len(tokens_by_start) >= _MAX_TOKENS:
            break
        tokens_by_start[start] = _CaptionToken(
            "duration", start, end, durations.minutes(duration[1].strip())
        )
        window_start = max(0, start - _MAX_CAPTION_CHARS)
        for caption, offset in (
            (_caption_before(text[window_start:start]), window_start),
            (_CAPTION_AFTER.match(text, end), 0),
        ):
            if caption is not None:
                name = caption.lastgroup or ""
                caption_start, caption_end = caption.span(name)
                tokens_by_start[caption_start + offset] = _CaptionToken(
                    name, caption_start + offset, caption_end + offset, None
                )
    return [tokens_by_start[start] for start in sorted(tokens_by_start)]


def _caption_before(window: str) -> re.Match[str] | None:
    letter = _LAST_LETTER.search(window)
    if letter is None or not window[: letter.start() + 1].lower().endswith(_CAPTION_ENDINGS):
        return None
    return _CAPTION_BEFORE.search(window)


_Pair = tuple[str, int, int, int]


def _pair_tokens(run: list[_CaptionToken]) -> list[_Pair]:
    """Pair captions with durations in the order that gives more pairs; on a tie, captions first."""
    captions_first = list(_pair_neighbors(run, allow_duration_first=False))
    either_way = list(_pair_neighbors(run, allow_duration_first=True))
    return either_way if len(either_way) > len(captions_first) else captions_first


def _pair_neighbors(run: list[_CaptionToken], *, allow_duration_first: bool) -> Iterator[_Pair]:
    index = 0
    while index + 1 < len(run):
        first, second = run[index], run[index + 1]
        if first.name != "duration" and second.minutes is not None:
            yield first.name, second.minutes, first.start, second.end
            index += 2
        elif allow_duration_first and first.minutes is not None and second.name != "duration":
            yield second.name, first.minutes, first.start, second.end
            index += 2
        else:
            index += 1
