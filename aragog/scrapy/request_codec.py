"""
Requests of Scrapy as JSON, so that another process can continue with them.

Callbacks travel by name, as in Scrapy's own disk queues. What JSON does not have is marked by an
object with one key that begins with `!`: bytes, tuples, sets, items and tables whose keys are no
text. Pickles are not used: whoever can write to the broker could run code with them.

A request arrives as it was, or is refused. Subclasses of the known types are refused, because JSON
would turn them into their base: an `IntEnum` into a number, a `Counter` into a dict.
"""

from __future__ import annotations

import base64
import math
import reprlib
from collections.abc import Mapping
from typing import Any

import orjson
from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from aragog.errors import InvalidMessage

VERSION = 1
_PLAIN = frozenset({str, int, bool, type(None)})
_SETS: dict[type, str] = {set: "!set", frozenset: "!frozenset"}


def to_json(request: Request, spider: Spider, meta: Mapping[str, Any] | None = None) -> bytes:
    """
    Return the request as JSON, after rebuilding it once to prove that another process can.

    Args:
        request: what is sent.
        spider: has its callbacks.
        meta: added to the request's own.

    Raises:
        ValueError: a callback is not a method of the spider, or the request has a value that would
            not arrive equal and of the same type.
    """
    try:
        given = request.to_dict(spider=spider)
        given["meta"] = {**given["meta"], **(meta or {})}
        body = _encoded(given)
        rebuilt = from_json(body, spider)
        arrives = rebuilt.to_dict(spider=spider)
        is_same = type(rebuilt) is type(request) and arrives == given and _encoded(arrives) == body
    except ValueError:
        raise
    except Exception as error:  # of the project's classes, or of JSON: 64 bits, 254 levels
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not is_same:
        raise ValueError("it, or an item in it, would not arrive as it is")
    return body


def from_json(body: bytes, spider: Spider) -> Request:
    """
    Return the request.

    Raises:
        InvalidMessage: written by another version, or for another spider.
    """
    try:
        wire = orjson.loads(body)
        if wire["v"] != VERSION:
            raise ValueError(f"is of version {wire['v']}")
        return request_from_dict(_unpacked(wire["request"]), spider=spider)
    except Exception as error:  # constructors of the project may raise anything
        raise InvalidMessage("request", f"{type(error).__name__}: {error}") from error


def _encoded(fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"v": VERSION, "request": _packed(fields)})


def _packed(value: Any) -> Any:
    # Exact types: orjson and `isinstance` take a subclass for its base.
    kind = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is bytes:
        return {"!bytes": base64.b64encode(value).decode()}
    if kind is dict:
        return _packed_table(value)
    if kind is list:
        return [_packed(each) for each in value]
    if kind is tuple:
        return {"!tuple": [_packed(each) for each in value]}
    if kind in _SETS:
        # In an order of its own: equal sets may be iterated in different ones.
        return {_SETS[kind]: sorted((_packed(each) for each in value), key=orjson.dumps)}
    if not isinstance(value, dict) and ItemAdapter.is_item(value):
        return _packed_item(value)
    raise ValueError(f"{kind.__name__} is not sent to another process: {reprlib.repr(value)}")


def _packed_table(table: Mapping[Any, Any]) -> Any:
    if all(type(key) is str and not key.startswith("!") for key in table):
        return {key: _packed(value) for key, value in table.items()}
    return {"!table": [[_packed(key), _packed(value)] for key, value in table.items()]}


def _packed_item(item: Any) -> Any:
    kind = type(item)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if _item_class(name) is not kind:
        raise ValueError(f"{name} is not the name of this class of items")
    return {"!item": [name, _packed_table(dict(ItemAdapter(item)))]}


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((mark, inner),) = value.items()
        if mark.startswith("!"):
            return _marked(mark, inner)
    return {key: _unpacked(each) for key, each in value.items()}


def _marked(mark: str, inner: Any) -> Any:
    match mark:
        case "!tuple":
            return tuple(_unpacked(inner))
        case "!set":
            return set(_unpacked(inner))
        case "!frozenset":
            return frozenset(_unpacked(inner))
        case "!bytes":
            return base64.b64decode(inner)
        case "!table":
            return {_unpacked(key): _unpacked(value) for key, value in inner}
        case "!item":
            return _item_class(inner[0])(**_unpacked(inner[1]))
        case _:
            raise ValueError(f"{mark} is not known")


def _item_class(name: str) -> type:
    kind = load_object(name)
    if not isinstance(kind, type) or not ItemAdapter.is_item_class(kind):
        raise ValueError(f"{name} is no class of items")
    return kind
