"""
The arguments that a spider was created with, such as those of `scrapy crawl -a cat=lamps`.

Scrapy does not keep them. Processes with different arguments must not share requests, because a
request's callback runs on the claiming process's spider.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Spider
from scrapy.crawler import Crawler

MAX_SHOWN = 200
_arguments: MutableMapping[Crawler, Mapping[str, Any]] = WeakKeyDictionary()


def record_arguments() -> None:
    """
    Make all of this process's crawlers remember their spiders' arguments.

    This patches a private method of Scrapy's `Crawler`, if it exists.
    """
    create = getattr(Crawler, "_create_spider", None)
    if create is None or getattr(create, "records_arguments", False):
        return

    def create_spider(self: Crawler, *args: Any, **kwargs: Any) -> Spider:
        by_position = {f"argument {position}": value for position, value in enumerate(args, 1)}
        remember_arguments(self, {**by_position, **kwargs})
        spider: Spider = create(self, *args, **kwargs)
        return spider

    create_spider.records_arguments = True  # type: ignore[attr-defined]
    Crawler._create_spider = create_spider  # type: ignore[method-assign]  # noqa: SLF001


def remember_arguments(crawler: Crawler, arguments: Mapping[str, Any]) -> None:
    """Remember the arguments of a crawler's spider, for as long as the crawler exists."""
    _arguments[crawler] = arguments


def recorded_arguments(crawler: Crawler) -> Mapping[str, Any]:
    """Return the arguments by name; empty if they were not recorded."""
    return _arguments.get(crawler, {})


def comparable_arguments(crawler: Crawler) -> Mapping[str, Any]:
    """
    Return the arguments that all of a crawl's processes must have.

    Names that start with an underscore belong to tools: scrapyd passes a `_job` to each run.
    """
    arguments = recorded_arguments(crawler).items()
    return {name: value for name, value in arguments if not name.startswith("_")}


def spider_description(crawler: Crawler) -> str:
    """
    Return `<digest> <text>`, which identifies the spider's class and arguments.

    If JSON cannot represent a value, only its type is compared. The text has at most 200 characters
    of the arguments.
    """
    spider_class, arguments = crawler.spidercls, sorted(comparable_arguments(crawler).items())
    path = f"{spider_class.__module__}.{spider_class.__qualname__}"
    # orjson would reject large numbers and undecodable bytes.
    exact_json = json.dumps([path, arguments], default=lambda value: type(value).__qualname__)
    arguments_text = ", ".join(f"{name}={value}" for name, value in json.loads(exact_json)[1])
    text = f"{path} ({arguments_text[:MAX_SHOWN] or 'no arguments'})"
    digest = hashlib.sha256(exact_json.encode()).hexdigest()
    return f"{digest} {text.encode(errors='backslashreplace').decode()}"


def readable_description(description: str) -> str:
    """Return the human-readable part of a description."""
    return description.partition(" ")[2]
