"""
Read recipes and products in microformats as nodes: `h-recipe`, `h-product` and older formats.

Classes name the items and properties. Values are read as microformats2 defines
(https://microformats.org/wiki/microformats2-parsing): `p-` is a string, `u-` a URL, `dt-` a date or
duration, `e-` the lines of an element's text. The value of a nested item is its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins._plain_text import MAX_TEXT_CHARS, block_lines, spaced_text
from richpins.structured_data.graph import Graph, Node
from richpins.structured_data.words import MICROFORMATS

SYNTAX = "microformats"
MAX_ITEMS = 100
MAX_ELEMENTS = 2_000
_MAX_NESTING = 60
_TYPES_BY_CLASS = {
    "h-recipe": "Recipe",
    "hrecipe": "Recipe",
    "h-product": "Product",
    "hproduct": "Product",
}
_PROPERTIES_BY_CLASS = {
    "Recipe": {
        "p-name": "name", "fn": "name", "p-summary": "description", "summary": "description",
        "p-ingredient": "recipeingredient", "e-ingredient": "recipeingredient",
        "ingredient": "recipeingredient", "p-ingredients": "recipeingredient",
        "e-instructions": "recipeinstructions", "p-instructions": "recipeinstructions",
        "e-instruction": "recipeinstructions", "p-instruction": "recipeinstructions",
        "instructions": "recipeinstructions", "instruction": "recipeinstructions",
        "p-yield": "recipeyield", "yield": "recipeyield", "dt-duration": "totaltime",
        "duration": "totaltime", "dt-total-time": "totaltime", "totaltime": "totaltime",
        "dt-prep-time": "preptime", "preptime": "preptime", "dt-cook-time": "cooktime",
        "cooktime": "cooktime", "u-photo": "image", "photo": "image", "p-author": "author",
        "author": "author", "dt-published": "datepublished", "published": "datepublished",
        "p-category": "keywords", "tag": "keywords", "u-url": "url",
    },
    "Product": {
        "p-name": "name", "fn": "name", "u-photo": "image", "photo": "image", "p-brand": "brand",
        "brand": "brand", "p-category": "category", "category": "category",
        "e-description": "description", "p-description": "description",
        "description": "description", "u-url": "url", "url": "url", "u-identifier": "sku",
        "p-identifier": "sku", "identifier": "sku", "p-sku": "sku", "p-price": "price",
        "price": "price", "p-review": "aggregaterating", "review": "aggregaterating",
    },
}  # fmt: skip
_PROPERTY_PREFIX = re.compile(r"(?:p|u|dt|e)-")
"""Prefixes of microformats2 properties. Older formats have none."""
_DATE_PROPERTIES = frozenset({"totaltime", "preptime", "cooktime", "datepublished"})
_URL_PROPERTIES = frozenset({"image", "url"})
_MULTILINE_PROPERTIES = frozenset({"recipeinstructions", "description"})
_LIST_PROPERTIES = frozenset({"recipeingredient"})


def read(tree: LexborHTMLParser, graph: Graph) -> None:
    """Add the page's items to `graph`, except items of types that `graph` already contains."""
    known_types = {type_.lower() for node in graph.nodes for type_ in node.types}
    roots = tree.css(",".join(f".{name}" for name in MICROFORMATS))[:MAX_ITEMS]
    elements_left = MAX_ELEMENTS
    for index, root in enumerate(roots):
        type_ = next(filter(None, map(_TYPES_BY_CLASS.get, _class_names(root))), None)
        if type_ is None or type_.lower() in known_types or graph.check_full():
            continue
        node = graph.add_node((type_,), syntax=SYNTAX, position=f"{SYNTAX}[{index}]")
        is_prefixed = any(name[:2] == "h-" for name in _class_names(root))
        for element in _elements_of_item(root):
            elements_left -= 1
            if elements_left < 0:
                return
            for name in _class_names(element):
                if (
                    name in _PROPERTIES_BY_CLASS[type_]
                    and (_PROPERTY_PREFIX.match(name) is not None) == is_prefixed
                ):
                    _add_property(node, _PROPERTIES_BY_CLASS[type_][name], element)


def _class_names(element: LexborNode) -> list[str]:
    return (element.attributes.get("class") or "").split()


def _elements_of_item(root: LexborNode) -> Iterator[LexborNode]:
    """Yield an item's elements in document order, except those of nested items."""
    stack = [iter(root.iter())]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
            continue
        yield element
        if not _is_item(element) and len(stack) < _MAX_NESTING:
            stack.append(iter(element.iter()))


def _is_item(element: LexborNode) -> bool:
    return any(name[:2] == "h-" or name in {"vcard", "hreview"} for name in _class_names(element))


def _add_property(node: Node, name: str, element: LexborNode) -> None:
    if name == "aggregaterating":
        _add_rating(node, element)
    elif name == "price":
        offer = node.graph.add_node(
            ("Offer",), syntax=SYNTAX, position=f"{node.position}.price", parent=node, role="offers"
        )
        offer.add("price", _read_text(element))
        node.add("offers", offer)
    elif name in _URL_PROPERTIES:
        node.add(name, _read_url(element))
    elif name in _LIST_PROPERTIES:
        for row in element.css("li") or [element]:  # class `value` covers only part of an amount
            node.add(name, spaced_text(row))
    elif name in _MULTILINE_PROPERTIES:
        node.add(name, "\n".join(_read_lines(element))[:MAX_TEXT_CHARS])
    else:
        node.add(name, _read_date(element) if name in _DATE_PROPERTIES else _read_text(element))


def _add_rating(node: Node, element: LexborNode) -> None:
    """Add the average of an `h-review-aggregate`. A single review is not the product's rating."""
    if not {"h-review-aggregate", "hreview-aggregate"} & set(_class_names(element)):
        return
    rating = node.graph.add_node(
        ("AggregateRating",),
        syntax=SYNTAX,
        position=f"{node.position}.review",
        parent=node,
        role="aggregaterating",
    )
    for name, classes in _RATING_CLASSES.items():
        part = element.css_first(",".join(f".{class_name}" for class_name in classes))
        if part is not None:
            rating.add(name, _read_text(part))
    node.add("aggregaterating", rating)


_RATING_CLASSES = {
    "ratingvalue": ("p-average", "average", "p-rating", "rating"),
    "bestrating": ("p-best", "best"),
    "ratingcount": ("p-count", "count"),
}


def _read_lines(element: LexborNode) -> list[str]:
    items = element.css("li")
    return [" ".join(block_lines(item)) for item in items] if items else block_lines(element)


def _read_text(element: LexborNode) -> str:
    attributes = element.attributes
    if _is_item(element):
        name_element = element.css_first(".p-name,.fn")
        return spaced_text(name_element if name_element is not None else element)
    value_attributes = {
        "abbr": "title",
        "data": "value",
        "input": "value",
        "img": "alt",
        "area": "alt",
    }
    value = attributes.get(value_attributes.get(element.tag or "", ""))
    return value if value is not None else _read_value_class(element) or spaced_text(element)


def _read_value_class(element: LexborNode) -> str:
    """Return a property's value according to the value-class pattern; empty if there is none."""
    title_element = element.css_first(".value-title")
    if title_element is not None:
        return title_element.attributes.get("title") or ""
    return "".join(spaced_text(part) for part in element.css(".value"))


def _read_date(element: LexborNode) -> str:
    declared = element.attributes.get("datetime") if element.tag in {"time", "ins", "del"} else None
    return declared or _read_text(element)


def _read_url(element: LexborNode) -> str:
    for name in ("href", "src", "data", "value", "content"):
        value = element.attributes.get(name)
        if value:
            return value
    inner = element.css_first("img[src],a[href]")
    return (
        _read_url(inner)
        if inner is not None and inner.mem_id != element.mem_id
        else _read_text(element)
    )
