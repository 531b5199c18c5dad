"""The API's read routes: records, links, aliases, history and content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.http import views
from aragog.api.http.calls import StoreCalls, has_tag, json_response, tagged
from aragog.api.http.parameters import (
    MOST_FIELDS,
    MOST_URLS,
    Query,
    json_object,
    optional_strings,
    strings,
)
from aragog.api.http.records.batch_get import read_urls
from aragog.api.http.routes.fetches import Fetches
from aragog.api.http.routes.ranges import byte_range
from aragog.api.problems import unknown_url
from aragog.errors import BadInput
from aragog.urlstore.store import UrlStore

# Fetched HTML is served from our origin: a browser must not run it as a page of this server.
_SANDBOX = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


class Reads:
    """
    The read routes over one UrlStore.

    Args:
        calls: runs store calls.
        fetches: answers reads that fetch.
        may_fetch: raises Problem if the request's token may only read.
    """

    def __init__(
        self, calls: StoreCalls, fetches: Fetches, may_fetch: Callable[[Request], None]
    ) -> None:
        self._calls = calls
        self._fetches = fetches
        self._may_fetch = may_fetch

    async def url(self, request: Request) -> Response:
        """`GET /v1/urls`: one record, with aliases, number of inlinks and last fetch."""
        query = Query(request)
        include = query.names("include")
        if include is not None and set(include) - set(views.EXTRAS):
            raise BadInput(f"include: must be some of {','.join(views.EXTRAS)}, or empty")
        extras = views.EXTRAS if include is None else include
        if "max_age" in query or "max_wait_ms" in query:
            self._may_fetch(request)
            return await self._fetches.read(request, query, extras)
        url, fields = query.required("url"), query.names("fields")
        result, standby = await self._calls.read(views.read_url, url, fields, extras)
        if result is None:
            raise unknown_url()
        if standby:
            result["from_standby"] = True
        return tagged(request, result, result["version"])

    async def batch_get(self, request: Request) -> Response:
        """`POST /v1/urls:batchGet`: up to 1,000 records, with a separate result for each URL."""
        body = await json_object(request)
        urls = strings(body, "urls", MOST_URLS)
        fields, read = optional_strings(body, "fields", MOST_FIELDS), self._calls.read_store
        results = await self._calls.metadata(lambda _: read_urls(read, urls, fields))
        return json_response({"results": results})

    async def links(self, request: Request) -> Response:
        """`GET /v1/links`: a page of links, with a Link header to the next page (RFC 8288)."""
        query = Query(request)
        url = query.required("url")
        direction = query.get("direction", "out") or "out"
        if direction not in ("in", "out"):
            raise BadInput("direction: must be in or out")
        limit = query.number("limit", 100, least=1, most=views.MOST_LINKS)
        results, _ = await self._calls.read(
            views.read_links, url, direction, limit, query.get("cursor")
        )
        headers = {}
        if results["cursor"]:
            following = {
                "url": url,
                "direction": direction,
                "limit": limit,
                "cursor": results["cursor"],
            }
            headers["Link"] = f'</v1/links?{urlencode(following)}>; rel="next"'
        return json_response(results, headers=headers)

    async def aliases(self, request: Request) -> Response:
        """`GET /v1/aliases`: URLs that lead to the same page."""
        result, _ = await self._calls.read(_aliases, Query(request).required("url"))
        return json_response({"aliases": result})

    async def history(self, request: Request) -> Response:
        """`GET /v1/history`: earlier values of a field, newest first."""
        query = Query(request)
        url, field = query.required("url"), query.required("field")
        formats = self._calls.store.formats
        values, _ = await self._calls.read(_history, url, field)
        return json_response(
            {
                "history": [
                    {"value": formats.to_json(field, value), "at_ms": at_ms}
                    for value, at_ms in values
                ]
            }
        )

    async def content(self, request: Request) -> Response:
        """`GET /v1/content`: the page's body as it was fetched."""
        url = Query(request).required("url")
        result = await self._calls.content(UrlStore.content, url)
        if result is None:
            raise unknown_url()
        tag = f'"{hashlib.blake2b(result.body, digest_size=16).hexdigest()}"'
        is_current = has_tag(request, tag)
        # RFC 9110, 13.2.2 and 14.2: ranges are for GET, and 304 comes before them.
        ranged = request.method == "GET" and not is_current
        fits = ranged and request.headers.get("if-range", tag) == tag
        part = byte_range(request.headers.get("range") if fits else None, len(result.body))
        kind = result.meta.get("content_type") or "application/octet-stream"
        clean = "".join(c for c in kind if c.isprintable() and c.isascii())
        headers = {**_SANDBOX, "Content-Type": clean, "Accept-Ranges": "bytes", "ETag": tag}
        headers["Cache-Control"] = "private, no-cache"
        if is_current:
            return Response(b"", 304, headers)
        if part is None:
            return Response(result.body, 200, headers)
        begin, end = part
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(result.body)}"
        return Response(result.body[begin:end], 206, headers)


def _aliases(store: UrlStore, url: str) -> list[str]:
    return store.aliases.of(url)


def _history(store: UrlStore, url: str, field: str) -> list[tuple[bytes, int]]:
    return store.pages.history(url, field)
