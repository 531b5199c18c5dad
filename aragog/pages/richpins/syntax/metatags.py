"""
Read meta elements by name or property.

They include Open Graph with its product, article, book and video tags, Twitter cards, App Links,
Dublin Core and the plain names.
"""

from __future__ import annotations

from collections.abc import Iterable

from aragog.pages.document import Attributes

_DOTTED = ("dc:", "dcterms:", "dcterm:")
"""Dublin Core names use a dot or a colon."""

MAX_CONTENTS = 100
"""Maximum for one name."""

_SYNTAXES = {
    "og": "opengraph", "product": "opengraph", "article": "opengraph", "book": "opengraph",
    "books": "opengraph", "video": "opengraph", "music": "opengraph", "profile": "opengraph",
    "place": "opengraph", "business": "opengraph", "restaurant": "opengraph", "fb": "opengraph",
    "twitter": "twitter", "al": "applinks", "dc": "dublin-core", "dcterms": "dublin-core",
    "og_": "opengraph", "bt": "meta", "parsely-": "meta",
}  # fmt: skip


def syntax_of(name: str) -> str:
    """Return the syntax of a meta element's name: `og:title` is `opengraph`."""
    prefix = name.partition(":")[0] if ":" in name else name.partition(".")[0]
    return _SYNTAXES.get(prefix, "meta") if prefix != name else "meta"


class MetaTags:
    """The contents of a page's meta elements by name or property, in lower case and in order."""

    def __init__(self, metas: Iterable[Attributes]) -> None:
        self._contents: dict[str, list[tuple[str, int]]] = {}
        self.order: list[tuple[str, str]] = []
        for number, attributes in enumerate(metas):
            content = attributes.get("content")
            if not content or content.isspace():
                continue
            for key in ("property", "name"):
                for said in (attributes.get(key) or "").lower().split():
                    name = said.replace(":", ".", 1) if said.startswith(_DOTTED) else said
                    contents = self._contents.setdefault(name, [])
                    if len(contents) < MAX_CONTENTS:
                        contents.append((content.strip(), number))
                        self.order.append((name, content.strip()))

    def first(self, *names: str) -> str | None:
        """Return the first content of the first of `names` that is present."""
        for name in names:
            if name in self._contents:
                return self._contents[name][0][0]
        return None

    def all(self, *names: str) -> list[str]:
        """Return all contents of all `names`, name by name."""
        return [content for name in names for content, _ in self._contents.get(name, ())]

    def placed(self, name: str) -> list[tuple[str, int]]:
        """Return the contents of a name, each with the number of its meta element."""
        return self._contents.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self._contents
