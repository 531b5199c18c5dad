"""
The arguments that a spider was created with, such as those of `scrapy crawl -a cat=lamps`.

Scrapy passes them to the constructor and keeps them nowhere. Processes with different arguments
must not share requests: a request's callback runs on the spider of whatever process claims it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Spider
from scrapy.crawler import Crawler

MOST_SHOWN = 200
_arguments: MutableMapping[Crawler, Mapping[str, Any]] = WeakKeyDictionary()


def record_arguments() -> None:
    """
    Have all crawlers of this process remember the arguments of their spiders.

    It replaces a method of Scrapy's `Crawler` that is not public, once. Without that method,
    nothing is recorded.
    """
    create = getattr(Crawler, "_create_spider", None)
    if create is None or getattr(create, "records_arguments", False):
        return

    def create_spider(self: Crawler, *args: Any, **kwargs: Any) -> Spider:
        by_position = {f"argument {place}": value for place, value in enumerate(args, 1)}
        remember_arguments(self, {**by_position, **kwargs})
        spider: Spider = create(self, *args, **kwargs)
        return spider

    create_spider.records_arguments = True  # type: ignore[attr-defined]
    Crawler._create_spider = create_spider  # type: ignore[method-assign]  # noqa: SLF001


def remember_arguments(crawler: Crawler, arguments: Mapping[str, Any]) -> None:
    """Remember the arguments of a crawler's spider, for as long as the crawler exists."""
    _arguments[crawler] = arguments


def arguments_of(crawler: Crawler) -> Mapping[str, Any]:
    """The arguments by name; empty if they were not recorded."""
    return _arguments.get(crawler, {})


def comparable_arguments(crawler: Crawler) -> Mapping[str, Any]:
    """
    The arguments that processes of a crawl must have in common.

    Names that begin with an underscore are those of tools: scrapyd passes a `_job` to each run.
    """
    given = arguments_of(crawler).items()
    return {name: value for name, value in given if not name.startswith("_")}


def description_of(crawler: Crawler) -> str:
    """
    The spider's class and arguments, as `<digest> <text>`: equal only for equal ones.

    Values that JSON does not have count by their type only. The text has at most 200 characters
    of the arguments.
    """
    kind, arguments = crawler.spidercls, sorted(comparable_arguments(crawler).items())
    path = f"{kind.__module__}.{kind.__qualname__}"
    # Not orjson: a large number or an undecodable byte of a command line is no error.
    exact = json.dumps([path, arguments], default=lambda value: type(value).__qualname__)
    shown = ", ".join(f"{name}={value}" for name, value in json.loads(exact)[1])
    text = f"{path} ({shown[:MOST_SHOWN] or 'no arguments'})"
    digest = hashlib.sha256(exact.encode()).hexdigest()
    return f"{digest} {text.encode(errors='backslashreplace').decode()}"


def text_of(description: str) -> str:
    """The text of a description, for people."""
    return description.partition(" ")[2]
