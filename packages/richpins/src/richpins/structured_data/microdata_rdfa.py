"""
Read microdata and RDFa Lite as nodes.

Both express the same structure with different attributes. An element starts an item, and the
elements inside it are the item's properties. The item that owns a property is found among the
element's ancestors, and is cached for each ancestor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins._plain_text import MAX_TEXT_CHARS, block_lines, displayed_text
from richpins._price_texts import is_former_price, price_text
from richpins.structured_data import jsonld
from richpins.structured_data.graph import Graph, Node, local_name
from richpins.structured_data.json_texts import is_json

MICRODATA = "microdata"
RDFA = "rdfa"
FORMER_PRICE = "formerprice"
"""This package's property name for a `price` that the page strikes out."""

MAX_MARKED_ELEMENTS = 20_000
MAX_REFERENCES = 200
"""Maximum number of ids in the `itemref` of one item."""
MAX_REFERENCED = 5_000
"""Maximum number of elements examined for all itemrefs of a page."""

MAX_VALUE_CHARS = 8_000_000
"""Maximum characters of markup read for all values. Markup in two properties counts twice."""

_MAX_NAME_CHARS = 200

_VALUE_ATTRIBUTES = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "source": "src",
    "track": "src", "video": "src", "a": "href", "area": "href", "link": "href",
    "object": "data", "data": "value", "meter": "value",
}  # fmt: skip
_MULTILINE_PROPERTIES = frozenset(
    {"recipeinstructions", "instructions", "ingredients", "recipeingredient", "step", "text"}
)
Attributes = dict[str, "str | None"]


@dataclass(slots=True)
class _MarkedElement:
    element: LexborNode
    attributes: Attributes
    names: list[str]
    """The names of the owner's properties that have this element as their value."""
    node: Node | None
    """The item that the element starts."""


def read_microdata(tree: LexborHTMLParser, graph: Graph) -> None:
    """Add the page's microdata items to `graph`."""
    builder = _ItemBuilder(graph, MICRODATA)
    for element in _without_duplicates(tree.css("[itemscope],[itemprop]")[:MAX_MARKED_ELEMENTS]):
        attributes = element.attributes
        names = (attributes.get("itemprop") or "").split()
        types = (attributes.get("itemtype") or "").split() if "itemscope" in attributes else None
        builder.add(element, attributes, names, types, attributes.get("itemid"))
    builder.assign_owners()
    builder.add_references(tree)
    builder.add_ownerless_recipe()
    builder.add_ownerless_product()


def read_rdfa(tree: LexborHTMLParser, graph: Graph) -> None:
    """Add the page's RDFa items to `graph`."""
    builder = _ItemBuilder(graph, RDFA)
    elements = tree.css("[typeof],[property],[rel][resource],[rel][typeof]")
    for element in _without_duplicates(elements[:MAX_MARKED_ELEMENTS]):
        attributes = element.attributes
        names = (attributes.get("property") or attributes.get("rel") or "").split()
        if element.tag == "meta" and names and ":" in names[0] and "typeof" not in attributes:
            prefix = names[0].partition(":")[0]
            if prefix not in {"schema", "s", "v", "http", "https"}:
                continue
        types = (attributes.get("typeof") or "").split() if "typeof" in attributes else None
        if not names and "typeof" in attributes:
            names = _hanging_rel(element)
        about = attributes.get("resource") or attributes.get("about")
        builder.add(element, attributes, names, types, about)
    builder.assign_owners()


def _without_duplicates(elements: list[LexborNode]) -> Iterator[LexborNode]:
    seen: set[int] = set()
    for element in elements:
        if element.mem_id not in seen:
            seen.add(element.mem_id)
            yield element


def _hanging_rel(element: LexborNode) -> list[str]:
    """Return the parent's `rel` (a "hanging rel"), unless the parent has an object itself."""
    parent_attributes = element.parent.attributes if element.parent is not None else {}
    if any(name in parent_attributes for name in ("href", "src", "resource", "typeof", "property")):
        return []
    return (parent_attributes.get("rel") or "").split()


class _ItemBuilder:
    def __init__(self, graph: Graph, syntax: str) -> None:
        self.graph = graph
        self.syntax = syntax
        self.marked_elements: list[_MarkedElement] = []
        self.items_by_element: dict[int, _MarkedElement] = {}
        self.owners_by_ancestor: dict[int, _MarkedElement | None] = {}
        self.item_count = 0
        self.chars_left = MAX_VALUE_CHARS
        self.elements_by_target: dict[int, list[LexborNode]] = {}
        """Cached, because many items may refer to the same element."""

    def add(
        self,
        element: LexborNode,
        attributes: Attributes,
        names: list[str],
        types: list[str] | None,
        identifier: str | None,
    ) -> None:
        node = None
        if types is not None and not self.graph.check_full():
            node = Node(
                tuple(filter(None, map(local_name, types))),
                self.syntax,
                f"{self.syntax}[{self.item_count}]",
                self.graph,
                id=identifier,
            )
            self.item_count += 1
        marked = _MarkedElement(
            element, attributes, [local_name(name).lower() for name in names], node
        )
        self.marked_elements.append(marked)
        if node is not None:
            self.items_by_element[element.mem_id] = marked

    def assign_owners(self) -> None:
        """Assign each property to its owner. Items without an owner go to the top level."""
        for marked in self.marked_elements:
            owner = self._find_owner(marked.element)
            if owner is not None and owner.node is not None and marked.names:
                self._assign(owner.node, marked)
                if marked.node is not None:
                    marked.node.parent, marked.node.role = owner.node, marked.names[0]
            if marked.node is not None:
                self.graph.nodes.append(marked.node)
                if marked.node.parent is None:
                    marked.node.role = marked.names[0] if marked.names else ""
                    self.graph.roots.append(marked.node)
        for marked in self.marked_elements:
            if marked.node is not None and marked.node.id:
                self.graph.assign_id(marked.node, marked.node.id)
        for marked in self.marked_elements:
            if marked.node is not None and marked.names and not marked.node.properties:
                self._name_by_text(marked.node, marked.element)

    def _name_by_text(self, node: Node, element: LexborNode) -> None:
        """
        Use the text of an item without properties as its name: `<b itemprop=author
        itemscope>Ann</b>`. The address in its `href` or `content` becomes its ID.
        """
        if self.graph.follow(node) is node:
            attributes = element.attributes
            address = (attributes.get("href") or attributes.get("content") or "").strip()
            node.id = node.id or address or None
            text = displayed_text(element) or (attributes.get("content") or "").strip()
            if 0 < len(text) <= _MAX_NAME_CHARS:
                node.add("name", text)

    def add_ownerless_recipe(self) -> None:
        """
        Build a recipe from properties outside any item if one of them occurs only in recipes.

        Templates often lose their `itemscope`. Of a property that other types have too, only the
        first value is used, because later values may describe linked pages.
        """
        ownerless_elements = [
            m for m in self.marked_elements if m.names and self._find_owner(m.element) is None
        ]
        if self.graph.check_full() or not any(
            _RECIPE_PROPERTIES & set(m.names) for m in ownerless_elements
        ):
            return
        node = Node(("Recipe",), self.syntax, f"{self.syntax} without an item", self.graph)
        for marked in ownerless_elements:
            marked.names = [
                name
                for name in marked.names
                if name in _LIST_PROPERTIES
                or (
                    name in _RECIPE_PROPERTIES | _SINGLE_VALUE_PROPERTIES
                    and name not in node.properties
                )
            ]
            self._assign(node, marked)
        self.graph.nodes.append(node)
        self.graph.roots.append(node)

    def add_ownerless_product(self) -> None:
        """
        Collect properties of products outside any item, as `graph.ownerless_product`.

        It only completes a product that the page declares otherwise. If a property has several
        values, the page shows several products, and nothing is collected.
        """
        if any("itemref" in marked.attributes for marked in self.items_by_element.values()):
            return
        node = Node(("Product",), self.syntax, f"{self.syntax} without an item", self.graph)
        for marked in self.marked_elements:
            names = [name for name in marked.names if name in _PRODUCT_PROPERTIES]
            if names and self._find_owner(marked.element) is None:
                self._assign(node, replace(marked, names=names))
        if any(len(set(map(_comparable, values))) > 1 for values in node.properties.values()):
            return
        if node.properties:
            self.graph.ownerless_product = node

    def add_references(self, tree: LexborHTMLParser) -> None:
        """Add the properties in the elements to which an item's `itemref` refers."""
        referring = [m for m in self.items_by_element.values() if m.attributes.get("itemref")]
        if not referring:
            return
        elements_by_id = {node.attributes.get("id"): node for node in reversed(tree.css("[id]"))}
        elements_left = MAX_REFERENCED
        for marked in referring:
            for name in (marked.attributes.get("itemref") or "").split()[:MAX_REFERENCES]:
                target = elements_by_id.get(name) if elements_left > 0 else None
                if target is not None and marked.node is not None:
                    elements_left -= self._add_reference(target, marked, elements_left)

    def _add_reference(self, target: LexborNode, marked: _MarkedElement, elements_left: int) -> int:
        target_owner = self._find_owner(target)
        examined_count = 0
        if marked.node is None or target_owner is marked:
            return 0
        if target.mem_id not in self.elements_by_target:
            self.elements_by_target[target.mem_id] = target.css("[itemprop]")
        for element in self.elements_by_target[target.mem_id]:
            if examined_count >= elements_left:
                break
            examined_count += 1
            if (
                self._find_owner(element) is not target_owner
                or element.mem_id == marked.element.mem_id
            ):
                continue
            attributes = element.attributes
            names = [local_name(n).lower() for n in (attributes.get("itemprop") or "").split()]
            item = self.items_by_element.get(element.mem_id)
            self._assign(
                marked.node, _MarkedElement(element, attributes, names, item.node if item else None)
            )
            if item is not None and item.node is not None and item.node.parent is None:
                item.node.parent, item.node.role = marked.node, names[0] if names else ""
        return examined_count

    def _find_owner(self, element: LexborNode) -> _MarkedElement | None:
        """Return the closest item around `element`. Caches the owner for each ancestor."""
        path = []
        ancestor = element.parent
        owner: _MarkedElement | None = None
        while ancestor is not None:
            key = ancestor.mem_id
            if key in self.items_by_element:
                owner = self.items_by_element[key]
                break
            if key in self.owners_by_ancestor:
                owner = self.owners_by_ancestor[key]
                break
            path.append(key)
            ancestor = ancestor.parent
        for key in path:
            self.owners_by_ancestor[key] = owner
        return owner

    def _assign(self, node: Node, marked: _MarkedElement) -> None:
        for name in marked.names:
            if not name:
                continue
            if marked.node is not None:
                node.add(name, marked.node)
                continue
            values = self._read_values(marked, name)
            if name == "price" and is_former_price(marked.element):
                name = FORMER_PRICE  # noqa: PLW2901 - the same value under its real name
            for value in values:
                if isinstance(value, str) and name not in jsonld.PROSE and is_json(value):
                    jsonld.add_json(node, name, value)
                else:
                    node.add(name, value)

    def _reserve_chars(self, element: LexborNode) -> bool:
        """Subtract the element's markup from `chars_left`. Returns False if none are left."""
        if _has_only_text(element):
            return True
        if self.chars_left > 0:
            self.chars_left -= min(len(element.inner_html or ""), 4 * MAX_TEXT_CHARS)
            if self.chars_left <= 0:
                self.graph.problems.append(f"more than {MAX_VALUE_CHARS} characters of values")
        return self.chars_left > 0

    def _read_values(self, marked: _MarkedElement, name: str) -> Sequence[str | Node]:
        attributes = marked.attributes
        content = attributes.get("content")
        if content is not None:
            return [content.strip()] if content.strip() else []
        if self.syntax == RDFA and (reference := attributes.get("resource")):
            return [Node((), RDFA, f"{RDFA}:{reference}", self.graph, id=reference)]
        tag = marked.element.tag or ""
        if tag == "meta" and self.syntax == MICRODATA and (kind := attributes.get("itemtype")):
            return [kind]  # Google's documentation writes price types like this
        source = _VALUE_ATTRIBUTES.get(tag) if tag in _VALUE_ATTRIBUTES else None
        if source and attributes.get(source):
            value = (attributes[source] or "").strip()
            if not (tag in {"a", "area"} and name in _LINK_TEXT_PROPERTIES):
                return [value]
        if attributes.get("datetime"):
            return [(attributes["datetime"] or "").strip()]
        if tag in {"img", "source"}:
            lazy_urls = (attributes.get(name) for name in ("data-src", "data-lazy-src", "href"))
            return [value for value in lazy_urls if value][:1]
        if not self._reserve_chars(marked.element):
            return []
        if name in _INGREDIENT_PROPERTIES and not _contains_list(marked.element):
            return ["\n".join(block_lines(marked.element))]
        if name in _MULTILINE_PROPERTIES:
            return block_lines(marked.element)
        if name in _PRICE_PROPERTIES:
            return [text] if (text := price_text(marked.element)) else []
        text = displayed_text(marked.element)
        return [text] if text else []


def _comparable(value: str | Node) -> str:
    """Return a string by which two values of a property can be compared."""
    return str(value.first("name") or value.id) if isinstance(value, Node) else value


def _has_only_text(element: LexborNode) -> bool:
    child = element.child
    return child is None or (child.tag == "-text" and child.next is None)


def _contains_list(element: LexborNode) -> bool:
    inner = element.css("li,br,tr,dd")  # this also matches the element itself
    return any(child.mem_id != element.mem_id for child in inner)


_INGREDIENT_PROPERTIES = frozenset({"recipeingredient", "ingredients"})
_PRICE_PROPERTIES = frozenset({"price", "lowprice", "highprice", "minprice", "maxprice"})
_RECIPE_PROPERTIES = frozenset(
    {"recipeingredient", "ingredients", "recipeinstructions", "recipeyield", "cooktime"}
)
_LIST_PROPERTIES = frozenset(
    {"recipeingredient", "ingredients", "recipeinstructions", "recipecategory", "recipecuisine"}
)
_SINGLE_VALUE_PROPERTIES = frozenset(
    {"name", "author", "image", "nutrition", "aggregaterating", "preptime", "totaltime"}
)
_PRODUCT_PROPERTIES = frozenset(
    {
        "price", "pricecurrency", "availability", "itemcondition", "brand", "sku", "mpn", "gtin",
        "gtin8", "gtin12", "gtin13", "gtin14",
    }
)  # fmt: skip

_LINK_TEXT_PROPERTIES = frozenset(
    {
        "name", "author", "headline", "recipecategory", "recipecuisine", "brand", "keywords",
        "genre", "category", "articlesection", "publisher", "director", "actor", "creator",
        "telephone", "email", "description", "alternatename", "title", "address", "duns",
        "contributor", "editor", "manufacturer", "recipeingredient", "ingredients",
    }
)  # fmt: skip
"""A link with one of these properties has its text as value, although the standards use its URL."""
