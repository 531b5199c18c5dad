"""Guess item kinds from example pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from richpins import extraction
from richpins.document import Document
from richpins.errors import InvalidKind
from richpins.guesses import _names
from richpins.guesses._details import guess_details
from richpins.guesses._fields import GuessedField
from richpins.guesses._lists import GuessedList, find_next_link, guess_lists
from richpins.items import find, kind_of
from richpins.rich_pins import to_fields

MAX_KINDS = 2
"""Maximum number of lists that are tried for pages that look the same."""
LIST_SHARE = 0.3
"""A page is a list if its repeated elements contain at least this fraction of its words."""
SAME_KIND = 0.5
"""Pages are of the same kind if they share at least this fraction of tags and classes."""
EMBEDDED = ("json-ld", "microdata", "rdfa", "microformats")


@dataclass(frozen=True, slots=True)
class GuessedKind:
    name: str
    table: Mapping[str, Any]
    """The input for `richpins.items.kind_of`."""
    items: int
    """How many items the table finds on the example pages."""
    is_page: bool
    """True if each page is one item, such as a product page."""


@dataclass(frozen=True, slots=True)
class Guess:
    """The rules guessed from a few pages."""

    kinds: tuple[GuessedKind, ...]
    """The most certain kind first."""
    embedded: Mapping[str, str] = field(default_factory=dict)
    """Fields that need no rule, each with the syntax in which the pages declare it."""


def guess_rules(documents: Sequence[Document]) -> Guess:
    """
    Guess the item kinds on pages of one site, and the fields embedded in the pages.

    Pages that share most of their classes form one kind. If many of a page's words are in repeated
    elements, the page is a list of items. Otherwise it is one item, provided that two such pages
    have different values or that its classes suggest fields.
    """
    kinds: list[GuessedKind] = []
    groups = _groups(documents)
    for group in groups:
        other_pages = [page for other in groups if other is not group for page in other]
        kinds += _kinds(
            group, url_pattern([page.url for page in group], [page.url for page in other_pages])
        )
    return Guess(tuple(_with_unique_names(kinds)), _embedded(documents))


def _groups(documents: Sequence[Document]) -> list[list[Document]]:
    groups: list[tuple[set[str], list[Document]]] = []
    for document in documents:
        outline = _outline(document)
        for group_outline, group in groups:
            if len(outline & group_outline) >= SAME_KIND * len(outline | group_outline):
                group.append(document)
                break
        else:
            groups.append((outline, [document]))
    return [group for _, group in groups]


def _outline(document: Document) -> set[str]:
    body = document.tree.body
    nodes = body.traverse() if body is not None else ()
    return {f"{node.tag}.{name}" for node in nodes for name in (*_names.classes(node), "")}


def _kinds(pages: Sequence[Document], pattern: str) -> list[GuessedKind]:
    lists = guess_lists(pages)
    is_list = bool(lists) and lists[0].words >= LIST_SHARE * sum(map(_words, pages))
    if not is_list and (kind := _detail_kind(pages, pattern)):
        return [kind]
    kinds = (_list_kind(guessed_list, pages, pattern) for guessed_list in lists[:MAX_KINDS])
    return [kind for kind in kinds if kind is not None][:1]


def _words(document: Document) -> int:
    body = document.tree.body
    return len(body.text(separator=" ").split()) if body is not None else 0


def _list_kind(
    guessed_list: GuessedList, pages: Sequence[Document], pattern: str
) -> GuessedKind | None:
    follow = next((rule for page in pages if (rule := find_next_link(page))), None)
    table: dict[str, Any] = {"pages": pattern, "each": f"css:{guessed_list.each}"}
    table["fields"] = {field.name: field.rule for field in guessed_list.fields}
    table |= _required(guessed_list.fields)
    if follow:
        table["follow"] = follow
    return _tested_kind(guessed_list.name, table, pages, is_page=False)


def _detail_kind(pages: Sequence[Document], pattern: str) -> GuessedKind | None:
    fields = guess_details(pages)
    if len(fields) < 2:
        return None
    table = {"pages": pattern, "fields": {field.name: field.rule for field in fields}}
    types = {extraction.extract_from(page).type for page in pages}
    name = types.pop() if len(types) == 1 else None
    return _tested_kind(name or "page", table | _required(fields), pages, is_page=True)


def _required(fields: Sequence[GuessedField]) -> dict[str, Any]:
    """Return the table's `required` (a field of all items) and `key` (a unique field)."""
    complete = {field.name: field for field in fields if field.share == 1.0}
    options: dict[str, Any] = {}
    if first := next((name for name in ("title", "price", *complete) if name in complete), None):
        options["required"] = [first]
    if key := next((name for name in ("sku", "url") if name in complete), None):
        options["key"] = key
    return options


def _tested_kind(
    name: str, table: dict[str, Any], pages: Sequence[Document], *, is_page: bool
) -> GuessedKind | None:
    """Return the kind; None if it finds no items. Fields with unreadable values become text."""
    while table["fields"]:
        try:
            kind = kind_of(name, table)
        except InvalidKind:
            return None
        results = [find(kind, page) for page in pages]
        problem_fields = {
            text.partition(":")[0]
            for result in results
            for text in (*result.unreadable, *result.dropped)
        }
        unreadable_fields = [
            name for name in problem_fields if _is_typed(table["fields"].get(name))
        ]
        for field_name in unreadable_fields:
            table["fields"][field_name] = table["fields"][field_name]["select"]
        if not unreadable_fields:
            count = sum(len(result.items) for result in results)
            return GuessedKind(name, table, count, is_page) if count else None
    return None


def _is_typed(rule: Any) -> bool:
    return isinstance(rule, Mapping) and rule.get("type") != "url"


def _with_unique_names(kinds: Sequence[GuessedKind]) -> Iterator[GuessedKind]:
    seen: dict[str, int] = {}
    for kind in kinds:
        seen[kind.name] = seen.get(kind.name, 0) + 1
        name = kind.name if seen[kind.name] == 1 else f"{kind.name}_{seen[kind.name]}"
        yield GuessedKind(name, kind.table, kind.items, kind.is_page)


def url_pattern(urls: Sequence[str], others: Sequence[str]) -> str:
    """
    Return a pattern for a kind's URLs, with `*` for the parts that differ.

    For a single page, the last path segment also becomes `*`. Without pages of other kinds, the
    pattern is just `*`.
    """
    if not others:
        return "*"
    paths = [urlsplit(url).path.split("/") for url in urls]
    if len({len(path) for path in paths}) > 1 or urlsplit(urls[0]).path in ("", "/"):
        return "*" if len(urls) > 1 else f"*{urlsplit(urls[0]).netloc}/"
    parts = [
        segments[0]
        if len(set(segments)) == 1 and not (len(urls) == 1 and position == len(paths[0]) - 1)
        else "*"
        for position, segments in enumerate(zip(*paths, strict=True))
    ]
    return "*" + "/".join(parts) + ("*" if any(urlsplit(url).query for url in urls) else "")


def _embedded(documents: Sequence[Document]) -> dict[str, str]:
    syntaxes: dict[str, str] = {}
    for document in documents:
        for name, source in to_fields(extraction.extract_from(document))[1].items():
            syntax = source.partition(" ")[0]
            if syntax in EMBEDDED:
                syntaxes.setdefault(name, syntax)
    return syntaxes
