"""Run a page object on a stored page. All inputs come from the store, so no request is sent."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import andi
import orjson
from itemadapter import ItemAdapter
from url_matcher import URLMatcher
from web_poet import (
    AnyResponse,
    HttpResponse,
    HttpResponseHeaders,
    ItemPage,
    PageParams,
    RequestUrl,
    ResponseUrl,
    Stats,
    default_registry,
)
from web_poet.pages import is_injectable
from web_poet.utils import ensure_awaitable

from aragog.errors import ConfigError
from aragog.urlstore.records import Content

_PROVIDED = frozenset({AnyResponse, HttpResponse, PageParams, RequestUrl, ResponseUrl, Stats})
_WIRE_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_NAME = re.compile(r"[\w./-]+:\w+")


class PageObject:
    """
    A page object class, applied to stored pages.

    Args:
        name: `package.module:Class`; modules in the current folder are found too.

    Raises:
        ConfigError: there is no such class, it is not a page object, or it requires an input that
            stored pages cannot provide, such as an HTTP client.
    """

    def __init__(self, name: str) -> None:
        self._class = _load_class(name)
        try:
            self._plan = andi.plan(
                self._class, is_injectable=is_injectable, externally_provided=_PROVIDED,
                full_final_kwargs=True,
            )  # fmt: skip
        except andi.NonProvidableError as error:
            raise ConfigError(
                f"--page-object {name}: stored pages cannot provide its inputs: {error}"
            ) from None
        rules = [rule for rule in default_registry.get_rules() if rule.use is self._class]
        patterns = dict(enumerate(rule.for_patterns for rule in rules))
        self._matcher = URLMatcher(patterns) if patterns else None
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Close the event loop that runs the page object's methods."""
        self._runner.close()

    def applies_to(self, url: str) -> bool:
        """True if the class has no `handle_urls` patterns, or one of them matches the URL."""
        return self._matcher is None or self._matcher.match(url) is not None

    def item(self, content: Content) -> dict[str, Any]:
        """
        Return the item that the class extracts from a page, as plain values.

        Raises:
            Exception: whatever the class raises.
        """
        response = _response(content)
        inputs: dict[Any, Any] = {
            HttpResponse: response,
            AnyResponse: AnyResponse(response),
            RequestUrl: RequestUrl(content.url),
            ResponseUrl: response.url,
            PageParams: PageParams(),
            Stats: Stats(),
        }
        for input_class, arguments in self._plan.dependencies:
            if input_class not in inputs:
                build: Any = input_class
                inputs[input_class] = build(**arguments.kwargs(inputs))
        page: ItemPage[Any] = self._class(**self._plan.final_kwargs(inputs))
        return _plain_values(self._runner.run(_extract(page)))


async def _extract(page: ItemPage[Any]) -> Any:
    return await ensure_awaitable(page.to_item())  # type: ignore[no-untyped-call] # web-poet's own


def _plain_values(item: Any) -> dict[str, Any]:
    values = item if isinstance(item, dict) else ItemAdapter(item).asdict()
    plain: dict[str, Any] = orjson.loads(orjson.dumps(values, default=str))
    return plain


def _load_class(name: str) -> type[ItemPage[Any]]:
    module, _, attribute = name.partition(":")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--page-object: {name!r} is not MODULE:CLASS")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        page_class = getattr(import_module(module), attribute, None)
    except ImportError as error:
        raise ConfigError(f"--page-object {name}: {error}") from error
    if not (isinstance(page_class, type) and issubclass(page_class, ItemPage)):
        raise ConfigError(f"--page-object: {name} is not a web-poet page object")
    return page_class


def _response(content: Content) -> HttpResponse:
    meta = content.meta
    return HttpResponse(
        url=meta.get("url") or content.url,
        body=content.body,
        status=int(meta.get("status") or 200),
        headers=HttpResponseHeaders(_headers(meta)),
    )


def _headers(meta: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers. Content that was written without a fetch has only a Content-Type."""
    pairs = orjson.loads(meta.get("headers") or "[]")
    if not pairs and (content_type := meta.get("content_type")):
        pairs = [("Content-Type", content_type)]
    return [(name, value) for name, value in pairs if name.lower() not in _WIRE_HEADERS]
