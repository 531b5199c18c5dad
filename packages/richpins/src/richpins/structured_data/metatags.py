"""
Look up meta elements by name or property.

These are Open Graph with its product, article, book and video tags, Twitter cards, App Links,
Dublin Core, and names without a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from richpins.document import Attributes

_DOTTED_PREFIXES = ("dc:", "dcterms:", "dcterm:")
"""Prefixes of Dublin Core names, which use a dot or a colon."""

MAX_CONTENTS = 100

_SYNTAXES = {
    "og": "opengraph", "product": "opengraph", "article": "opengraph", "book": "opengraph",
    "books": "opengraph", "video": "opengraph", "music": "opengraph", "profile": "opengraph",
    "place": "opengraph", "business": "opengraph", "restaurant": "opengraph", "fb": "opengraph",
    "twitter": "twitter", "al": "applinks", "dc": "dublin-core", "dcterms": "dublin-core",
    "og_": "opengraph", "bt": "meta", "parsely-": "meta",
}  # fmt: skip


def meta_syntax(name: str) -> str:
    """Return the syntax that a meta element's name implies: `og:title` is `opengraph`."""
    prefix = name.partition(":")[0] if ":" in name else name.partition(".")[0]
    return _SYNTAXES.get(prefix, "meta") if prefix != name else "meta"


_PARSELY_NAMES = {
    "title": "title", "link": "link", "image_url": "image-url", "pub_date": "pub-date",
    "section": "section", "author": "author", "authors": "author", "tags": "tags",
}  # fmt: skip
"""
The fields of Parse.ly's older format (one JSON object), each with the suffix of its meta name.
"""


def _read_parsely(content: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a `parsely-page` element as (name suffix, content)."""
    try:
        fields = orjson.loads(content)
    except ValueError:
        return
    if not isinstance(fields, dict):
        return
    for field, name in _PARSELY_NAMES.items():
        values = fields.get(field)
        for value in values[:MAX_CONTENTS] if isinstance(values, list) else [values]:
            if isinstance(value, str) and value.strip():
                yield name, value.strip()


class MetaTags:
    """The contents of a page's meta elements by name or property (in lower case)."""

    def __init__(self, metas: Iterable[Attributes]) -> None:
        self._contents: dict[str, list[tuple[str, int]]] = {}
        self.order: list[tuple[str, str]] = []
        for position, attributes in enumerate(metas):
            content = attributes.get("content")
            if not content or content.isspace():
                continue
            for key in ("property", "name"):
                for word in (attributes.get(key) or "").lower().split():
                    name = word.replace(":", ".", 1) if word.startswith(_DOTTED_PREFIXES) else word
                    self._add(name, content.strip(), position)
                    if name == "parsely-page":
                        for part, text in _read_parsely(content):
                            self._add(f"parsely-{part}", text, position)

    def _add(self, name: str, content: str, position: int) -> None:
        contents = self._contents.setdefault(name, [])
        if len(contents) < MAX_CONTENTS:
            contents.append((content, position))
            self.order.append((name, content))

    def first(self, *names: str) -> str | None:
        """Return the first content of the first name in `names` that occurs."""
        for name in names:
            if name in self._contents:
                return self._contents[name][0][0]
        return None

    def all(self, *names: str) -> list[str]:
        """Return all contents of all `names`, in the order of the names."""
        return [content for name in names for content, _ in self._contents.get(name, ())]

    def has_none_of(self, names: Iterable[str]) -> bool:
        return self._contents.keys().isdisjoint(names)

    def with_positions(self, name: str) -> list[tuple[str, int]]:
        """Return the contents for a name, each with the index of its meta element."""
        return self._contents.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self._contents
