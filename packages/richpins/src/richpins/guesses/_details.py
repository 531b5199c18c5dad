"""Guess fields of single-item pages, from selectors whose values differ between pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from selectolax.lexbor import LexborNode

from richpins.document import Document, normalize_space
from richpins.guesses import _names
from richpins.guesses._fields import GuessedField, guess_type
from richpins.guesses._lists import is_site_frame

MAX_FIELDS = 15
MAX_LABELS = 12
MAX_CHARS = 300
"""Maximum characters of a value, except for a description."""
MAX_NODES = 5_000
_FIELD_ORDER = (
    "title",
    "price",
    "sku",
    "availability",
    "brand",
    "author",
    "date",
    "description",
    "image",
)
_MAY_BE_CONSTANT = ("availability", "brand", "currency", "category")
_COMMON_FIELDS = ("url", "tags", "location")
"""Field names that match many elements of a page, most of them not part of its item."""
_NOT_CONTENT = re.compile(
    r"cookie|consent|dialog|modal|popup|menu|cart|basket|newsletter|signup|login|skip"
)
_QUOTES = "'\""


def guess_details(documents: Sequence[Document]) -> list[GuessedField]:
    """
    Return the fields that each page has exactly once.

    With one page, only fields with known names are returned; with several, also those with
    different values.
    """
    fields: dict[str, GuessedField] = {}
    for selector, ending, name in sorted(_candidates(documents), key=_is_doubtful):
        values = [_value(selector, ending, document) for document in documents]
        field_guess = _field(name, f"css:{selector}{ending}", ending, values)
        if field_guess is not None and field_guess.name not in fields:
            fields[field_guess.name] = field_guess
    used_rules = {
        field.rule if isinstance(field.rule, str) else field.rule["select"]
        for field in fields.values()
    }
    for name, rule, values in _labeled(documents):
        field_guess = _field(name, rule, "", values)
        if field_guess is not None and field_guess.name not in fields and rule not in used_rules:
            fields[field_guess.name] = field_guess
    ordered = sorted(fields.values(), key=lambda field: (_order(field.name), not field.is_known))
    return ordered[:MAX_FIELDS]


def _is_doubtful(candidate: tuple[str, str, str]) -> bool:
    """Return True if only a class or id suggests the field. Menus and dialogs have titles, too."""
    selector = candidate[0]
    return not selector.startswith("[itemprop=") and selector != "h1"


def _order(name: str) -> int:
    return _FIELD_ORDER.index(name) if name in _FIELD_ORDER else len(_FIELD_ORDER)


def _field(name: str, rule: str, ending: str, values: Sequence[str | None]) -> GuessedField | None:
    present = [value for value in values if value]
    is_known = name in _names.FIELDS
    if not name or name in _COMMON_FIELDS or len(present) < len(values):
        return None
    is_same = len(values) > 1 and len(set(present)) == 1
    # A value that is the same on all pages belongs to the site, unless it is, say, a currency.
    if (is_same and name not in _MAY_BE_CONSTANT) or (len(values) == 1 and not is_known):
        return None
    kind, clean = guess_type(present, ending)
    field_rule: Mapping[str, Any] | str = rule
    if kind != "text":
        field_rule = {"select": rule, "type": kind, **({"clean": list(clean)} if clean else {})}
    return GuessedField(name, field_rule, 1.0, len(set(present)), is_known, kind)


def _candidates(documents: Sequence[Document]) -> Iterator[tuple[str, str, str]]:
    """Yield (selector, ending, field name) for selectors that match exactly once on each page."""
    counts = [Counter(_selectors(document)) for document in documents]
    for (selector, ending, name), count in counts[0].items():
        is_unique_everywhere = all(other.get((selector, ending, name)) == 1 for other in counts[1:])
        if (
            count == 1
            and is_unique_everywhere
            and all(len(d.tree.css(selector)) == 1 for d in documents)
        ):
            yield selector, ending, name


def _selectors(document: Document) -> Iterator[tuple[str, str, str]]:
    body = document.tree.body
    if body is None:
        return
    for number, node in enumerate(body.traverse()):
        if number >= MAX_NODES:
            return
        if (node.tag or "-").startswith("-") or is_site_frame(node):
            continue
        yield from _node_selectors(node)


def _node_selectors(node: LexborNode) -> Iterator[tuple[str, str, str]]:
    attributes, tag = node.attributes, node.tag or ""
    ending = _ending(node)
    if ending is None or _NOT_CONTENT.search(
        f"{attributes.get('class')} {attributes.get('id')}".lower()
    ):
        return
    if itemprop := _names.itemprop(node):
        yield f'[itemprop="{itemprop}"]', ending, _name([itemprop], tag)
    element_id = attributes.get("id") or ""
    if _names.is_authored(element_id):
        yield f"#{element_id}", ending, _name([element_id], tag)
    for name in _names.classes(node):
        yield f".{name}", ending, _name([name], tag)
    if tag == "h1":
        yield "h1", ending, "title"
    if tag == "img" and node.parent is not None:
        for name in _names.classes(node.parent)[:1]:
            yield f".{name} img", ending, "image"
        if _names.is_authored(node.parent.attributes.get("id") or ""):
            yield f"#{node.parent.attributes['id']} img", ending, "image"


def _name(texts: Sequence[str], tag: str) -> str:
    known = _names.known_field(texts)
    if known:
        return known
    descriptive = [text for text in texts if not _names.is_layout(text)]
    return (
        _names.to_field_name(descriptive[0]) if descriptive else _names.known_field([], tag) or ""
    )


def _ending(node: LexborNode) -> str | None:
    attributes = node.attributes
    if node.tag == "img":
        return "::link" if attributes.get("src") else None
    if node.tag == "time" and attributes.get("datetime"):
        return "::attr(datetime)"
    if attributes.get("content") and attributes.get("itemprop"):
        return "::attr(content)"
    if node.tag in (
        "script",
        "style",
        "template",
        "noscript",
        "select",
        "form",
        "table",
        "ul",
        "ol",
    ):
        return None
    blocks = sum(child.tag in ("div", "p", "ul", "table", "section", "li") for child in node.iter())
    text = normalize_space(node.text())
    return "" if text and blocks == 0 and len(text) <= 10 * MAX_CHARS else None


def _value(selector: str, ending: str, document: Document) -> str | None:
    node = document.tree.css_first(selector)
    if node is None:
        return None
    if ending == "":
        return normalize_space(node.text()) or None
    if ending == "::link":
        src = node.attributes.get("src")
        return document.resolve(src) if src else None
    return node.attributes.get(ending.removeprefix("::attr(").rstrip(")")) or None


def _labeled(documents: Sequence[Document]) -> Iterator[tuple[str, str, list[str | None]]]:
    """Yield (name, rule, values) for table rows and definitions with a label on all pages."""
    pages = [dict(_rows(document)) for document in documents]
    shared = [label for label in pages[0] if all(label in page for page in pages)]
    for tag, label in shared[:MAX_LABELS]:
        name = _names.to_field_name(label)
        if not name or any(quote in label for quote in _QUOTES):
            continue
        value = "td" if tag == "th" else "dd"
        rule = f"xpath://{tag}[normalize-space()='{label}']/following-sibling::{value}[1]"
        yield name, rule, [page[tag, label] or None for page in pages]


def _rows(document: Document) -> Iterator[tuple[tuple[str, str], str]]:
    for tag, value in (("th", "td"), ("dt", "dd")):
        for node in document.tree.css(tag):
            label, next_cell = normalize_space(node.text()), node.next
            while next_cell is not None and (next_cell.tag or "-").startswith("-"):
                next_cell = next_cell.next
            if label and len(label) <= 40 and next_cell is not None and next_cell.tag == value:
                yield (tag, label), normalize_space(next_cell.text())[:MAX_CHARS]
