"""
Find out whether a product whose markup does not say so is in stock.

The sources are a text next to a label (`Availability: in stock`), a phrase that is all the text of
an element (`Sold out`), and a button that sells (`Add to cart`), after the first h1. Where they
contradict each other nothing is known: many pages hide the phrase for the other case.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from aragog.pages.document import normalize_space
from aragog.pages.richpins.heuristics.labels import labeled
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.shop_words import (
    BUY,
    IN_STOCK,
    LABELED_IN_STOCK,
    LABELED_OUT_OF_STOCK,
    OUT_OF_STOCK,
    STATES,
    STOCK_LABELS,
)
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.syntax.words import CARTS

_MAX_BYTES = 100
_MAX_PARTS = 20
_MAX_CHARS = 200
MAX_ALIKE = 2
_MAX_BUTTONS = 200
_MAX_CLIMB = 6
_BUTTONS = (
    'button,input[type="submit"],input[type="button"],[role="button"],'
    '[class*="cart" i],[class*="basket" i],[class*="buy" i]'
)
_AMOUNT = re.compile(
    r"\([^()]{0,30}\)|\d+\+?|\b(?:only|nur noch|noch|more than|über|over)\b|[.!:✓✔]"
)
_OUTSIDE = frozenset({"nav", "header", "footer", "aside", "template", "noscript"})
_OFF = re.compile(
    r"disabled(?!:)|(?<!overflow-)(?<!overflow-[xy]-)hidden|sold-?out|unavailable|out-?of-?stock"
    r"|related|similar|recommend"
)
"""Classes such as `disabled:opacity-50` and `overflow-hidden` hide nothing and are common."""
_UNSHOWN = re.compile(r"display:\s?none")


def shown_stock(sources: Sources) -> Iterator[Candidate]:
    """Yield `in stock` or `out of stock` with its position, if the visible text tells which."""
    for each in labeled(sources, STOCK_LABELS):
        text = _bare(each.value)
        if text in LABELED_IN_STOCK:
            yield each._replace(value="in stock")
        elif text in LABELED_OUT_OF_STOCK:
            yield each._replace(value="out of stock")
    phrases = _phrases(sources)
    is_out, is_in = bool(phrases & _OUT), bool(phrases & _IN)
    if is_in and is_out:
        return
    button = _buy_button(sources)
    if is_in:
        yield Candidate("in stock", "html", f"text {min(phrases & _IN)!r}")
    elif is_out and button is None:
        yield Candidate("out of stock", "html", f"text {min(phrases & _OUT)!r}")
    elif not is_out and button is not None:
        yield Candidate("in stock", "html", f"{button.tag} that sells")


_IN = frozenset(map(str.lower, IN_STOCK))
_OUT = frozenset(map(str.lower, OUT_OF_STOCK))


def _bare(text: str) -> str:
    """Return a text in lower case without amounts: `Only 3 in stock!` becomes `in stock`."""
    return normalize_space(_AMOUNT.sub(" ", text.lower()))


def _phrases(sources: Sources) -> set[str]:
    """Return the phrases that are all the text of an element, and not one of a list of them."""
    lowered, places = sources.words.lowered, sources.shop_texts.places
    counts: Counter[str] = Counter()
    for phrase in STATES:
        for at in {lowered.rfind(b">", max(0, at - _MAX_BYTES), at) for at in places(phrase)}:
            end = lowered.find(b"<", at, at + _MAX_BYTES) if at >= 0 else -1
            if end >= 0:
                text = html.unescape(sources.document.body[at + 1 : end].decode("utf-8", "replace"))
                counts[_bare(text)] += 1
    return {phrase for phrase in counts if counts[phrase] <= MAX_ALIKE}


def _buy_button(sources: Sources) -> LexborNode | None:
    """Return the button that sells the product, or None if there are none or too many."""
    if not any(word in sources.words for word in CARTS):
        return None
    nodes = sources.document.tree.css(f"h1,{_BUTTONS}")
    first = next((n for n, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    sold = [n for n in nodes[first + 1 : first + 1 + _MAX_BUTTONS] if _sells(n) and _is_usable(n)]
    alike = Counter(node.attributes.get("class") for node in sold)
    return next((n for n in sold if alike[n.attributes.get("class")] <= MAX_ALIKE), None)


def _sells(node: LexborNode) -> bool:
    """Return True if all the text of an element, in at most a few parts, says that it sells."""
    if node.tag == "input":
        text = node.attributes.get("value") or ""
    else:
        parts = list(islice(node.traverse(include_text=True), _MAX_PARTS + 1))
        text = " ".join(part.text_content or "" for part in parts if part.tag == "-text")
        if len(parts) > _MAX_PARTS:
            return False
    return len(text) <= _MAX_CHARS and normalize_space(text).lower().strip(" +!»›>") in BUY


def _is_usable(node: LexborNode) -> bool:
    """Return False for a button that is off or hidden, or that is part of the page's frame."""
    at: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "html"}:
            return True
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        off = "disabled" in attributes or "hidden" in attributes
        off = off or attributes.get("aria-disabled") == "true" or _OFF.search(named) is not None
        style = attributes.get("style") or ""
        if off or at.tag in _OUTSIDE or _UNSHOWN.search(style):
            return False
        at = at.parent
    return True
