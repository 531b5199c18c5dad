"""Extract the items of a page."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import orjson
from selectolax.lexbor import LexborNode

from richpins.document import Document
from richpins.items._kinds import FIELD_NAME, RESERVED, ItemField, ItemKind
from richpins.items._values import apply_steps, convert
from richpins.selectors import Selectable, SelectedPage, evaluate

MAX_ITEMS = 1_000
"""Maximum number of items of one kind per page. The rest are dropped."""
MAX_BYTES_PER_ITEM = 16 * 1024
"""Maximum size of an item's values as JSON. A larger item is dropped."""
MAX_BYTES_PER_PAGE = 512 * 1024
"""Maximum total size of a page's items of one kind. The rest are dropped."""
MAX_FOLLOWED = 100
"""Maximum number of follow-up URLs per page."""
MAX_KEY_CHARS = 500
NOTHING_FOUND = "nothing found"


@dataclass(frozen=True, slots=True)
class Item:
    values: Mapping[str, Any]
    """Field values as JSON. Decimals and dates are strings; missing values are None."""
    key: str = ""
    """Identifies the item within its kind; empty if the kind has no key."""


@dataclass(frozen=True, slots=True)
class FoundItems:
    items: tuple[Item, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """The number of dropped items, by reason."""
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """The number of optional values with the wrong type, by field and type."""
    follow: tuple[str, ...] = ()
    """Normalized URLs of pages with more items, such as a list's next page."""

    def __bool__(self) -> bool:
        return bool(self.items or self.dropped or self.follow)


def find(kind: ItemKind, document: Document, page: Any = None) -> FoundItems:
    """
    Return a page's items in document order; none if its URL does not match the kind.

    Args:
        kind: the item kind to find.
        document: the page.
        page: the argument for the kind's function; `document` if None.

    Raises:
        ValueError, TypeError: a function returned something other than items, or an XPath cannot be
            computed.
        Exception: whatever a function raises.
    """
    if not kind.is_on(document.url):
        return FoundItems()
    selected_page = SelectedPage(document)
    collected = _ItemCollector(kind)
    if kind.function is None:
        collected.add_all(_values_by_rules(kind, selected_page, collected))
    else:
        collected.add_all(map(_from_function, kind.function(document if page is None else page)))
    return FoundItems(
        tuple(collected.items),
        dict(collected.dropped),
        dict(collected.unreadable),
        _follow_urls(kind, selected_page),
    )


class _ItemCollector:
    def __init__(self, kind: ItemKind) -> None:
        self.items: list[Item] = []
        self.dropped: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self._kind = kind
        self._keys: set[str] = set()
        self._bytes = 0

    def add_all(self, found: Iterable[dict[str, Any]]) -> None:
        for values in found:
            self._add(values)

    def _add(self, values: dict[str, Any]) -> None:
        missing = next((n for n in self._kind.required if values.get(n) is None), None)
        if missing is not None:
            self.dropped[f"{missing}: {NOTHING_FOUND}"] += 1
            return
        key = self._key(values)
        if key is None:
            self.dropped[f"{' and '.join(self._kind.key)}: no key"] += 1
            return
        if key and key in self._keys:
            self.dropped[f"{' and '.join(self._kind.key)}: duplicate"] += 1
            return
        if reason := self._limit_problem(len(orjson.dumps(values))):
            self.dropped[reason] += 1
            return
        self._keys.add(key)
        self.items.append(Item(values, key))

    def _key(self, values: Mapping[str, Any]) -> str | None:
        parts = [values.get(name) for name in self._kind.key]
        if any(part is None for part in parts):
            return None
        texts = [part if isinstance(part, str) else orjson.dumps(part).decode() for part in parts]
        key = texts[0] if len(texts) == 1 else orjson.dumps(texts).decode() if texts else ""
        return key if len(key) <= MAX_KEY_CHARS else None

    def _limit_problem(self, size: int) -> str | None:
        if len(self.items) >= MAX_ITEMS:
            return f"more than {MAX_ITEMS} on the page"
        if size > MAX_BYTES_PER_ITEM:
            return f"longer than {MAX_BYTES_PER_ITEM} bytes"
        if self._bytes + size > MAX_BYTES_PER_PAGE:
            return f"more than {MAX_BYTES_PER_PAGE} bytes on the page"
        self._bytes += size
        return None


class _Element:
    """An element in which rules search for values. CSS selectors can match the element itself."""

    def __init__(self, page: SelectedPage, node: Any) -> None:
        self._page = page
        self._node = node

    def css(self, selector: str) -> list[LexborNode]:
        try:
            nodes: list[LexborNode] = self._node.css(selector)
        except Exception as error:
            raise ValueError(str(error) or "is not a CSS selector") from error
        return nodes

    def xpath(self, expression: str) -> Any:
        return evaluate(expression, self._node)

    def link(self, href: str) -> str | None:
        return self._page.link(href)


def _values_by_rules(
    kind: ItemKind, page: SelectedPage, collected: _ItemCollector
) -> Iterator[dict[str, Any]]:
    """Yield each element's values, unless required or key fields have problems."""
    fields = [field_rule for field_rule in kind.fields if field_rule.parent is None]
    needed = {*kind.required, *kind.key}
    page_values = {
        field_rule.name: _read_field(field_rule, page)
        for field_rule in fields
        if field_rule.of_page
    }
    for element in _elements(kind, page):
        results = {
            field_rule.name: page_values.get(field_rule.name) or _read_field(field_rule, element)
            for field_rule in fields
        }
        problems = {
            name: field_rule.problem for name, field_rule in results.items() if field_rule.problem
        }
        if fatal := next((name for name in problems if name in needed), None):
            collected.dropped[f"{fatal}: {problems[fatal]}"] += 1
            continue
        collected.unreadable.update(f"{name}: {problem}" for name, problem in problems.items())
        yield {name: field_rule.value for name, field_rule in results.items()}


def _elements(kind: ItemKind, page: SelectedPage) -> Iterator[Selectable]:
    if kind.each is None:
        yield page
        return
    language, text = kind.each
    nodes = page.css(text) if language == "css" else page.xpath(text)
    for node in nodes if isinstance(nodes, list) else []:
        if language == "css" or hasattr(node, "itertext"):
            yield _Element(page, node)


class _FieldValue(NamedTuple):
    """The result of a field's rule: a JSON value, or the reason for its absence."""

    value: Any = None
    problem: str = ""


def _read_field(rule: ItemField, scope: Selectable) -> _FieldValue:
    result = rule.selector.value(scope) if rule.selector else None
    as_list = result if isinstance(result, list) else [result]
    texts = (apply_steps(value, rule.steps) for value in as_list)
    try:
        values = [convert(text, rule.type, scope.link) for text in texts if text is not None]
    except ValueError as error:
        return _FieldValue(problem=str(error))
    if values:
        return _FieldValue(values if as_list is result else values[0])
    is_flag = rule.type == "bool" and rule.default is None
    return _FieldValue(False if is_flag else _to_json(rule.default))


def _follow_urls(kind: ItemKind, page: SelectedPage) -> tuple[str, ...]:
    urls: dict[str, None] = {}
    for selector in kind.follow:
        targets = selector.value(page)
        for value in targets if isinstance(targets, list) else [targets]:
            url = page.link(value) if isinstance(value, str) else None
            if url is not None and url != page.document.url:
                urls[url] = None
    return tuple(urls)[:MAX_FOLLOWED]


def _from_function(result: Any) -> dict[str, Any]:
    """
    Return an item that a function returned, as JSON.

    Raises:
        TypeError, ValueError: the value is not an item.
    """
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        result = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    if not isinstance(result, Mapping):
        raise TypeError(f"an item must be a dict or a dataclass, got {type(result).__name__}")
    for name in result:
        if not isinstance(name, str) or not FIELD_NAME.fullmatch(name) or name in RESERVED:
            raise ValueError(f"{name!r} cannot be the name of a field of an item")
    values = {name: _to_json(value) for name, value in result.items()}
    orjson.dumps(values)
    return values


def _to_json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_to_json(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _to_json(part) for name, part in value.items()}
    return value
