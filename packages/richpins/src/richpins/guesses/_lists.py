"""Find a page's repeated elements, such as cards, rows and entries, and its next-page link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

from selectolax.lexbor import LexborNode

from richpins.document import Document, normalize_space
from richpins.guesses import _names
from richpins.guesses._fields import GuessedField, guess_fields

MIN_ELEMENTS = 3
"""Minimum number of similar elements in a list."""
MAX_ELEMENTS = 200
MAX_CANDIDATES = 40
MIN_SCORE = 3.0
_TAGS = frozenset(
    {"li", "tr", "article", "div", "section", "a", "dl", "dt", "p", "tbody", "blockquote"}
)
_MENUS = frozenset({"nav", "select", "head"})
_ROLES = ("navigation", "banner", "contentinfo", "search")
_NEXT_LABELS = (
    "next",
    "next page",
    "next »",
    "»",
    "›",
    "→",
    "older",
    "older posts",
    "weiter",
    "nächste",
    "suivant",
)
_FIELD_SCORES = {"url": 1.0, "image": 1.0, "price": 2.0, "date": 1.0, "title": 1.5}


@dataclass(frozen=True, slots=True)
class GuessedList:
    each: str
    """A CSS selector."""
    name: str
    count: int
    """The number of elements on all example pages."""
    fields: tuple[GuessedField, ...]
    score: float
    words: int


def guess_lists(documents: Sequence[Document]) -> list[GuessedList]:
    """Return the lists on pages of one kind, the most valuable first."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(_candidates(document))
    lists = [
        guessed_list
        for selector, _ in _selectors_to_try(counts)
        if (guessed_list := _list(selector, documents)) is not None
    ]
    return sorted(lists, key=lambda guessed: (-round(guessed.score, 1), *_vagueness(guessed.each)))


def _selectors_to_try(counts: Counter[str]) -> list[tuple[str, int]]:
    repeated = [(s, n) for s, n in counts.items() if n >= MIN_ELEMENTS]
    ordered = sorted(
        repeated, key=lambda entry: (*_vagueness(entry[0]), -min(entry[1], 50), entry[0])
    )
    return ordered[:MAX_CANDIDATES]


def _vagueness(selector: str) -> tuple[bool, int]:
    """Return a sort key: (whether the selector uses a layout class, its number of steps)."""
    steps = selector.split(" > ")
    return any(_names.is_layout(step.strip(".#")) for step in steps), len(steps)


def _candidates(document: Document) -> Iterator[str]:
    """Yield a selector for each element, so the same selector may occur several times."""
    body = document.tree.body
    if body is None:
        return
    for node in body.traverse():
        if node.tag not in _TAGS or is_site_frame(node):
            continue
        names = _names.classes(node)
        for name in names:
            yield f".{name}"
        if itemtype := _names.itemtype(node):
            yield f'[itemtype$="{itemtype}"]'
        if not names and (parent_selector := _parent_selector(node)):
            yield f"{parent_selector} > {node.tag}"


def _parent_selector(node: LexborNode) -> str:
    parent = node.parent
    if parent is None:
        return ""
    element_id = parent.attributes.get("id") or ""
    if _names.is_authored(element_id) and parent.tag != "body":
        return f"#{element_id}"
    if parent.tag == "tbody" and parent.parent is not None:
        table_classes = _names.classes(parent.parent)
        return f".{table_classes[0]} > tbody" if table_classes else ""
    class_names = _names.classes(parent)
    return f".{class_names[0]}" if class_names else ""


def is_site_frame(node: LexborNode) -> bool:
    """Return True for an element in a menu, or in the site's header or footer."""
    ancestor: LexborNode | None = node
    is_in_part = False
    while ancestor is not None:
        if ancestor.tag in _MENUS or ancestor.attributes.get("role") in _ROLES:
            return True
        if ancestor.tag in ("article", "main"):
            return False
        is_in_part = is_in_part or ancestor.tag in ("header", "footer")
        ancestor = ancestor.parent
    return is_in_part


def _list(selector: str, documents: Sequence[Document]) -> GuessedList | None:
    elements, max_count = [], 0
    for document in documents:
        nodes = document.tree.css(selector)[:MAX_ELEMENTS]
        ids = {node.mem_id for node in nodes}
        if any(_has_parent_in(node, ids) for node in nodes) or any(map(is_site_frame, nodes)):
            return None
        elements += [(document, node) for node in nodes]
        max_count = max(max_count, len(nodes))
    if max_count < MIN_ELEMENTS:
        return None
    texts = [normalize_space(node.text()) for _, node in elements[:50]]
    if len(set(texts)) < MIN_ELEMENTS:
        return None
    fields = tuple(guess_fields(elements))
    score = sum(_FIELD_SCORES.get(field.name, 0.5) * field.share for field in fields)
    median = sorted(map(len, texts))[len(texts) // 2]
    if score < MIN_SCORE and not (score >= 1.5 and median >= 60):
        return None
    words = sum(len(node.text().split()) for _, node in elements)
    count = len(elements)
    name = _list_name(selector, elements[0][1])
    return GuessedList(selector, name, count, fields, score * log2(1 + min(count, 60)), words)


def _has_parent_in(node: LexborNode, ids: set[int]) -> bool:
    ancestor = node.parent
    while ancestor is not None:
        if ancestor.mem_id in ids:
            return True
        ancestor = ancestor.parent
    return False


def _list_name(selector: str, node: LexborNode) -> str:
    texts = [_names.itemtype(node), *_names.classes(node), selector.partition(" ")[0].strip(".#")]
    parts = [list(_names.words(text)) for text in texts if text and not _names.is_layout(text)]
    return next(
        (name for words in parts if (name := _names.to_field_name("_".join(words)))), "item"
    )


def find_next_link(document: Document) -> str | None:
    """Return the selector of a list's next-page link, or None."""
    for node in document.tree.css("a[href]"):
        if "next" in (node.attributes.get("rel") or "").split():
            return 'css:a[rel~="next"]'
        text = normalize_space(node.text()).lower()
        parent = node.parent
        names = [*_names.classes(node), *(_names.classes(parent) if parent is not None else ())]
        is_next = text in _NEXT_LABELS or any("next" in _names.words(name) for name in names)
        if is_next and (selector := _next_selector(node)):
            return f"css:{selector}"
    return None


def _next_selector(node: LexborNode) -> str | None:
    for name in _names.classes(node):
        if "next" in _names.words(name):
            return f"a.{name}"
    parent = node.parent
    for name in _names.classes(parent) if parent is not None else ():
        if "next" in _names.words(name):
            return f".{name} > a"
    return None
