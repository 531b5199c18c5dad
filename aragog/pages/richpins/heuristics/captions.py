"""
Find the times and servings of a recipe in its visible text: a caption followed by a value.

These are used only for values that the markup of a recipe lacks. Examples are `Prep time: 20 min`,
`Serves 4`, `Zubereitungszeit 1 Std.` and `Pour 6 personnes`. A caption without a duration or number
shortly after it is ignored.
"""

from __future__ import annotations

import re

from aragog.pages.document import Document
from aragog.pages.richpins.values.yields import Yield, read_yield

MAX_CHARS = 100_000

_GAP = r"[\s:=\-–|·•]{0,6}"
_SERVES = re.compile(
    r"\b(?:serves|servings?|yields?|makes|portions?|portionen|portioner|porsjoner|porciones|"
    r"raciones|porzioni|porções|rende|personen|personer|personnes|personas|aantal\s*personen|分量|"
    r"份量)\b" + _GAP + r"(\d{1,3}(?:\s*(?:-|–|to)\s*\d{1,3})?"
    r"(?:\s+(?!(?:prep|cook|cooking|total|time|ready|calories|course|ingredients|min|mins|"
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


def text_of(document: Document, *, anywhere: bool) -> str:
    """Return the text of the page's main part, or with `anywhere` of the body, as one line."""
    body = document.tree.body
    if body is None:
        return ""
    main = body.css_first("main") or body.css_first("article")
    if main is None:
        main = body if anywhere else None
    if main is None:
        return ""
    return " ".join(main.text(separator=" ")[:MAX_CHARS].split())


def _lasts(shown: str, match: re.Match[str]) -> bool:
    """Return True for `servings 10 min`, where the number belongs to the word after it."""
    return _TIME_UNIT.match(shown, match.end()) is not None


_TIME_UNIT = re.compile(r"\s*(?:h|hrs?|hours?|min\w*|std|uur|timer|ore)\b", re.IGNORECASE)


def called_servings(document: Document) -> tuple[Yield, str] | None:
    """Return the yield in an element whose class names it, and its source text."""
    for node in document.tree.css(_CALLED_SERVINGS)[:_MAX_CALLED]:
        text = node.attributes.get("data-servings") or node.text(separator=" ")
        text = " ".join((text or "").split())
        if not text and node.parent is not None:
            text = " ".join((node.parent.text(separator=" ") or "").split())
        if len(text) <= _MAX_CALLED_CHARS and _FEW.search(text):
            read = read_yield(text)
            if read is not None:
                return read, text
    return None


_CALLED_SERVINGS = (
    '[data-servings],[itemprop="recipeYield"],[class*="serves" i],[class*="servings" i],'
    '[class*="yield" i],[class*="portion" i]'
)
_MAX_CALLED = 20
_MAX_CALLED_CHARS = 40
_FEW = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def servings(shown: str) -> tuple[Yield, str] | None:
    """Return the yield and its source text."""
    for pattern in (_SERVES, _FOR_PEOPLE):
        match = next((match for match in pattern.finditer(shown) if not _lasts(shown, match)), None)
        read = read_yield(match[0] if pattern is _FOR_PEOPLE else match[1]) if match else None
        if match and read is not None:
            return read, match[0].strip()
    return None
