"""
Read JSON-LD blocks as nodes: the subset that pages use, with their common errors.

The subset is `@graph`, arrays, nesting, `@id` references, containers (`@list`, `@set`, `@value`),
and contexts that are objects (prefixes and renamed terms). Remote contexts are not fetched; all
names are taken as schema.org's. Bad markup never raises; it is reported in `Graph.problems`.
"""

from __future__ import annotations

from typing import Any

from richpins.structured_data import json_texts, lenient_json
from richpins.structured_data.graph import MAX_DEPTH, Graph, Node, local_name

SYNTAX = "json-ld"
MAX_BLOCKS = 200
MAX_TOTAL_CHARS = 16_777_216

_CONTAINERS = ("@list", "@set", "@value")


PROSE = frozenset({"articlebody", "reviewbody", "text", "description", "name", "headline"})
"""Properties whose text may mention JSON."""


def add_json(node: Node, name: str, text: str) -> None:
    """Parse `text` as JSON and add its values to a property of a node in any syntax."""
    for value in json_texts.parse_values(text):
        _JsonLdReader(node.graph).add(node, name, value, 1)


def read(blocks: list[str], graph: Graph) -> None:
    """Add the nodes in `blocks`, the contents of script elements, to `graph`."""
    chars_left = MAX_TOTAL_CHARS
    for number, text in enumerate(blocks[:MAX_BLOCKS]):
        chars_left -= len(text)
        if chars_left < 0:
            graph.problems.append(f"json-ld[{number}]: more than {MAX_TOTAL_CHARS} characters")
            return
        if text.strip():
            _read_block(text, number, graph)


def _read_block(text: str, number: int, graph: Graph) -> None:
    position = f"{SYNTAX}[{number}]"
    try:
        values, error_text = lenient_json.loads(text)
    except lenient_json.UnreadableJson as error:
        graph.problems.append(f"{position}: {error}")
        return
    if error_text:
        graph.problems.append(f"{position}: {error_text}")
    reader = _JsonLdReader(graph)
    for value in values:
        reader.read_top(value, position)


class _JsonLdReader:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.terms: dict[str, str] = {}

    def read_top(self, value: Any, position: str, depth: int = 0) -> None:
        """Read a value outside any item: an item, or a list or `@graph` of items."""
        if isinstance(value, list):
            for number, item in enumerate(value):
                if self.graph.check_full():
                    return
                if depth < MAX_DEPTH:
                    self.read_top(item, f"{position}[{number}]", depth + 1)
        elif isinstance(value, dict):
            self._read_context(value.get("@context"))
            graph_items = value.get("@graph")
            if graph_items is not None and depth < MAX_DEPTH:
                self.read_top(graph_items, f"{position}.@graph", depth + 1)
            if any(key not in {"@context", "@graph", "@id"} for key in value):
                self._add_node(value, position, None, "", depth)

    def _read_context(self, context: Any) -> None:
        """Record the terms that a context renames. `local_name` drops prefixes."""
        for part in context if isinstance(context, list) else [context]:
            if isinstance(part, dict):
                for term, target in list(part.items())[:1_000]:
                    name = target.get("@id") if isinstance(target, dict) else target
                    if isinstance(name, str) and not term.startswith("@"):
                        self.terms[term] = name

    def _add_node(
        self, raw: dict[str, Any], position: str, parent: Node | None, role: str, depth: int
    ) -> Node | None:
        graph = self.graph
        if graph.check_full():
            return None
        node = graph.add_node((), syntax=SYNTAX, position=position, parent=parent, role=role)
        identifier = None
        for key, value in raw.items():
            name = self.terms.get(key, key) if self.terms else key
            if name == "@type" or (name == "type" and "@type" not in raw):
                node.types = _read_types(value)
            elif name == "@id" or (name == "id" and "@id" not in raw):
                identifier = value if isinstance(value, str) else None
            elif name == "@reverse" or name[:1] != "@":
                name = local_name(name).lower()
                if name and depth < MAX_DEPTH:
                    self.add(node, name, value, depth + 1)
        if identifier:
            graph.assign_id(node, identifier)
        return node

    def add(self, node: Node, name: str, value: Any, depth: int) -> None:
        if isinstance(value, str):
            if not value or value.isspace():
                return
            if value[0] in "[{" and name not in PROSE and json_texts.is_json(value):
                for item in json_texts.parse_values(value) if depth < MAX_DEPTH else ():
                    self.add(node, name, item, depth + 1)
            else:
                node.add(name, value)
        elif isinstance(value, dict):
            self._add_object(node, name, value, depth)
        elif isinstance(value, list):
            for item in value:
                if depth < MAX_DEPTH and not self.graph.check_full():
                    self.add(node, name, item, depth + 1)
        elif value is not None:
            node.add(name, value)

    def _add_object(self, node: Node, name: str, value: dict[str, Any], depth: int) -> None:
        for container in _CONTAINERS:
            if container in value and depth < MAX_DEPTH:
                self.add(node, name, value[container], depth + 1)
                return
        if name == "@reverse":
            return
        if value and all(key.isdecimal() for key in value):  # a PHP array with gaps in its keys
            self.add(node, name, list(value.values()), depth + 1)
            return
        count = len(node.properties.get(name, ()))
        child = self._add_node(value, f"{node.position}.{name}[{count}]", node, name, depth)
        if child is not None and (child.properties or child.id or child.types):
            node.add(name, child)


def _read_types(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    return tuple(local_name(name) for name in names if isinstance(name, str) and name)
