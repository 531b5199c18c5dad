"""
Encode Scrapy requests as JSON, so that another process can run them.

Callbacks are stored by name, as in Scrapy's own disk queues. Bytes, tuples, sets, items, and dicts
whose keys are not strings are encoded as an object with one key that starts with `!`. Pickles are
not used, because anyone who can write to the broker could run code with them.

A request arrives unchanged or is refused. Subclasses such as `IntEnum` are refused, because JSON
would turn them into their base type.

A message cannot choose what code runs here. Request and item classes come from Scrapy, the packages
of the spider and `SPIDER_MODULES`, and the setting `ARAGOG_REQUEST_CLASSES`. Only the classes in
that setting are imported for a message. Callbacks are methods of the spider, and URLs are http or
https.
"""

from __future__ import annotations

import base64
import inspect
import math
import reprlib
import sys
from collections.abc import Mapping
from typing import Any

import orjson
from itemadapter import ItemAdapter
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest, XmlRpcRequest
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from aragog.errors import InvalidMessage

VERSION = 1
SETTING = "ARAGOG_REQUEST_CLASSES"
"""The Scrapy setting that lists additional request and item classes by their full names."""
_SCHEMES = ("http://", "https://")
_SCRAPY_CLASSES: dict[str, type[Request]] = {
    f"{kind.__module__}.{kind.__qualname__}": kind
    for kind in (Request, FormRequest, JsonRequest, XmlRpcRequest)
}
_JSON_TYPES = frozenset({str, int, bool, type(None)})
_SETS: dict[type, str] = {set: "!set", frozenset: "!frozenset"}


def to_json(request: Request, spider: Spider, meta: Mapping[str, Any] | None = None) -> bytes:
    """
    Return the request as JSON, after checking that it can be rebuilt.

    Args:
        request: the request to send.
        spider: its methods are the request's callbacks.
        meta: added to the request's own `meta`.

    Raises:
        ValueError: a callback is not a method of the spider, or a value would not arrive with the
            same type and value.
    """
    try:
        fields = request.to_dict(spider=spider)
        fields["meta"] = {**fields["meta"], **(meta or {})}
        body = _encode(fields)
        rebuilt = from_json(body, spider)
        rebuilt_fields = rebuilt.to_dict(spider=spider)
        is_same = (
            type(rebuilt) is type(request)
            and rebuilt_fields == fields
            and _encode(rebuilt_fields) == body
        )
    except ValueError:
        raise
    # raised by the project's classes or for JSON's limits (64 bits, 254 levels)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not is_same:
        raise ValueError("the request, or an item in it, would change in transit")
    return body


def from_json(body: bytes, spider: Spider) -> Request:
    """
    Rebuild a request from its JSON.

    Raises:
        InvalidMessage: the request cannot be rebuilt, for example because another version wrote it
            or because it is for another spider.
    """
    try:
        wire = orjson.loads(body)
        if wire["v"] != VERSION:
            raise ValueError(f"has version {wire['v']}")
        return _rebuild(wire["request"], spider)
    except Exception as error:  # the project's constructors may raise anything
        raise InvalidMessage("request", f"{type(error).__name__}: {error}") from error


def _rebuild(packed: dict[str, Any], spider: Spider) -> Request:
    classes = KnownClasses(spider)
    fields = _unpack(packed, classes)
    if not str(fields["url"]).lower().startswith(_SCHEMES):
        raise ValueError("its URL is neither http nor https")
    if "_class" in fields:
        fields["_class"] = classes.request(fields["_class"])
    for name in (fields.get("callback"), fields.get("errback")):
        if name is not None and not inspect.ismethod(getattr(spider, name, None)):
            raise ValueError(f"{name!r} is not a method of the spider")
    return request_from_dict(fields, spider=spider)


class KnownClasses:
    """The classes that a spider's requests and items may have."""

    def __init__(self, spider: Spider) -> None:
        settings = getattr(spider, "settings", None)
        self._class_names = (
            frozenset(settings.getlist(SETTING)) if settings is not None else frozenset()
        )
        modules = settings.getlist("SPIDER_MODULES") if settings is not None else []
        module_names = (type(spider).__module__, *modules)
        self._packages = frozenset(name.partition(".")[0] for name in module_names)

    def request(self, name: str) -> type[Request]:
        """Return a request class; raises ValueError for an unknown name."""
        request_class = _SCRAPY_CLASSES.get(name) or self._loaded_class(name)
        if not issubclass(request_class, Request):
            raise ValueError(f"{name} is not a request class")  # noqa: TRY004 - as documented
        return request_class

    def item(self, name: str) -> type:
        """Return an item class; raises ValueError for an unknown name."""
        item_class = self._loaded_class(name)
        if not ItemAdapter.is_item_class(item_class):
            raise ValueError(f"{name} is not an item class")
        return item_class

    def _loaded_class(self, name: str) -> type:
        module, _, attribute = str(name).rpartition(".")
        if name in self._class_names:
            loaded = load_object(name)
        elif module.partition(".")[0] in self._packages:
            loaded = vars(sys.modules.get(module)).get(attribute) if module in sys.modules else None
        else:
            raise ValueError(f"{name} is not in the spider's package; add it to {SETTING}")
        if not isinstance(loaded, type) or f"{loaded.__module__}.{loaded.__qualname__}" != name:
            raise ValueError(f"{name} is not the name of a class that this process has loaded")
        return loaded


def _encode(fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"v": VERSION, "request": _pack(fields)})


def _pack(value: Any) -> Any:
    # Compare exact types: orjson and `isinstance` accept subclasses.
    value_type = type(value)
    if value_type in _JSON_TYPES or (value_type is float and math.isfinite(value)):
        return value
    if value_type is bytes:
        return {"!bytes": base64.b64encode(value).decode()}
    if value_type is dict:
        return _pack_table(value)
    if value_type is list:
        return [_pack(each) for each in value]
    if value_type is tuple:
        return {"!tuple": [_pack(each) for each in value]}
    if value_type in _SETS:
        # Sort, because equal sets may have different orders.
        return {_SETS[value_type]: sorted((_pack(each) for each in value), key=orjson.dumps)}
    if not isinstance(value, dict) and ItemAdapter.is_item(value):
        return _pack_item(value)
    raise ValueError(
        f"{value_type.__name__} cannot be sent to another process: {reprlib.repr(value)}"
    )


def _pack_table(table: Mapping[Any, Any]) -> Any:
    if all(type(key) is str and not key.startswith("!") for key in table):
        return {key: _pack(value) for key, value in table.items()}
    return {"!table": [[_pack(key), _pack(value)] for key, value in table.items()]}


def _pack_item(item: Any) -> Any:
    item_class = type(item)
    name = f"{item_class.__module__}.{item_class.__qualname__}"
    return {"!item": [name, _pack_table(dict(ItemAdapter(item)))]}


def _unpack(value: Any, classes: KnownClasses) -> Any:
    if isinstance(value, list):
        return [_unpack(each, classes) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((mark, inner),) = value.items()
        if mark.startswith("!"):
            return _unpack_marked(mark, inner, classes)
    return {key: _unpack(each, classes) for key, each in value.items()}


def _unpack_marked(mark: str, inner: Any, classes: KnownClasses) -> Any:
    match mark:
        case "!tuple":
            return tuple(_unpack(inner, classes))
        case "!set":
            return set(_unpack(inner, classes))
        case "!frozenset":
            return frozenset(_unpack(inner, classes))
        case "!bytes":
            return base64.b64decode(inner)
        case "!table":
            return {_unpack(key, classes): _unpack(value, classes) for key, value in inner}
        case "!item":
            return classes.item(inner[0])(**_unpack(inner[1], classes))
        case _:
            raise ValueError(f"unknown mark {mark}")
