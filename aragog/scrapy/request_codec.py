"""
Requests of Scrapy as JSON, so that another process can continue with them.

Callbacks travel by name, as in Scrapy's own disk queues. What JSON does not have is marked by an
object with one key that begins with `!`: bytes, tuples, sets, items and tables whose keys are no
text. Pickles are not used: whoever can write to the broker could run code with them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

import orjson
from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from aragog.errors import InvalidMessage

VERSION = 1
_PLAIN = (str, int, float, bool, type(None))
_SEQUENCES: tuple[tuple[type, str], ...] = (
    (tuple, "!tuple"), (set, "!set"), (frozenset, "!frozenset"),
)  # fmt: skip


def to_json(request: Request, spider: Spider) -> bytes:
    """
    Return the request as JSON.

    Raises:
        ValueError: a callback is not a method of the spider, or `meta` or `cb_kwargs` have a value
            that no other process could use.
    """
    # pack first: a type that JSON knows only in part, such as a datetime, must not change silently.
    return orjson.dumps({"v": VERSION, "request": _packed(request.to_dict(spider=spider))})


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
    except (ValueError, LookupError, TypeError, AttributeError, ImportError) as error:
        raise InvalidMessage("request", f"{type(error).__name__}: {error}") from error


def _packed(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes):
        return {"!bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_packed(each) for each in value]
    for kind, mark in _SEQUENCES:
        if isinstance(value, kind):
            return {mark: [_packed(each) for each in cast("tuple[Any, ...]", value)]}
    if type(value) is dict:
        return _packed_table(value)
    if ItemAdapter.is_item(value):
        kind = type(value)
        fields = _packed_table(dict(ItemAdapter(value)))
        return {"!item": [f"{kind.__module__}.{kind.__qualname__}", fields]}
    raise ValueError(f"{type(value).__name__} cannot be sent to another process: {value!r:.100}")


def _packed_table(table: Mapping[Any, Any]) -> Any:
    if all(isinstance(key, str) and not key.startswith("!") for key in table):
        return {key: _packed(value) for key, value in table.items()}
    return {"!table": [[_packed(key), _packed(value)] for key, value in table.items()]}


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
    for kind, name in _SEQUENCES:
        if mark == name:
            return kind(_unpacked(inner))
    match mark:
        case "!bytes":
            return base64.b64decode(inner)
        case "!table":
            return {_unpacked(key): _unpacked(value) for key, value in inner}
        case "!item":
            return _item(inner[0], _unpacked(inner[1]))
        case _:
            raise ValueError(f"{mark} is not known")


def _item(name: str, fields: Mapping[str, Any]) -> Any:
    kind = load_object(name)
    if not isinstance(kind, type) or not ItemAdapter.is_item_class(kind):
        raise ValueError(f"{name} is no class of items")
    return kind(**fields)
