"""Recognize hand-written (not generated) classes and ids, and guess field names from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from selectolax.lexbor import LexborNode

MAX_CHARS = 40
_CSS_NAME = re.compile(r"-?[a-zA-Z_][a-zA-Z0-9_-]*")
_GENERATED = re.compile(
    r"(?:css|sc|jsx|svelte|emotion|styled|jss|mui|chakra|astro|ng-tns|_ngcontent|_nghost)-[a-zA-Z_-]*+\d"
    r"|_[a-zA-Z0-9]{4,40}+$"
)
_STATE = re.compile(
    r"^(?:is-|has-|js-|no-|u-)|^(?:active|current|selected|first|last|odd|even|hidden|visible|show|"
    r"hide|open|closed|disabled|lazy\w*|loaded|loading|new|sale|hover|clearfix|sr-only)$"
)
_LAYOUT = re.compile(
    r"^(?:row|col|cols?-.*|column|grid.*|flex.*|container.*|wrap\w*|inner|outer|block|box|cell|"
    r"left|right|center|content|list|item|items|li|media|body|text-.*|[mp][trblxy]?-.*|w-.*|h-.*|"
    r"d-.*|justify-.*|align.*|order-.*|float-.*|bg-.*|border.*|rounded.*|font-.*)$"
)
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]")
_VOWELLESS_WORDS = frozenset(
    {"btn", "img", "html", "css", "svg", "txt", "str", "msg", "pdf", "hdr", "xml", "cms"}
)
_MODULE = re.compile(r"__(?=[A-Za-z0-9]{5}$)[A-Za-z]*[A-Z0-9][A-Za-z0-9]*$")
"""The hash that CSS modules append: `Card_title__x7YzQ`."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

FIELDS = {
    "title": ("title", "name", "headline", "heading", "subject"),
    "price": ("price", "amount", "cost"),
    "old_price": ("was", "oldprice", "regular", "strike"),
    "sku": ("sku", "mpn", "gtin", "ean", "isbn", "upc", "asin"),
    "brand": ("brand", "manufacturer", "vendor"),
    "availability": ("availability", "stock", "instock"),
    "rating": ("rating", "score", "stars"),
    "reviews": ("reviews", "votes", "ratings"),
    "author": ("author", "byline", "writer", "creator"),
    "date": ("date", "published", "datetime", "time", "posted", "updated", "pubdate", "modified"),
    "description": ("description", "summary", "excerpt", "teaser", "abstract", "desc", "lead"),
    "category": ("category", "section", "topic", "breadcrumb"),
    "location": ("location", "address", "city", "place"),
    "company": ("company", "employer", "organization"),
    "salary": ("salary", "wage", "pay"),
    "image": ("image", "img", "photo", "thumb", "thumbnail", "cover", "picture"),
    "tags": ("tag", "tags", "label", "keyword", "keywords"),
    "url": ("url", "link", "permalink", "href"),
    "currency": ("currency", "pricecurrency"),
}  # fmt: skip
"""The words in classes and attributes that suggest each field."""
_FIELD_BY_WORD = {word: field for field, words in FIELDS.items() for word in words}
_TAGS = {
    "h1": "title", "h2": "title", "h3": "title", "h4": "title", "time": "date", "img": "image",
    "address": "location",
}  # fmt: skip


def is_authored(name: str) -> bool:
    """Return True if a name is hand-written and describes the element, not its state."""
    if not 2 <= len(name) <= MAX_CHARS or not _CSS_NAME.fullmatch(name):
        return False
    if _GENERATED.match(name) or _STATE.match(name) or _MODULE.search(name):
        return False
    return not any(map(_is_hash, _parts(name)))


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[-_]+", name) if part]


def _is_hash(part: str) -> bool:
    """
    Return True if part of a name looks random (`1x7Yz1`, `bGhKqP`) or is a record number.

    `h1`, `col2` and `heading1` are not hashes.
    """
    digits = sum(map(str.isdigit, part))
    if part.isdigit() or digits >= 3:
        return True
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(part))
    if changes >= 2 or (digits and len(part) >= 5 and not part[-1].isdigit()):
        return True
    is_mixed = not (part.islower() or part.isupper() or part.istitle())
    return bool(_CONSONANTS.search(part)) or (
        (is_mixed or len(part) == 5) and _is_random_case(part)
    )


def _is_random_case(part: str) -> bool:
    """Return True if capitals split a part into non-words: `iwvBff`, `RdSek`, but not `userID`."""
    parts = _WORDS.findall(part)
    if len(parts) < 2:
        return False
    return any(
        (len(word) == 2 and not word.isupper())
        or (
            len(word) >= 3
            and not _VOWEL.search(word.lower())
            and word.lower() not in _VOWELLESS_WORDS
        )
        for word in parts
    )


def is_layout(name: str) -> bool:
    """Return True if a class describes where an element is, not what it is."""
    return _LAYOUT.match(name) is not None


def classes(node: LexborNode) -> list[str]:
    """Return an element's hand-written classes; descriptive ones come first."""
    names = [name for name in (node.attributes.get("class") or "").split() if is_authored(name)]
    return sorted(dict.fromkeys(names), key=is_layout)


def itemprop(node: LexborNode) -> str:
    """Return an element's first microdata property, or ""."""
    names = (node.attributes.get("itemprop") or "").split()
    return names[0] if names and _CSS_NAME.fullmatch(names[0]) else ""


def itemtype(node: LexborNode) -> str:
    """Return the last part of an element's microdata type, such as `Product`, or ""."""
    name = (node.attributes.get("itemtype") or "").rstrip("/").rpartition("/")[2]
    return name if _CSS_NAME.fullmatch(name) else ""


def words(text: str) -> Iterator[str]:
    """Yield a name's words in lower case: `product` and `title` for `productTitle`."""
    for part in _parts(text):
        for word in _WORDS.findall(part):
            yield word.lower()


def known_field(texts: Iterable[str], tag: str = "") -> str | None:
    """Return the field that one of the classes or attributes suggests, or else the tag."""
    for text in texts:
        compact = text.replace("-", "").replace("_", "").lower()
        if compact in _FIELD_BY_WORD:
            return _FIELD_BY_WORD[compact]
        for word in reversed(list(words(text))):
            if word in _FIELD_BY_WORD:
                return _FIELD_BY_WORD[word]
    return _TAGS.get(tag)


def to_field_name(text: str) -> str:
    """Turn text into a field name (lowercase letters, digits, underscores), possibly empty."""
    name = "_".join(re.findall(r"[a-z0-9]+", text.lower()))[:MAX_CHARS].strip("_")
    return name if name[:1].isalpha() else ""
