"""
Times and servings of a recipe as its page shows them: a caption and what stands behind it.

Used only for what the markup of a recipe leaves open. `Prep time: 20 min`, `Serves 4`,
`Zubereitungszeit 1 Std.`, `Pour 6 personnes`; a caption without a duration or number close behind
it is nothing.
"""

from __future__ import annotations

import re

from aragog.pages.document import Document
from aragog.pages.richpins import durations
from aragog.pages.richpins.yields import Yield, read_yield

MAX_CHARS = 300_000

_GAP = r"[\s:=\-–|·•]{0,6}"
_UNIT = (
    r"(?:h\w*|std\w*|stunden?|m\w{0,8}|d[kí]\w*|uur|uren|tim\w*|godz\w*|ώρ\w*|λεπτ\w*|час\w*|"
    r"мин\w*)\.?"
)
_DURATION = (
    rf"((?:\d{{1,4}}[\d.,:/½¼¾\s\-–]{{0,8}}\s?{_UNIT}[\s,]*(?:and|und|et|y|e|og|i)?\s*){{1,2}}"
    r"(?:(?<=h\s)\d\d(?!\d))?)"
)
_PREP = (
    r"prep(?:aration)?\s*(?:time)?|hands[- ]on\s*time|active\s*time|vorbereitungs?zeit|arbeitszeit|"
    r"temps\s*de\s*pr[ée]paration|pr[ée]paration|tiempo\s*de\s*preparaci[óo]n|preparazione|"
    r"tempo\s*de\s*prepar[oa]|voorbereidingstijd|czas\s*przygotowania|förberedelse"
)
_COOK = (
    r"cook(?:ing)?\s*(?:time)?|bake\s*time|baking\s*time|kochzeit|backzeit|garzeit|"
    r"temps\s*de\s*cuisson|cuisson|tiempo\s*de\s*cocci[óo]n|cottura|tempo\s*de\s*cozimento|"
    r"kooktijd|baktijd|czas\s*gotowania"
)
_TOTAL = (
    r"total(?:\s*time)?|ready\s*in|takes|gesamtzeit|zubereitungszeit|temps\s*total|"
    r"tiempo\s*total|tempo\s*totale|bereidingstijd|tilberedningstid|arbejdstid|tid\s*i\s*alt"
)
_SERVES = re.compile(
    r"\b(?:serves|servings?|yields?|makes|portions?|portionen|portioner|porsjoner|porciones|"
    r"raciones|porzioni|porções|rende|personen|personer|personnes|personas|aantal\s*personen|分量|"
    r"份量)\b" + _GAP + r"(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?"
    r"(?:\s+(?!(?:prep|cook|cooking|total|time|ready|calories|course|ingredients)\b)[^\W\d_]{3,15})?)",
    re.IGNORECASE,
)
_FOR_PEOPLE = re.compile(
    r"\b(?:für|pour|para|per|voor|for)?\s*(\d{1,2}(?:\s*(?:-|–|to)\s*\d{1,2})?)\s*"
    r"(?:servings|portionen|personen|personnes|personas|persone|portions|portioner|porsjoner|"
    r"porciones|raciones|porzioni|porções|people|personer|pers|porce|porcí|porcj\w*|"
    r"osób|osoby|adag|főre|порц\w*|personas|annosta|人份|人分)\b",
    re.IGNORECASE,
)


def _timed(names: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{names}){_GAP}{_DURATION}", re.IGNORECASE)


_TIMES = {
    "prep_minutes": _timed(_PREP),
    "cook_minutes": _timed(_COOK),
    "total_minutes": _timed(_TOTAL),
}


def text_of(document: Document) -> str:
    """What the page shows in its main part, else anywhere, as one line."""
    body = document.tree.body
    if body is None:
        return ""
    main = body.css_first("main") or body.css_first("article") or body
    return " ".join(main.text(separator=" ")[:MAX_CHARS].split())


def minutes(shown: str, field: str) -> tuple[int, str] | None:
    """The minutes of `prep_minutes`, `cook_minutes` or `total_minutes`, and their words."""
    for found in _TIMES[field].finditer(shown):
        lasts = durations.minutes(found[1].strip())
        if lasts is not None:
            return lasts, found[0].strip()
    return None


def called_servings(document: Document) -> tuple[Yield, str] | None:
    """The yield in an element that is called so, and the words it is in."""
    for node in document.tree.css(_CALLED_SERVINGS)[:_MAX_CALLED]:
        said = node.attributes.get("data-servings") or node.text(separator=" ")
        said = " ".join((said or "").split())
        if not said and node.parent is not None:
            said = " ".join((node.parent.text(separator=" ") or "").split())
        if len(said) <= _MAX_CALLED_CHARS and _FEW.search(said):
            read = read_yield(said)
            if read is not None:
                return read, said
    return None


_CALLED_SERVINGS = (
    '[data-servings],[itemprop="recipeYield"],[class*="serves" i],[class*="servings" i],'
    '[class*="yield" i],[class*="portion" i]'
)
_MAX_CALLED = 20
_MAX_CALLED_CHARS = 40
_FEW = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def servings(shown: str) -> tuple[Yield, str] | None:
    """The yield, and the words it is in."""
    for pattern in (_SERVES, _FOR_PEOPLE):
        found = pattern.search(shown)
        read = read_yield(found[0] if pattern is _FOR_PEOPLE else found[1]) if found else None
        if found and read is not None:
            return read, found[0].strip()
    return None
