"""Guess the selectors and types of fields in repeated elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborNode

from richpins.document import Document, normalize_space
from richpins.guesses import _names
from richpins.values.dates import moment
from richpins.values.numbers import decimal

MAX_FIELDS = 12
MAX_SAMPLES = 30
"""Maximum number of elements whose values are compared."""
MAX_SEARCHED_ELEMENTS = 5
"""Maximum number of elements from which selectors are collected."""
MAX_PARTS = 300
MAX_TEXT_CHARS = 2_000
MIN_SHARE = 0.6
"""Minimum fraction of the elements that must have a field."""
_MONEY = re.compile(
    r"[$€£¥₹₽₩]\s?\d|\d\s?(?:[$€£¥₹₽₩]|(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|kr|zł)\b)|"
    r"\b(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK)\s?\d"
)
_INTEGER = re.compile(r"\d{1,9}")
_IGNORED = frozenset(
    {"script", "style", "noscript", "template", "svg", "path", "br", "option", "-text"}
)


@dataclass(frozen=True, slots=True)
class Part:
    """A selector within an element, and what to read from its match."""

    selector: str
    ending: str
    """The end of the rule: empty for the text, `::link`, `::attr(datetime)` …"""
    name: str
    """The field's name; may be empty."""

    @property
    def rule(self) -> str:
        return f"css:{self.selector}{self.ending}"


@dataclass(frozen=True, slots=True)
class GuessedField:
    name: str
    rule: Mapping[str, Any] | str
    """The rule, as written in the settings."""
    share: float
    """The fraction of elements that have the field."""
    distinct_count: int
    is_known: bool
    """True if the name suggests a known field."""
    kind: str


def guess_fields(elements: Sequence[tuple[Document, LexborNode]]) -> list[GuessedField]:
    """Return the fields that most elements have, if their values differ; the most certain first."""
    sampled = elements[:MAX_SAMPLES]
    by_values: dict[tuple[str | None, ...], Part] = {}
    for part in _parts([node for _, node in sampled[:MAX_SEARCHED_ELEMENTS]]):
        values = tuple(_value(part, document, node) for document, node in sampled)
        present = [value for value in values if value]
        if len(present) < max(2, MIN_SHARE * len(sampled)) or len(set(present)) < 2:
            continue
        previous = by_values.get(values)
        if previous is None or _cost(part) < _cost(previous):
            by_values[values] = part
    fields = [_field(part, values) for values, part in by_values.items()]
    return _without_duplicate_names(sorted(fields, key=_rank))[:MAX_FIELDS]


def _rank(field: GuessedField) -> tuple[bool, float, int]:
    return (not field.is_known, -field.share, -field.distinct_count)


def _cost(part: Part) -> tuple[int, int, int]:
    """Return a sort key for selectors that find the same values; higher is worse."""
    has_name = 0 if part.name else 1
    by_tag = 0 if part.selector.startswith(("[", ".")) else 1
    return (has_name, by_tag, len(part.selector))


def _parts(nodes: Sequence[LexborNode]) -> Iterator[Part]:
    seen: set[tuple[str, str]] = set()
    for node in nodes:
        for number, (inner, part) in enumerate(_element_parts(node)):
            if number >= MAX_PARTS:
                break
            if (part.selector, part.ending) not in seen and _is_single(node, inner, part):
                seen.add((part.selector, part.ending))
                yield part


def _is_single(node: LexborNode, inner: LexborNode, part: Part) -> bool:
    first_match = node.css_first(part.selector)
    return first_match is not None and first_match.mem_id == inner.mem_id


def _element_parts(node: LexborNode) -> Iterator[tuple[LexborNode, Part]]:
    for inner in node.traverse():
        if inner.tag in _IGNORED or inner.mem_id == node.mem_id:
            continue
        for selector, words in _selectors(inner, node):
            for ending, is_shown in _endings(inner):
                name = "url" if ending == "::link" and inner.tag == "a" else ""
                name = name or _names.known_field(words, inner.tag or "") or _plain_name(words)
                if is_shown:
                    yield inner, Part(selector, ending, name)


def _plain_name(words: Sequence[str]) -> str:
    return next(
        (n for text in words if not _names.is_layout(text) and (n := _names.to_field_name(text))),
        "",
    )


def _selectors(node: LexborNode, root: LexborNode) -> Iterator[tuple[str, list[str]]]:
    tag = node.tag or ""
    if itemprop := _names.itemprop(node):
        yield f'[itemprop="{itemprop}"]', [itemprop]
    names = _names.classes(node)
    for name in names:
        yield f".{name}", [name]
    if names:
        yield f"{tag}.{names[0]}", [names[0]]
    parent = node.parent
    if parent is not None and parent.mem_id != root.mem_id:
        for name in _names.classes(parent)[:1]:
            yield f".{name} {tag}", [name]
    yield tag, []


def _endings(node: LexborNode) -> Iterator[tuple[str, bool]]:
    """Yield the possible endings of an element's rules, and whether the element has that value."""
    attributes = node.attributes
    if node.tag == "a":
        yield "::link", bool(attributes.get("href"))
    if node.tag in ("img", "source"):
        yield "::link", bool(attributes.get("src"))
        return
    if node.tag == "time" and attributes.get("datetime"):
        yield "::attr(datetime)", True
        return
    if node.tag in ("meta", "data"):
        name = "content" if node.tag == "meta" else "value"
        yield f"::attr({name})", bool(attributes.get(name))
        return
    if attributes.get("content") and attributes.get("itemprop"):
        yield "::attr(content)", True
    yield "", _is_text(node)


def _is_text(node: LexborNode) -> bool:
    own_text = normalize_space(node.text(deep=False))
    if own_text:
        return True
    inner = [child for child in node.iter() if normalize_space(child.text())]
    return len(inner) == 1 and inner[0].tag in ("a", "span", "b", "strong", "em", "bdi")


def _value(part: Part, document: Document, node: LexborNode) -> str | None:
    match = node.css_first(part.selector)
    if match is None:
        return None
    if part.ending == "":
        return normalize_space(match.text())[:MAX_TEXT_CHARS] or None
    if part.ending == "::link":
        href = match.attributes.get("href") or match.attributes.get("src")
        return document.resolve(href) if href else None
    return match.attributes.get(part.ending.removeprefix("::attr(").rstrip(")")) or None


def _field(part: Part, values: Sequence[str | None]) -> GuessedField:
    present = [value for value in values if value]
    kind, clean = guess_type(present, part.ending)
    name = part.name or ("price" if kind == "decimal" and clean else "text")
    if kind == "url" and name not in ("image", "url"):
        name = f"{name}_url"
    rule: Mapping[str, Any] | str = part.rule
    if kind != "text":
        rule = {"select": part.rule, "type": kind, **({"clean": list(clean)} if clean else {})}
    share = len(present) / len(values)
    return GuessedField(name, rule, share, len(set(present)), name in _names.FIELDS, kind)


def guess_type(values: Sequence[str], ending: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the type of all values, and the cleaning steps needed."""
    if ending == "::link":
        return "url", ()
    if all(map(_is_money, values)):
        return "decimal", ("number",)
    if all(_INTEGER.fullmatch(value) and (value == "0" or value[0] != "0") for value in values):
        return "integer", ()
    if ending == "::attr(datetime)" and all(moment(value) is not None for value in values):
        return ("moment" if any("T" in value for value in values) else "date"), ()
    return "text", ()


def _is_money(value: str) -> bool:
    return len(value) < 40 and bool(_MONEY.search(value)) and decimal(value) is not None


def _without_duplicate_names(fields: Sequence[GuessedField]) -> list[GuessedField]:
    fields_by_name: dict[str, GuessedField] = {}
    for field in fields:
        if field.name not in fields_by_name:
            fields_by_name[field.name] = field
    return list(fields_by_name.values())
