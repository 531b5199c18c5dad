"""
Requests, items and responses as processed by aragog's Scrapy components.

Input, one of:

    request   `url` and other arguments; `class` of Scrapy's; `callback` is the name of a method of
              the spider, or `lambda`, `function`, `partial`, `other spider`
    item      its fields
    response  `status`, `headers` (a list of pairs), `body`, and `latin` for bytes in Latin-1

Texts that begin with `!` stand for values that TOML does not have, as in `SPECIAL`. The answers: a
request is `sent` or not, and when read again it has its `class`, `url`, `method`, `body`,
`callback`, `errback`, `priority`, `headers`, `cookies`, `flags`, and `meta` and `kwargs` as Python
prints them; an item is `json` or `refused`; a response has `class`, `encoding`, `text`, `headers`
and `flags`.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import scrapy
from parsel import Selector
from scrapy.http import HtmlResponse, JsonRequest, TextResponse, XmlRpcRequest
from scrapy.utils.request import fingerprint

from aragog.addons.scrapy.item_pipeline import value_json
from aragog.addons.scrapy.request_codec import from_json, to_json
from aragog.addons.scrapy.responses import build_response
from aragog.fetch_record.outcome import Fetched

CLASSES = {
    "Request": scrapy.Request, "FormRequest": scrapy.FormRequest,
    "JsonRequest": JsonRequest, "XmlRpcRequest": XmlRpcRequest,
}  # fmt: skip


class Lamp(scrapy.Item):
    """An item of the spider's package."""

    name = scrapy.Field()
    price = scrapy.Field()


@dataclass
class Chair:
    """Another one."""

    name: str = ""
    legs: object = 4


class OwnRequest(scrapy.Request):
    """A request of the spider's package."""


CLASSES["OwnRequest"] = OwnRequest


class LampSpider(scrapy.Spider):
    """The spider whose requests are sent."""

    name = "lamps"

    def parse_page(self, response, **kwargs):
        """A callback."""

    def failed(self, failure):
        """An errback."""

    def _parse_hidden(self, response):
        """A callback with a private name."""


class OtherSpider(scrapy.Spider):
    """Another one."""

    name = "others"

    def parse_other(self, response):
        """A callback."""


SPIDER, OTHER = LampSpider(), OtherSpider()


def a_function(response):
    """A callback that is not a method."""


CALLBACKS = {
    "lambda": lambda response: None, "function": a_function,
    "partial": functools.partial(a_function, None), "other spider": OTHER.parse_other,
}  # fmt: skip

SPECIAL = {
    "!bytes": b"\xff\x00", "!set": {1, 2}, "!tuple": (1, ("a", b"b")), "!none": None,
    "!huge": 2**70, "!long": 2**53 + 1, "!nan": float("nan"), "!infinite": float("inf"),
    "!decimal": Decimal("1.10"), "!time": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    "!date": date(2026, 1, 2), "!lock": threading.Lock(), "!generator": (n for n in range(3)),
    "!iterator": iter([1, 2]), "!lambda": lambda: 1, "!number keys": {1: "a", None: "b"},
    "!ordered": OrderedDict(a=1), "!default": defaultdict(list, a=[1]),
    "!lamp": Lamp(name="old", price=Decimal("2.50")), "!chair": Chair("red"),
    "!lamp of text": Lamp(name="old"), "!surrogate": "a\ud800b", "!object": object(),
    "!selector": Selector("<p>hi"), "!response": HtmlResponse("http://a.test/", body=b"<p>"),
    "!request": scrapy.Request("http://b.test/"), "!mark": {"!set": [1]}, "!nested": [[[[1]]]],
    "!spider": SPIDER, "!frozen": frozenset({"a"}), "!zero": -0.0, "!true": True,
    "!latin": "Käse".encode("latin-1"), "!empty": "",
}  # fmt: skip


def _value(given: Any) -> Any:
    if isinstance(given, str) and given in SPECIAL:
        return SPECIAL[given]
    if isinstance(given, dict):
        return {name: _value(each) for name, each in given.items()}
    return [_value(each) for each in given] if isinstance(given, list) else given


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The result for the input."""
    if "item" in given:
        return _item(_value(given["item"]))
    if "response" in given:
        return _response(given["response"])
    return _request(dict(given["request"]))


def _request(fields: dict[str, Any]) -> dict[str, Any]:
    kind = CLASSES[fields.pop("class", "Request")]
    fields = _value(fields)
    for name in ("callback", "errback"):
        if name in fields:
            fields[name] = CALLBACKS.get(fields[name]) or getattr(SPIDER, fields[name])
    request = kind(**fields)
    try:
        again = from_json(to_json(request, SPIDER), SPIDER)
    except ValueError as error:
        return {"sent": False, "why": str(error)}
    return {
        "sent": True, "class": type(again).__name__, "url": again.url, "method": again.method,
        "body": again.body.decode("latin-1"), "priority": again.priority,
        "callback": getattr(again.callback, "__name__", ""),
        "errback": getattr(again.errback, "__name__", ""),
        "headers": {n.decode(): [v.decode() for v in vs] for n, vs in again.headers.items()},
        "cookies": again.cookies, "flags": again.flags, "encoding": again.encoding,
        "meta": repr(again.meta), "kwargs": repr(again.cb_kwargs),
        "dont_filter": again.dont_filter, "same fingerprint": fingerprint(again)
        == fingerprint(request),
    }  # fmt: skip


def _item(value: Any) -> dict[str, Any]:
    try:
        return {"json": value_json(value).decode()}
    except ValueError as error:
        return {"refused": True, "why": str(error)}


def _response(given: Mapping[str, Any]) -> dict[str, Any]:
    url = given.get("url", "http://a.test/")
    body = given.get("latin", "").encode("latin-1") or given.get("body", "").encode()
    headers = tuple((name, value) for name, value in given.get("headers", ()))
    outcome = Fetched(url=url, status=given.get("status", 200), headers=headers, body=body)
    response = build_response(scrapy.Request(url), outcome)
    found = {
        "class": type(response).__name__, "status": response.status, "flags": response.flags,
        "headers": {n.decode(): [v.decode("latin-1") for v in response.headers.getlist(n)]
                    for n in response.headers},
    }  # fmt: skip
    if isinstance(response, TextResponse):
        found |= {"encoding": response.encoding, "text": response.text}
    return found
