"""Find a product's brand and numbers next to their labels in the visible text of its page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from aragog.pages.richpins.heuristics.labels import labeled
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.shop_words import (
    BRAND_LABELS,
    GTIN_LABELS,
    LABELS,
    MAKER_LABELS,
    MPN_LABELS,
    SKU_LABELS,
)
from aragog.pages.richpins.syntax.sources import Sources

_MAX_NAME_CHARS = 40
_MAX_NAME_WORDS = 5
_CODE = re.compile(r"(?=\D{0,30}\d)(?=.{3})[\w./+#-]{1,30}(?: [\w./+#-]{1,20}){0,3}")
"""A number of a product: up to four words, with a digit."""
_NO_BRAND = frozenset(
    "unbranded generic other others various none no-name noname markenlos unknown all yes".split()
)
_COMPANY = re.compile(
    r"\d|,|@|\b(?:gmbh|ag|kg|ltd|limited|inc|llc|corp|co|s\.?r\.?o|s\.?p\.?a|s\.?r\.?l|oy|ab|a/s|b\.?v)\b\.?",
    re.IGNORECASE,
)
"""A text of a manufacturer that is its company and address, not the name of a brand."""


def brands(sources: Sources) -> Iterator[Candidate]:
    """Yield brands, then manufacturers that are shown as brands are."""
    for each in labeled(sources, BRAND_LABELS):
        if _is_name(each.value):
            yield each
    for each in labeled(sources, MAKER_LABELS):
        if _is_name(each.value) and not _COMPANY.search(each.value):
            yield each


def _is_name(text: str) -> bool:
    is_short = len(text) <= _MAX_NAME_CHARS and len(text.split()) <= _MAX_NAME_WORDS
    return is_short and text.lower() not in _NO_BRAND and text.lower() not in _LABELS


_LABELS = frozenset(map(str.lower, LABELS))


def skus(sources: Sources) -> Iterator[Candidate]:
    """Yield the shop's numbers of the product."""
    return _codes(sources, SKU_LABELS)


def mpns(sources: Sources) -> Iterator[Candidate]:
    """Yield the manufacturer's numbers of the product."""
    return _codes(sources, MPN_LABELS)


def gtins(sources: Sources) -> Iterator[Candidate]:
    """Yield the texts next to labels of bar codes, of which the reader checks the digits."""
    return labeled(sources, GTIN_LABELS)


def _codes(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    return (each for each in labeled(sources, labels) if _CODE.fullmatch(each.value))
