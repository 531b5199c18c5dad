"""Collect a page's metadata in all syntaxes, for the page types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import quote, urljoin

from richpins.document import Document
from richpins.provenance import Candidate, Ledger
from richpins.structured_data import jsonld, microdata_rdfa, microformats
from richpins.structured_data.graph import Graph, Node
from richpins.structured_data.metatags import MetaTags, meta_syntax
from richpins.structured_data.shop_texts import ShopTexts
from richpins.structured_data.words import HEADING, HEADING_END, MICROFORMATS

MAX_URL_CHARS = 4_096

_SPACE = re.compile(r"[ \t\n\r]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:", re.IGNORECASE | re.ASCII)
_REPEATED_SCHEME = re.compile(r"https?://[^/?#]*(?=https?://)")
"""A host that a template added in front of an absolute URL."""
_TRUST = {
    jsonld.SYNTAX: 0,
    microdata_rdfa.MICRODATA: 1,
    microdata_rdfa.RDFA: 2,
    microformats.SYNTAX: 3,
}


class Sources:
    """A document with its structured data, its meta elements and the extraction's ledger."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.metas = MetaTags(document.metas)
        self.graph = Graph()
        self.ledger = Ledger()
        self.words = words = document.words
        graph = self.graph
        if document.json_ld:
            jsonld.read(list(document.json_ld), graph)
        if "itemscope" in words or "itemprop" in words:
            microdata_rdfa.read_microdata(document.tree, graph)
        if words.is_attribute("typeof"):
            microdata_rdfa.read_rdfa(document.tree, graph)
        if words.occurs_in_class(*MICROFORMATS):
            microformats.read(document.tree, graph)
        _name_recipes(graph)
        self._folders: dict[str, str] = {}

    @cached_property
    def shop_texts(self) -> ShopTexts:
        """The labels and phrases of shops in the page, searched on first access."""
        return ShopTexts(self.words.lowered, self.words.first(HEADING))

    @cached_property
    def heading_end(self) -> int:
        """The offset of the first `</h1` in `words.body`, in any case, or -1."""
        return self.words.first(HEADING_END)

    def scalars(self, nodes: Iterable[Node], *names: str) -> Iterator[Candidate]:
        """For each node, yield the values of the first of `names` that the node has."""
        for node in nodes:
            for name in names:
                if name in node.properties:
                    where = f"{node.position}.{name}"
                    for value in self._resolved_values(node, name):
                        yield Candidate(value, node.syntax, where)
                    break

    def lists(self, nodes: Iterable[Node], *names: str) -> Iterator[Candidate]:
        """For each node, yield all values of the first of `names` with a value, as one list."""
        for node in nodes:
            for name in names:
                values = self._resolved_values(node, name)
                if values:
                    yield Candidate(values, node.syntax, f"{node.position}.{name}")
                    break

    def _resolved_values(self, node: Node, name: str) -> list[Any]:
        values = node.all(name)
        return list(map(self.graph.dereference, values)) if name in _NODE_PROPERTIES else values

    def meta(self, *names: str) -> Iterator[Candidate]:
        """Yield the contents of meta elements, name by name."""
        if self.metas.has_none_of(names):
            return iter(())
        return self._meta(names)

    def _meta(self, names: tuple[str, ...]) -> Iterator[Candidate]:
        for name in names:
            for content, number in self.metas.with_positions(name):
                yield Candidate(content, meta_syntax(name), f"meta[{number}] {name}")

    def heading(self) -> Candidate | None:
        text = self.document.heading
        return Candidate(text, "html", "h1") if text else None

    def visible_candidate(self, heading: str) -> Candidate:
        """Return a candidate for a value in the visible text, at this heading or caption."""
        return Candidate(heading, "html", f"at {heading!r}")

    def absolute(self, text: str) -> str | None:
        """Return `text` as an absolute http(s) URL, not normalized; None if it is not a URL."""
        text = text.strip()
        if not text or len(text) > MAX_URL_CHARS:
            return None
        if not text.startswith(("http://", "https://")):
            if _OTHER_SCHEME.match(text):
                return None
            try:
                text = self._join(text)
            except ValueError:
                return None
            if not text.startswith(("http://", "https://")):
                return None
        text = _REPEATED_SCHEME.sub("", text)
        if _SPACE.search(text):
            text = text.replace(" ", "%20").translate({9: None, 10: None, 13: None})
        if not text.isascii():
            text = _with_ascii_path(text)
        host = text.partition("://")[2]
        return text if host and host[0] not in "/?#" else None

    def _join(self, text: str) -> str:
        """Join a reference to the base as `urljoin` does, in a tenth of the time."""
        base = self.document.base_url
        match = _SIMPLE_PATH.fullmatch(text)
        if match is None or _NOT_SIMPLE.search(text, match.start(2)):
            return urljoin(base, text)
        prefix, path = match.groups()
        folder = self._folders.get(prefix)
        if folder is None:
            folder = self._folders[prefix] = (
                _base_folder(base, prefix) or urljoin(base, f"{prefix}x")[:-1]
            )
        return folder + path


_SIMPLE_PATH = re.compile(r"((?:\.\./|)*+|/)([A-Za-z0-9_-][A-Za-z0-9_./-]*+)")
_NOT_SIMPLE = re.compile(r"/[./]")
_SIMPLE_BASE = re.compile(r"(https?://[A-Za-z0-9.:-]++/)([A-Za-z0-9_~.,/-]*+)")


def _base_folder(base: str, prefix: str) -> str | None:
    """Return the folder to which a prefix of `/` or `../` leads; None if `urljoin` must tell."""
    match = _SIMPLE_BASE.fullmatch(base)
    if match is None or match[2][:1] in {"/", "."} or _NOT_SIMPLE.search(match[2]):
        return None
    if prefix == "/":
        return match[1]
    folders = match[2].split("/")[:-1]
    levels_up = len(prefix) // 3
    if levels_up > len(folders):
        return None
    return match[1] + "".join(f"{name}/" for name in folders[: len(folders) - levels_up])


def _name_recipes(graph: Graph) -> None:
    """Give all nodes with ingredients and steps the type Recipe."""
    for node in graph.nodes:
        properties = node.properties
        if "recipeinstructions" not in properties or node.is_a(_RECIPES):
            continue
        if properties.keys() & _INGREDIENTS:
            node.types = (*node.types, "Recipe")


_NODE_PROPERTIES = frozenset(
    {"author", "creator", "contributor", "publisher", "director", "actor", "brand", "manufacturer"}
)
_RECIPES = frozenset({"recipe"})
_INGREDIENTS = frozenset({"recipeingredient", "ingredients"})


def sort_by_trust(nodes: Iterable[Node]) -> list[Node]:
    """Return JSON-LD nodes first, then microdata, RDFa and microformats, in document order."""
    return sorted(nodes, key=lambda node: _TRUST.get(node.syntax, 9))


def _with_ascii_path(url: str) -> str:
    """Percent-encode the non-ASCII characters after the host, as browsers do."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    encoded = _NOT_ASCII.sub(lambda match: quote(match[0]), path)
    return f"{scheme}{separator}{host}{slash}{encoded}"
