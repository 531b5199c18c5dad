"""The routes of the read API: requests to values, errors to statuses, caps on what is in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson

from aragog.errors import AragogError, BadInput, TransientError
from aragog.serving import views
from aragog.serving.changes import PATH as CHANGES_PATH
from aragog.serving.changes import ChangesApi
from aragog.serving.http_protocol import Request, Response
from aragog.serving.openapi import DOCUMENT
from aragog.settings import ServingSettings
from aragog.urlstore.store import UrlStore

MOST_URLS = 1000


class Api:
    """
    Answers requests over one UrlStore.

    Args:
        store: read from.
        settings: caps and deadline.
        threads: where reads run; None: on the loop, which is right for the embedded engine, whose
            reads take some 15 µs.
        metrics: the text of /metrics.
    """

    def __init__(
        self,
        store: UrlStore,
        settings: ServingSettings,
        *,
        threads: ThreadPoolExecutor | None = None,
        metrics: Callable[[], bytes] = bytes,
    ) -> None:
        self._store = store
        self._settings = settings
        self._threads = threads
        self._metrics = metrics
        self._changes = ChangesApi(store, most_readers=settings.max_in_flight)
        self._in_flight = 0
        self.draining = False
        self._routes: dict[tuple[str, str], Callable[[Request], Any]] = {
            ("GET", "/v1/urls"): self._url,
            ("POST", "/v1/urls"): self._urls,
            ("GET", "/v1/links"): self._links,
            ("GET", "/v1/aliases"): self._aliases,
            ("GET", "/v1/history"): self._history,
            ("GET", "/v1/content"): self._content,
        }

    async def handle(self, request: Request) -> Response:
        """The answer; every failure has a status and a JSON body that says why."""
        method = "GET" if request.method == "HEAD" else request.method
        if method == "GET" and (plain := self._plain(request.path)) is not None:
            return plain
        if method == "GET" and request.path == CHANGES_PATH:
            return await self._changes.answer(request)
        route = self._routes.get((method, request.path))
        if route is None:
            return _error(404, f"no such path: {method} {request.path}; see /openapi.json")
        if self._in_flight >= self._settings.max_in_flight:
            return _error(503, "too many requests at once", ("Retry-After", "1"))
        self._in_flight += 1
        try:
            return await self._run(route, request)
        except BadInput as error:
            return _error(400, str(error))
        except TimeoutError:
            return _error(504, f"not answered within {self._settings.deadline_ms} ms")
        except TransientError as error:
            return _error(503, str(error), ("Retry-After", "1"))
        except AragogError as error:
            return _error(500, str(error))
        finally:
            self._in_flight -= 1

    async def _run(self, route: Callable[[Request], Any], request: Request) -> Response:
        if self._threads is None:
            found = route(request)
        else:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(self._settings.deadline_ms / 1000):
                found = await loop.run_in_executor(self._threads, partial(route, request))
        if isinstance(found, Response):
            return found
        if found is None:
            return _error(404, "nothing is known of this URL")
        return Response(200, orjson.dumps(found))

    def _plain(self, path: str) -> Response | None:
        if path == "/health":
            return Response(200, b'{"status":"alive"}')
        if path == "/ready":
            return (
                _error(503, "draining") if self.draining else Response(200, b'{"status":"ready"}')
            )
        if path == "/metrics":
            return Response(200, self._metrics(), "text/plain; version=0.0.4")
        if path == "/openapi.json":
            return Response(200, orjson.dumps(DOCUMENT))
        return None

    def _url(self, request: Request) -> Any:
        return views.read_url(self._store, _url(request), _fields(request.query.get("fields")))

    def _urls(self, request: Request) -> Any:
        try:
            asked = orjson.loads(request.body)
            urls, fields = asked["urls"], asked.get("fields")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f'the body must be {{"urls": [...], "fields": [...]}}: {error}'
            ) from error
        if not isinstance(urls, list) or len(urls) > MOST_URLS:
            raise BadInput(f"urls: must be a list of {MOST_URLS} at most")
        return {"urls": views.read_urls(self._store, [str(url) for url in urls], fields)}

    def _links(self, request: Request) -> Any:
        query = request.query
        direction = query.get("direction", "out")
        if direction not in ("in", "out"):
            raise BadInput("direction: must be in or out")
        limit = query.get("limit", "100")
        if not limit.isdigit() or not int(limit):
            raise BadInput("limit: must be a whole number above 0")
        return views.read_links(
            self._store, _url(request), direction, int(limit), query.get("cursor")
        )

    def _aliases(self, request: Request) -> Any:
        return {"aliases": self._store.aliases(_url(request))}

    def _history(self, request: Request) -> Any:
        field = request.query.get("field")
        if not field:
            raise BadInput("field: is required")
        values = self._store.history(_url(request), field)
        return {"history": [{"value": views.value(v), "at_ms": at_ms} for v, at_ms in values]}

    def _content(self, request: Request) -> Any:
        found = self._store.content(_url(request))
        if found is None:
            return None
        # Strangers' HTML under our own origin: never run as a page of it.
        guard = (
            ("Content-Security-Policy", "sandbox; default-src 'none'"),
            ("X-Content-Type-Options", "nosniff"),
        )
        kind = found.meta.get("content_type") or "application/octet-stream"
        clean = "".join(c for c in kind if c.isprintable() and c.isascii())
        return Response(200, found.body, clean, guard)


def _url(request: Request) -> str:
    url = request.query.get("url")
    if not url:
        raise BadInput("url: is required")
    return url


def _fields(text: str | None) -> list[str] | None:
    return None if text is None else [name for name in text.split(",") if name]


def _error(status: int, why: str, *headers: tuple[str, str]) -> Response:
    return Response(status, orjson.dumps({"error": why}), headers=headers)
