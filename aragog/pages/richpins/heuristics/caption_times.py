"""
Find the times of a recipe in its visible text: captions next to durations, in either order.

Examples are `Prep time: 20 min Cook time: 1 h` and `20 min prep 1 h cook`, where each duration
belongs to the caption after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from aragog.pages.richpins.values import durations


@dataclass(frozen=True, slots=True)
class _CaptionToken:
    name: str
    """A field name, or `lasts` for a duration."""
    start: int
    end: int
    minutes: int | None


_GAP = r"[\s:=\-–|·•]{0,6}"
_HOURS = (
    r"(?:d[kí]\w{0,20}|h\w{0,20}|std\w{0,20}|stunden?|uur|uren|tim\w{0,20}|godz\w{0,20}|"
    r"ώρ\w{0,20}|час\w{0,20})\.?"
)
_MINUTES = r"(?:m\w{0,8}|λεπτ\w{0,20}|мин\w{0,20}|perc)\.?"
_NUMBER = r"\d{1,4}[\d.,:/½¼¾\s\-–]{0,8}\s?"
_DURATION = (
    rf"((?:{_NUMBER}{_HOURS}[\s,]{{0,3}}(?:and|und|et|y|e|og|i)?\s{{0,3}})?{_NUMBER}{_MINUTES}"
    rf"|{_NUMBER}{_HOURS}(?:\s?\d\d(?!\d))?)"
)
_ABOUT = r"(?:(?:around|about|approx\w{0,20}\.?|ca\.?|circa|até|up\s+to|etwa|ongeveer|cirka)\s+)?"
_PREP = (
    r"prep(?:aration)?\s*(?:time)?|hands[- ]on\s*time|active\s*time|vorbereitungs?zeit|arbeitszeit|"
    r"temps\s*de\s*pr[ée]paration|pr[ée]paration|tiempo\s*de\s*preparaci[óo]n|preparazione|"
    r"voorbereidingstijd|czas\s*przygotowania|förberedelse"
)
_COOK = (
    r"cook(?:ing)?\s*(?:time)?|bake\s*time|baking\s*time|kochzeit|backzeit|garzeit|"
    r"temps\s*de\s*cuisson|cuisson|tiempo\s*de\s*cocci[óo]n|cottura|tempo\s*de\s*cozimento|"
    r"kooktijd|baktijd|czas\s*gotowania"
)
_TOTAL = (
    r"totale?\s*(?:time|tijd)?|ready\s*in|takes|gesamtzeit|zubereitungszeit|temps\s*total|"
    r"tiempo\s*total|tempo\s*totale|tempo\s*de\s*preparo|bereidingstijd|tilberedningstid|arbejdstid|tid\s*i\s*alt"
)
_CAPTION = (
    rf"\b(?:(?P<prep_minutes>{_PREP})|(?P<cook_minutes>{_COOK})|(?P<total_minutes>{_TOTAL}))(?!\w)"
)
_LASTS = re.compile(_DURATION, re.IGNORECASE)
_BEFORE = re.compile(_CAPTION + _GAP + _ABOUT + "$", re.IGNORECASE)
_AFTER = re.compile(_GAP + _CAPTION, re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_LAST_WORDS = (
    "time", "prep", "preparation", "cook", "cooking", "total", "totale", "takes", "in", "zeit",
    "préparation", "cuisson", "preparación", "preparacion", "cocción", "coccion", "preparazione",
    "cottura", "preparo", "prepara", "cozimento", "tijd", "przygotowania", "gotowania",
    "förberedelse", "tid", "alt", "around", "about", "approx", "approximately", "ca", "circa",
    "até", "to", "etwa", "ongeveer", "cirka", "tiempo", "tempo",
)  # fmt: skip
"""A caption, or the text between it and its duration, ends in one of these."""
_LAST_LETTERS = re.compile(r"[^\W\d_][\s:=\-–|·•.]{0,8}$")
_BESIDE = re.compile(_GAP + _ABOUT, re.IGNORECASE)
_BARE = re.compile(rf"T(?:ime|id|ijd|empo|iempo|emps|otaal)\b{_GAP}{_ABOUT}{_DURATION}")
_IN_A_STEP = re.compile(r"(?:cook|takes)\s+\d", re.IGNORECASE)
"""`Cook 5 minutes` alone is an instruction, not the total time."""
_MAX_RUN = 12
_MAX_NUMBERS = 5_000
_MAX_TOKENS = 300
_MAX_CAPTION_CHARS = 60
_LEAST_RUN = 3


def times(shown: str, behind: int | None = None) -> dict[str, tuple[int, str]]:
    """
    Return minutes and their source text by `prep_minutes`, `cook_minutes` and `total_minutes`.

    If no known caption is found, the total is the duration next to a bare `Time`, else a duration
    at `behind`: the end of the words for servings (`4 servings - 30 min`).
    """
    result: dict[str, tuple[int, str]] = {}
    for run in _runs(shown):
        for name, lasts, start, end in _pairs(run):
            if len(run) < _LEAST_RUN and _IN_A_STEP.match(shown, start, end):
                continue
            result.setdefault(name, (lasts, shown[start:end].strip()))
    if not result:
        bare = next(_bare(shown), None)
        if bare is None and behind is not None:
            bare = _BEHIND.match(shown, behind)
        lasts_minutes = durations.minutes(bare[1].strip()) if bare else None
        if bare and lasts_minutes is not None:
            result["total_minutes"] = lasts_minutes, bare[0].strip()
    return result


def _bare(shown: str) -> Iterator[re.Match[str]]:
    """Find a bare `Time` in capitals; the pattern starts with its letter, so the search is fast."""
    for match in _BARE.finditer(shown):
        if match.start() == 0 or not shown[match.start() - 1].isalnum():
            yield match


_BEHIND = re.compile(r"[\s—–|·•,-]{1,5}" + _DURATION, re.IGNORECASE)


def _runs(shown: str) -> Iterator[list[_CaptionToken]]:
    """Yield sequences of captions and durations with no other text between them."""
    run: list[_CaptionToken] = []
    for token in _tokens(shown):
        beside = _BESIDE.match(shown, run[-1].end) if run else None
        if run and (beside is None or beside.end() < token.start or len(run) >= _MAX_RUN):
            yield run
            run = []
        run.append(token)
    yield run


def _tokens(shown: str) -> list[_CaptionToken]:
    """Find durations, which are few, then the captions next to them, which cost more."""
    result: dict[int, _CaptionToken] = {}
    behind = 0
    for digits in islice(_DIGITS.finditer(shown), _MAX_NUMBERS):
        at = digits.start()
        lasts = _LASTS.match(shown, at) if at >= behind else None
        if lasts is None or (at and shown[at - 1] in ".,"):
            continue
        start, behind = lasts.span()
        if len(result) >= _MAX_TOKENS:
            break
        result[start] = _CaptionToken("lasts", start, behind, durations.minutes(lasts[1].strip()))
        first = max(0, start - _MAX_CAPTION_CHARS)
        for caption, offset in (
            (_caption_in(shown[first:start]), first),
            (_AFTER.match(shown, behind), 0),
        ):
            if caption is not None:
                name = caption.lastgroup or ""
                begins, ends = caption.span(name)
                result[begins + offset] = _CaptionToken(name, begins + offset, ends + offset, None)
    return [result[start] for start in sorted(result)]


def _caption_in(window: str) -> re.Match[str] | None:
    """Return the caption at the end of `window`."""
    letters = _LAST_LETTERS.search(window)
    if letters is None or not window[: letters.start() + 1].lower().endswith(_LAST_WORDS):
        return None
    return _BEFORE.search(window)


_Pair = tuple[str, int, int, int]


def _pairs(run: list[_CaptionToken]) -> list[_Pair]:
    """Pair captions with durations in the order that gives more pairs; captions first if equal."""
    captions_first = list(_paired(run, both_ways=False))
    either_way = list(_paired(run, both_ways=True))
    return either_way if len(either_way) > len(captions_first) else captions_first


def _paired(run: list[_CaptionToken], *, both_ways: bool) -> Iterator[_Pair]:
    place = 0
    while place + 1 < len(run):
        first, other = run[place], run[place + 1]
        if first.name != "lasts" and other.minutes is not None:
            yield first.name, other.minutes, first.start, other.end
            place += 2
        elif both_ways and first.minutes is not None and other.name != "lasts":
            yield other.name, first.minutes, first.start, other.end
            place += 2
        else:
            place += 1
