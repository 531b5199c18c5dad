"""
Represent structured data in any syntax as nodes with types and properties.

Names lose their vocabulary (`http://www.schema.org/name`, `schema:name` and `Name` all become
`name`), so that code that reads a recipe does not depend on its syntax. References by id are
resolved on access, across blocks and syntaxes. They may form cycles, so code that follows more than
one property must limit its depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_NODES = 20_000
"""Maximum number of nodes per page; the largest of 1,100 real pages had 3,400."""
MAX_DEPTH = 32
MAX_VALUES = 2_000

Value = Any
"""A str, int, float, bool or Node, as parsed."""


@dataclass(slots=True, eq=False)
class Node:
    """One item. Property names are in lower case; `types` keep their case."""

    types: tuple[str, ...]
    syntax: str
    position: str
    """The node's position in the page, such as `json-ld[0].@graph[2]`."""
    graph: Graph
    id: str | None = None
    properties: dict[str, list[Value]] = field(default_factory=dict)
    parent: Node | None = None
    """The node that has this node as a value; None at the top level."""
    role: str = ""
    """The property of `parent` that has this node as a value."""

    def is_a(self, types: frozenset[str]) -> bool:
        """Return True if one of the node's types is in `types` (lower case)."""
        return any(name.lower() in types for name in self.types)

    def all(self, *names: str) -> list[Value]:
        """Return the values of the first property in `names` that has any; follow references."""
        for name in names:
            values = self.properties.get(name)
            if values:
                follow = self.graph.follow
                return [follow(v) if isinstance(v, Node) else v for v in values]
        return []

    def first(self, *names: str) -> Value | None:
        """Return the first value of the first property in `names` that has any."""
        values = self.all(*names)
        return values[0] if values else None

    def add(self, name: str, value: Value) -> None:
        """Add a value to a property, unless the property is full."""
        values = self.properties.setdefault(name, [])
        if len(values) < MAX_VALUES:
            values.append(value)


class Graph:
    """
    The nodes of one page, and the problems found in its markup.

    Nodes are sorted by syntax, the most trusted first, then in document order. `roots` contains the
    nodes at the top level.
    """

    def __init__(self) -> None:
        self.roots: list[Node] = []
        self.nodes: list[Node] = []
        self.problems: list[str] = []
        self.ownerless_product: Node | None = None
        """Properties of a product outside any item, in microdata. Not one of `nodes`."""
        self._by_id: dict[str, Node] = {}
        self._by_type: dict[str, list[int]] = {}
        self._indexed_count = 0

    def check_full(self) -> bool:
        """Return True if the graph accepts no more nodes. Records this problem once."""
        if len(self.nodes) < MAX_NODES:
            return False
        problem = f"more than {MAX_NODES} items: the rest were ignored"
        if problem not in self.problems:
            self.problems.append(problem)
        return True

    def add_node(
        self,
        types: tuple[str, ...],
        *,
        syntax: str,
        position: str,
        parent: Node | None = None,
        role: str = "",
    ) -> Node:
        node = Node(types, syntax, position, self, parent=parent, role=role)
        self.nodes.append(node)
        if parent is None:
            self.roots.append(node)
        return node

    def assign_id(self, node: Node, identifier: str) -> None:
        """
        Assign an id to `node`.

        Several blocks of a page may describe the same thing. The first node with this id then
        also gets the properties that only later nodes have.
        """
        node.id = identifier
        existing = self._by_id.get(identifier)
        if existing is None or (_has_properties(node) and not _has_properties(existing)):
            self._by_id[identifier] = node
        elif _has_properties(node) and existing is not node:
            for name, values in node.properties.items():
                existing.properties.setdefault(name, values)
            existing.types = existing.types or node.types

    def follow(self, node: Node) -> Node:
        """Return the node to which a bare reference points; return any other node unchanged."""
        if node.id is None or _has_properties(node):
            return node
        return self._by_id.get(node.id, node)

    def dereference(self, value: Value) -> Value:
        """Return the node with the id `value`; return any other value unchanged."""
        node = self._by_id.get(value) if isinstance(value, str) else None
        return node if node is not None and _has_properties(node) else value

    def find_nodes(self, types: frozenset[str]) -> Iterator[Node]:
        """Yield all nodes of one of `types` (lower case), at any depth, in order."""
        if not self.nodes:
            return iter(())
        if self._indexed_count != len(self.nodes):
            self._index_types()
        indexes = {index for name in types & self._by_type.keys() for index in self._by_type[name]}
        return (self.nodes[index] for index in sorted(indexes))

    def _index_types(self) -> None:
        self._by_type = {}
        self._indexed_count = len(self.nodes)
        for index, node in enumerate(self.nodes):
            for name in node.types:
                self._by_type.setdefault(name.lower(), []).append(index)


def _has_properties(node: Node) -> bool:
    return bool(node.properties)


def local_name(name: str) -> str:
    """Return a name without its vocabulary: `https://schema.org/Recipe` becomes `Recipe`."""
    if ":" in name or "/" in name:
        name = name.rstrip("/#")
        for separator in ("#", "/", ":"):
            if separator in name:
                name = name.rpartition(separator)[2]
    return name.strip()
