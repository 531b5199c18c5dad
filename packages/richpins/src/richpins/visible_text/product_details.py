"""
Find a product's values next to labels: `Brand: Pot & Co`, `<th>EAN</th><td>…`.

Used only for values that are missing from the product's markup. A label is at the start of a
string, and ends with a colon or with its element. Its value is the next string in the same row. If
a label has several different values, the page shows several products, and none is used.

Availability is also read from a phrase that is the whole text of an element (`Sold out`), and from
a buy button (`Add to cart`), after the first h1. If they contradict each other, availability is
unknown, because many pages contain both phrases and hide one.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.provenance import Candidate
from richpins.structured_data.shop_texts import (
    BUY,
    GTIN_LABELS,
    IN_STOCK,
    LABELED_IN_STOCK,
    LABELED_OUT_OF_STOCK,
    MPN_LABELS,
    OUT_OF_STOCK,
    SKU_LABELS,
    STATES,
    STOCK_LABELS,
)
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import CARTS

_MAX_VALUE_CHARS = 60
_VALUE = re.compile(
    rb"\.?\s{0,20}+(?P<colon>:?)(?P<tags>(?:\s{1,300}+(?!\s)|:|&nbsp;|<[^<>]{1,400}+>|){0,24}+)"
    rb"(?P<value>[^<>\s:][^<>]{0,200}+)<"
)
_BEFORE = re.compile(rb">(?:\s|&nbsp;){0,60}\Z")
_MAX_BYTES_BEFORE = 80
_TAG = re.compile(rb"<(/?)([a-z][a-z0-9]{0,15})")
_OTHER_ROW = frozenset(
    {
        b"tr", b"li", b"ul", b"ol", b"table", b"form", b"input", b"select", b"option",
        b"button", b"script", b"style", b"template", b"h1", b"h2", b"h3", b"section",
        b"article", b"nav", b"aside", b"footer", b"img", b"svg", b"textarea", b"iframe", b"main",
    }
)  # fmt: skip
"""Elements that separate a label from unrelated text."""
_LABEL_ELEMENTS = frozenset({b"dt", b"label"})
_MAX_CLOSED = 3
_EMPTY = re.compile(rb"<(td|dd|div|span|p|b|strong)(?:\s[^<>]{0,400})?>\s{0,60}</\1>")


def labeled(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    """
    Yield the values next to each of `labels`, in the order of the labels.

    Only values after the first h1 count. A label with different values is skipped.
    """
    for label in labels:
        values: dict[str, str] = {}
        for at in sources.shop_texts.places(label):
            value = _value_at(sources, at, len(label.encode()))
            if value is not None:
                values.setdefault(value.casefold(), value)
        if len(values) == 1:
            yield Candidate(next(iter(values.values())), "html", f"next to {label!r}")


def _value_at(sources: Sources, at: int, length: int) -> str | None:
    lowered, body = sources.words.lowered, sources.words.body
    if not _BEFORE.search(lowered[max(0, at - _MAX_BYTES_BEFORE) : at]):
        return None
    match = _VALUE.match(lowered, at + length)
    if match is None or not _is_same_row(match["tags"], has_colon=bool(match["colon"])):
        return None
    raw = body[match.start("value") : match.end("value")].decode("utf-8", "replace")
    text = normalize_space(html.unescape(raw)).strip(" :-–")
    return text if 0 < len(text) <= _MAX_VALUE_CHARS and not _NO_VALUE.search(text) else None


_NO_VALUE = re.compile(
    r"[{}$%\\\"`:;=]|\A[\W_]*+\Z|\A(?:n/?a|none|null|undefined|unknown)\Z", re.IGNORECASE
)


def _is_same_row(tags: bytes, *, has_colon: bool) -> bool:
    """Return True if the tags between a label and a string keep them in the same row."""
    if not (has_colon or b"<" in tags) or _EMPTY.search(tags):
        return False
    tag_matches = _TAG.findall(tags)
    opened = [name for closes, name in tag_matches if not closes]
    cells = sum(name in {b"td", b"dd", b"th"} for name in opened)
    closed = sum(bool(closes) for closes, _ in tag_matches)
    others = _OTHER_ROW.intersection(
        name for _, name in tag_matches
    ) or _LABEL_ELEMENTS.intersection(opened)
    return cells <= 1 and closed <= _MAX_CLOSED and not others


_CODE = re.compile(r"(?=\D{0,30}\d)(?=.{3})[\w./+#-]{1,30}(?: [\w./+#-]{1,20}){0,3}")
"""Matches a product number: up to four words, with at least one digit."""


def skus(sources: Sources) -> Iterator[Candidate]:
    """Yield the shop's product numbers (SKU)."""
    return _codes(sources, SKU_LABELS)


def mpns(sources: Sources) -> Iterator[Candidate]:
    """Yield the manufacturer's product numbers (MPN)."""
    return _codes(sources, MPN_LABELS)


def gtins(sources: Sources) -> Iterator[Candidate]:
    """Yield the strings next to bar code labels. The caller verifies the check digits."""
    return labeled(sources, GTIN_LABELS)


def _codes(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    return (each for each in labeled(sources, labels) if _CODE.fullmatch(each.value))


_MAX_BYTES = 100
_MAX_PARTS = 20
_MAX_STOCK_CHARS = 200
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
OUTSIDE = frozenset({"nav", "header", "footer", "aside", "template", "noscript"})
_DISABLED = re.compile(
    r"disabled(?!:)|(?<!overflow-)(?<!overflow-[xy]-)hidden|sold-?out|unavailable|out-?of-?stock"
    r"|related|similar|recommend"
)
"""Does not match `disabled:opacity-50` and `overflow-hidden`, which are common and hide nothing."""
_UNSHOWN = re.compile(r"display:\s?none")


def shown_stock(sources: Sources) -> Iterator[Candidate]:
    """Yield `in stock` or `out of stock` with its position, if the page shows it."""
    for each in labeled(sources, STOCK_LABELS):
        text = _bare(each.value)
        if text in LABELED_IN_STOCK:
            yield each._replace(value="in stock")
        elif text in LABELED_OUT_OF_STOCK:
            yield each._replace(value="out of stock")
    phrases = _phrases(sources)
    if phrases & _OUT and phrases & _IN:
        phrases = _own_phrases(sources, phrases)
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
    """Return a string in lower case without amounts: `Only 3 in stock!` becomes `in stock`."""
    return normalize_space(_AMOUNT.sub(" ", text.lower()))


def _phrases(sources: Sources) -> set[str]:
    """Return the phrases that are the whole text of an element, but not of many elements."""
    lowered, places = sources.words.lowered, sources.shop_texts.places
    counts: Counter[str] = Counter()
    for phrase in STATES:
        for at in {lowered.rfind(b">", max(0, at - _MAX_BYTES), at) for at in places(phrase)}:
            end = lowered.find(b"<", at, at + _MAX_BYTES) if at >= 0 else -1
            if end >= 0:
                text = html.unescape(sources.words.body[at + 1 : end].decode("utf-8", "replace"))
                counts[_bare(text)] += 1
    return {phrase for phrase in counts if counts[phrase] <= MAX_ALIKE}


def _own_phrases(sources: Sources, phrases: set[str]) -> set[str]:
    """Return the phrases that do not belong to other products."""
    found: set[str] = set()
    for node in sources.document.tree.css(_STATE_ELEMENTS)[:_MAX_STATE_ELEMENTS]:
        text = node.text(deep=True)
        if (
            len(text) <= _MAX_STOCK_CHARS
            and _bare(text) in phrases
            and not _is_in_other_products(node)
        ):
            found.add(_bare(text))
    return found


def _is_in_other_products(node: LexborNode) -> bool:
    """
    Return True if an element is outside the main content, or in an entry that links to another
    product.
    """
    at: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"main", "body"}:
            return False
        names = f"{at.attributes.get('class') or ''} {at.attributes.get('id') or ''}".lower()
        if at.tag in OUTSIDE or _OTHERS.search(names):
            return True
        if at.tag in {"li", "article"} and at.css_first("a[href]") and not at.css_first("h1"):
            return True
        at = at.parent
    return False


_STATE_ELEMENTS = "p,span,div,li,strong,b,em,td,dd,small,label"
_MAX_STATE_ELEMENTS = 3_000
_OTHERS = re.compile(r"related|similar|recommend|upsell|cross-?sell|also-|carousel")


def _buy_button(sources: Sources) -> LexborNode | None:
    """Return the product's buy button, or None if there is none or too many."""
    if not any(word in sources.words for word in CARTS):
        return None
    nodes = sources.document.tree.css(f"h1,{_BUTTONS}")
    first = next((n for n, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    sold = [n for n in nodes[first + 1 : first + 1 + _MAX_BUTTONS] if _sells(n) and _is_usable(n)]
    alike = Counter(node.attributes.get("class") for node in sold)
    return next((n for n in sold if alike[n.attributes.get("class")] <= MAX_ALIKE), None)


def _sells(node: LexborNode) -> bool:
    """Return True if the element's whole text is the label of a buy button."""
    if node.tag == "input":
        text = node.attributes.get("value") or ""
    else:
        parts = list(islice(node.traverse(include_text=True), _MAX_PARTS + 1))
        text = " ".join(part.text_content or "" for part in parts if part.tag == "-text")
        if len(parts) > _MAX_PARTS:
            return False
    return len(text) <= _MAX_STOCK_CHARS and normalize_space(text).lower().strip(" +!»›>") in BUY


def _is_usable(node: LexborNode) -> bool:
    """Return False if a button is disabled, hidden, or in the page's header, footer or menu."""
    at: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "html"}:
            return True
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        off = "disabled" in attributes or "hidden" in attributes
        off = (
            off or attributes.get("aria-disabled") == "true" or _DISABLED.search(named) is not None
        )
        style = attributes.get("style") or ""
        if off or at.tag in OUTSIDE or _UNSHOWN.search(style):
            return False
        at = at.parent
    return True
