"""
Find a product's values next to labels: `Brand: Pot & Co`, `<th>EAN</th><td>…`.

These values are used only if the markup has none. A label is at the start of a string, and a colon
or the end of its element follows. Its value is the next string in the same row. If a label has
several different values, the page shows several products, and none of the values is used.

Availability is also read after the first h1: from a phrase that is the whole text of an element
(`Sold out`), and from a buy button (`Add to cart`). If these texts contradict each other,
availability is unknown, because many pages contain texts for both states and hide one.
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
    BUY_BUTTON_LABELS,
    GTIN_LABELS,
    IN_STOCK,
    LABELED_IN_STOCK,
    LABELED_OUT_OF_STOCK,
    LATER,
    MPN_LABELS,
    NOTICE_BUTTON_LABELS,
    OUT_OF_STOCK,
    PREORDER_BUTTON_LABELS,
    SKU_LABELS,
    STOCK_COUNT_LABELS,
    STOCK_LABELS,
    STOCK_PHRASES,
)
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import CARTS

_MAX_VALUE_CHARS = 60
_VALUE = re.compile(
    rb"\.?\s{0,20}+(?P<colon>:?)(?P<tags>(?:\s{1,300}+(?!\s)|:|&nbsp;|<[^<>]{1,400}+>|){0,24}+)"
    rb"(?P<value>[^<>\s:][^<>]{0,200}+)<"
)
_LABEL_START = re.compile(rb">(?:\s|&nbsp;){0,60}\Z")
_MAX_BYTES_BEFORE_LABEL = 80
_TAG = re.compile(rb"<(/?)([a-z][a-z0-9]{0,15})")
_ROW_BOUNDARIES = frozenset(
    {
        b"tr", b"li", b"ul", b"ol", b"table", b"form", b"input", b"select", b"option",
        b"button", b"script", b"style", b"template", b"h1", b"h2", b"h3", b"section",
        b"article", b"nav", b"aside", b"footer", b"img", b"svg", b"textarea", b"iframe", b"main",
    }
)  # fmt: skip
"""Elements that separate a label from unrelated text."""
_LABEL_ELEMENTS = frozenset({b"dt", b"label"})
_MAX_CLOSING_TAGS = 3
_EMPTY_CELL = re.compile(rb"<(td|dd|div|span|p|b|strong)(?:\s[^<>]{0,400})?>\s{0,60}</\1>")


def labeled_values(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    """
    Yield the values next to each of `labels`, in the order of the labels.

    Only values after the first h1 count. Labels with different values are skipped.
    """
    for label in labels:
        values: dict[str, str] = {}
        for position in sources.shop_texts.offsets(label):
            value = _value_at(sources, position, len(label.encode()))
            if value is not None:
                values.setdefault(value.casefold(), value)
        if len(values) == 1:
            yield Candidate(next(iter(values.values())), "html", f"next to {label!r}")


def _value_at(sources: Sources, position: int, length: int) -> str | None:
    lowered, body = sources.words.lowered, sources.words.body
    if not _LABEL_START.search(lowered[max(0, position - _MAX_BYTES_BEFORE_LABEL) : position]):
        return None
    match = _VALUE.match(lowered, position + length)
    if match is None or not _is_in_same_row(match["tags"], has_colon=bool(match["colon"])):
        return None
    raw = body[match.start("value") : match.end("value")].decode("utf-8", "replace")
    text = normalize_space(html.unescape(raw)).strip(" :-–")
    return text if 0 < len(text) <= _MAX_VALUE_CHARS and not _NON_VALUE.search(text) else None


_NON_VALUE = re.compile(
    r"[{}$%\\\"`:;=]|\A[\W_]*+\Z|\A(?:n/?a|none|null|undefined|unknown)\Z", re.IGNORECASE
)


def _is_in_same_row(tags: bytes, *, has_colon: bool) -> bool:
    if not (has_colon or b"<" in tags) or _EMPTY_CELL.search(tags):
        return False
    tag_matches = _TAG.findall(tags)
    opening_tags = [name for closes, name in tag_matches if not closes]
    cell_count = sum(name in {b"td", b"dd", b"th"} for name in opening_tags)
    closing_count = sum(bool(closes) for closes, _ in tag_matches)
    boundaries = _ROW_BOUNDARIES.intersection(
        name for _, name in tag_matches
    ) or _LABEL_ELEMENTS.intersection(opening_tags)
    return cell_count <= 1 and closing_count <= _MAX_CLOSING_TAGS and not boundaries


_PRODUCT_NUMBER = re.compile(r"(?=\D{0,30}\d)(?=.{3})[\w./+#-]{1,30}(?: [\w./+#-]{1,20}){0,3}")
"""A product number: up to four words, with at least one digit."""


def skus(sources: Sources) -> Iterator[Candidate]:
    """Yield the shop's product numbers (SKU)."""
    return _product_numbers(sources, SKU_LABELS)


def mpns(sources: Sources) -> Iterator[Candidate]:
    """Yield the manufacturer's product numbers (MPN)."""
    return _product_numbers(sources, MPN_LABELS)


def gtins(sources: Sources) -> Iterator[Candidate]:
    """Yield the strings next to bar code labels. The caller verifies the check digits."""
    return labeled_values(sources, GTIN_LABELS)


def _product_numbers(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    return (
        candidate
        for candidate in labeled_values(sources, labels)
        if _PRODUCT_NUMBER.fullmatch(candidate.value)
    )


_MAX_PHRASE_BYTES = 100
_MAX_PARTS = 20
_MAX_STOCK_CHARS = 200
MAX_REPEATS = 2
_MAX_BUTTONS = 200
_MAX_CLIMB = 6
_BUTTONS = (
    'button,input[type="submit"],input[type="button"],[role="button"],'
    '[class*="cart" i],[class*="basket" i],[class*="buy" i]'
)
_AMOUNT_OR_MARK = re.compile(
    r"\([^()]{0,30}\)|\d+\+?(?:\s(?:new|neu|units?|items?|pieces?|pcs|stück|stk|ks|szt)\b\.?)?"
    r"|\b(?:only|nur noch|noch|more than|über|over)\b|[.!:✓✔]"
)
_NONE_LEFT = re.compile(r"(?<![\d.,+–-])0(?![\d.,+–-])")
_COUNT = re.compile(r"[<>]?\s?(\d{1,5})\+?(?:\s(?:new|units?|items?|pcs|stück|stk|ks|szt)\.?)?")
_SENTENCE_END = re.compile(r"[.!]\s")
OUTSIDE_TAGS = frozenset({"nav", "header", "footer", "aside", "template", "noscript"})
_NOT_SHOWN = re.compile(
    r"disabled(?!:)|(?<!overflow-)(?<!overflow-[xy]-)hidden|related|similar|recommend"
)
_DISABLED = re.compile(rf"{_NOT_SHOWN.pattern}|sold-?out|unavailable|out-?of-?stock")
"""Does not match `disabled:opacity-50` or `overflow-hidden`, which are common and hide nothing."""
_DISPLAY_NONE = re.compile(r"display:\s?none")


def visible_stock(sources: Sources) -> Iterator[Candidate]:
    """Yield `in stock` or `out of stock` with its position, if the page shows it."""
    for candidate in labeled_values(sources, STOCK_LABELS):
        text = _stock_text(candidate.value)
        if text in LABELED_IN_STOCK:
            yield candidate._replace(value="in stock")
        elif text in LABELED_OUT_OF_STOCK:
            yield candidate._replace(value="out of stock")
    for candidate in labeled_values(sources, STOCK_LABELS + STOCK_COUNT_LABELS):
        text = candidate.value.strip().lower()
        if count := _COUNT.fullmatch(text):
            yield candidate._replace(value="in stock" if count[1].strip("0") else "out of stock")
        elif text in {"yes", "no"}:
            yield candidate._replace(value="in stock" if text == "yes" else "out of stock")
    phrases = _stock_phrases(sources)
    if phrases & _OUT_OF_STOCK_PHRASES and phrases & _IN_STOCK_PHRASES:
        phrases = _phrases_of_this_product(sources, phrases)
    is_out, is_in = bool(phrases & _OUT_OF_STOCK_PHRASES), bool(phrases & _IN_STOCK_PHRASES)
    if is_in and is_out:
        return
    button = _buy_button(sources)
    if is_out and button is not None and _has_button(sources, NOTICE_BUTTON_LABELS):
        button = None  # that of a set or an accessory
    if button is None and not is_in:
        is_out = is_out or _has_closed_button(sources) or is_called_unavailable(sources)
    if is_in:
        yield Candidate("in stock", "html", f"text {min(phrases & _IN_STOCK_PHRASES)!r}")
    elif phrases & _LATER_PHRASES and not is_out:
        yield Candidate("back order", "html", f"text {min(phrases & _LATER_PHRASES)!r}")
    elif button is None and not is_out and _has_button(sources, PREORDER_BUTTON_LABELS):
        yield Candidate("pre order", "html", "text of a button")
    elif is_out and button is None:
        phrase = min(phrases & _OUT_OF_STOCK_PHRASES, default="of a button")
        yield Candidate("out of stock", "html", f"text {phrase!r}")
    elif not is_out and button is not None:
        yield Candidate("in stock", "html", f"{button.tag} that sells")


def card_stock(sources: Sources) -> Iterator[Candidate]:
    """Yield `in stock` or `out of stock` if a label of the page's Twitter card says so."""
    for number in ("1", "2"):
        label = (sources.metas.first(f"twitter:label{number}") or "").strip().lower().rstrip(":")
        for candidate in sources.meta(f"twitter:data{number}") if label in STOCK_LABELS else ():
            text = _stock_text(candidate.value)
            if text in LABELED_IN_STOCK:
                yield candidate._replace(value="in stock")
            elif text in LABELED_OUT_OF_STOCK:
                yield candidate._replace(value="out of stock")


_IN_STOCK_PHRASES = frozenset(map(str.lower, IN_STOCK))
_OUT_OF_STOCK_PHRASES = frozenset(map(str.lower, OUT_OF_STOCK))
_LATER_PHRASES = frozenset(map(str.lower, LATER))


def _without_amounts(text: str) -> str:
    """Return a lowercase string without amounts: `Only 3 in stock!` becomes `in stock`."""
    return normalize_space(_AMOUNT_OR_MARK.sub(" ", text.lower()))


def _stock_text(text: str) -> str:
    """Like `_without_amounts`, for the first sentence; `0 in stock` becomes `out of stock`."""
    first_sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    phrase = _without_amounts(first_sentence)
    is_none_left = _NONE_LEFT.search(first_sentence) is not None and phrase in _IN_STOCK_PHRASES
    return "out of stock" if is_none_left else phrase


def _stock_phrases(sources: Sources) -> set[str]:
    """Return the phrases that are an element's whole text, unless many elements contain them."""
    lowered, offsets = sources.words.lowered, sources.shop_texts.offsets
    counts: Counter[str] = Counter()
    for phrase in STOCK_PHRASES:
        for offset in {
            lowered.rfind(b">", max(0, offset - _MAX_PHRASE_BYTES), offset)
            for offset in offsets(phrase)
        }:
            end = lowered.find(b"<", offset, offset + _MAX_PHRASE_BYTES) if offset >= 0 else -1
            if end >= 0:
                text = html.unescape(
                    sources.words.body[offset + 1 : end].decode("utf-8", "replace")
                )
                counts[_stock_text(text)] += 1
    return {phrase for phrase in counts if counts[phrase] <= MAX_REPEATS}


def _phrases_of_this_product(sources: Sources, phrases: set[str]) -> set[str]:
    product_phrases: set[str] = set()
    for node in sources.document.tree.css(_STATE_ELEMENTS)[:_MAX_STATE_ELEMENTS]:
        text = node.text(deep=True)
        if (
            len(text) <= _MAX_STOCK_CHARS
            and _stock_text(text) in phrases
            and not _is_about_other_product(node)
        ):
            product_phrases.add(_stock_text(text))
    return product_phrases


def _is_about_other_product(node: LexborNode) -> bool:
    ancestor: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if ancestor is None or ancestor.tag in {"main", "body"}:
            return False
        attributes = ancestor.attributes
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if ancestor.tag in OUTSIDE_TAGS or _OTHER_PRODUCTS_CLASS.search(class_and_id):
            return True
        if (
            ancestor.tag in {"li", "article"}
            and ancestor.css_first("a[href]")
            and not ancestor.css_first("h1")
        ):
            return True
        ancestor = ancestor.parent
    return False


_STATE_ELEMENTS = "p,span,div,li,strong,b,em,td,dd,small,label"
_MAX_STATE_ELEMENTS = 3_000
_OTHER_PRODUCTS_CLASS = re.compile(r"related|similar|recommend|upsell|cross-?sell|also-|carousel")


def _buy_button(sources: Sources) -> LexborNode | None:
    """Return the first buy button whose class is not on many buttons; None if there is none."""
    if not any(word in sources.words for word in CARTS):
        return None
    nodes = sources.document.tree.css(f"h1,{_BUTTONS}")
    heading_index = next(
        (index for index, node in enumerate(nodes) if node.tag == "h1"), len(nodes)
    )
    buttons = [
        node
        for node in nodes[heading_index + 1 : heading_index + 1 + _MAX_BUTTONS]
        if _has_buy_label(node) and _is_usable(node)
    ]
    class_counts = Counter(node.attributes.get("class") for node in buttons)
    return next(
        (node for node in buttons if class_counts[node.attributes.get("class")] <= MAX_REPEATS),
        None,
    )


def _has_closed_button(sources: Sources) -> bool:
    """Return True if a button after the first h1 says that the product is not available."""
    is_shop = any(word in sources.words for word in CARTS)
    return is_shop and _has_button(sources, LABELED_OUT_OF_STOCK - {"no"})


def _has_button(sources: Sources, labels: frozenset[str]) -> bool:
    """Return True if a button of the product after the first h1 has one of `labels`."""
    nodes = sources.document.tree.css(f"h1,{_BUTTONS}")[:_MAX_BUTTONS]
    heading_index = next((n for n, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    return any(
        _label(node) in labels and not _is_about_other_product(node)
        for node in nodes[heading_index + 1 :]
    )


def is_called_unavailable(sources: Sources, *, accepts_sold_out_class: bool = False) -> bool:
    """
    Return True if an element with a class for availability says `Not available`.

    With `accepts_sold_out_class`, a class such as `out-of-stock` does not make it a hidden one.
    """
    hidden = _NOT_SHOWN if accepts_sold_out_class else _DISABLED
    if not has_stock_class(sources):
        return False
    nodes = sources.document.tree.css(f"h1,{_STOCK_ELEMENTS}")[:_MAX_BUTTONS]
    heading_index = next((n for n, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    return any(
        len(node.text()) <= _MAX_STOCK_CHARS
        and _stock_text(node.text(separator=" ")) in LABELED_OUT_OF_STOCK - {"no"}
        and _is_usable(node, hidden)
        and not _is_about_other_product(node)
        for node in nodes[heading_index + 1 :]
    )


def has_stock_class(sources: Sources) -> bool:
    """Return True if a class or id after the first h1 contains, or might contain, a stock word."""
    lowered, start = sources.words.lowered, sources.heading_end
    return start >= 0 and any(_occurs_in_class(lowered, word, start) for word in _STOCK_BYTES)


def _occurs_in_class(lowered: bytes, word: bytes, start: int) -> bool:
    for _ in range(_MAX_OCCURRENCES):
        start = lowered.find(word, start)
        if start < 0:
            return False
        if _CLASS_START.search(lowered[max(0, start - _MAX_CLASS_BYTES) : start]):
            return True
        start += len(word)
    return True


_CLASS_START = re.compile(rb"[\s\"'](?:class|id)\s?=\s?(?:\"[^\"<>]*|'[^'<>]*|[^\s\"'<>]*)\Z")
_MAX_CLASS_BYTES = 300
_MAX_OCCURRENCES = 100
_STOCK_CLASSES = ("availab", "stock", "verfueg", "disponib", "dostup", "inventory")
_STOCK_BYTES = tuple(map(str.encode, _STOCK_CLASSES))
_STOCK_ELEMENTS = ",".join(
    f'[{name}*="{word}" i]' for word in _STOCK_CLASSES for name in ("class", "id")
)


def _has_buy_label(node: LexborNode) -> bool:
    return _label(node) in BUY_BUTTON_LABELS


def _label(node: LexborNode) -> str:
    """Return a button's text in lower case; empty if it is too long."""
    if node.tag == "input":
        text = node.attributes.get("value") or ""
    else:
        parts = list(islice(node.traverse(include_text=True), _MAX_PARTS + 1))
        text = " ".join(part.text_content or "" for part in parts if part.tag == "-text")
        if len(parts) > _MAX_PARTS:
            return ""
    return normalize_space(text).lower().strip(" +!»›>") if len(text) <= _MAX_STOCK_CHARS else ""


def _is_usable(node: LexborNode, disabled: re.Pattern[str] = _DISABLED) -> bool:
    ancestor: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if ancestor is None or ancestor.tag in {"body", "html"}:
            return True
        attributes = ancestor.attributes
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        is_disabled = "disabled" in attributes or "hidden" in attributes
        is_disabled = (
            is_disabled
            or attributes.get("aria-disabled") == "true"
            or disabled.search(class_and_id) is not None
        )
        style = attributes.get("style") or ""
        if is_disabled or ancestor.tag in OUTSIDE_TAGS or _DISPLAY_NONE.search(style):
            return False
        ancestor = ancestor.parent
    return True
