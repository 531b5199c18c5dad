"""The API's read routes: records, links, aliases, history and content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from aragog.api import reading
from aragog.api.batch_urls import present
from aragog.api.http import views
from aragog.api.http.calls import StoreCalls, has_tag, json_response, tagged
from aragog.api.http.parameters import (
    Query,
    json_object,
)
from aragog.api.http.records.batch_get import read_urls
from aragog.api.http.routes.fetches import Fetches
from aragog.api.http.routes.operations import OperationRoutes
from aragog.api.http.routes.ranges import byte_range
from aragog.api.json_values import from_query, request_of, to_json
from aragog.api.memory import GrowingBytes, MemoryLimit
from aragog.api.problems import unknown_url
from aragog.api.values import LinkPage, PastValue
from aragog.errors import BadInput
from aragog.options import checked
from aragog.urlstore.records import Content
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
        operations: makes the other reads.
        unsent: counts the large responses of all connections.
    """

    def __init__(
        self,
        calls: StoreCalls,
        fetches: Fetches,
        may_fetch: Callable[[Request], None],
        operations: OperationRoutes,
        unsent: MemoryLimit,
    ) -> None:
        self._unsent = unsent
        self._operations = operations
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
        checked(reading.GetRequest(url, fields))
        result, standby = await self._calls.read(views.read_url, url, fields, extras)
        if result is None:
            raise unknown_url()
        if standby:
            result["from_standby"] = True
        return tagged(request, result, result["version"])

    async def batch_get(self, request: Request) -> Response:
        """`POST /v1/urls:batchGet`: up to 1,000 records, with a separate result for each URL."""
        made = checked(request_of(reading.GetManyRequest, await json_object(request)))
        urls, fields, read = made.urls, made.fields, self._calls.read_store
        with GrowingBytes(self._unsent) as held:
            results = await self._calls.metadata(lambda _: read_urls(read, urls, fields, held))
            return json_response({"results": results})

    async def links(self, request: Request) -> Response:
        """`GET /v1/links`: a page of links, with a Link header to the next page (RFC 8288)."""
        texts = Query(request).texts()
        direction = texts.pop("direction", "") or "out"
        if direction not in ("in", "out"):
            raise BadInput("direction: must be in or out")
        made = checked(from_query(reading.LinksRequest, texts))
        operation = reading.inlinks if direction == "in" else reading.outlinks
        page: LinkPage = await self._operations.run(operation, made, request)
        results = to_json(page, self._calls.store.formats)
        if direction == "in":
            counted = reading.UrlRequest(made.url)
            results["count"] = await self._operations.run(reading.count_inlinks, counted, request)
        headers = {}
        if page.cursor:
            following = {
                "url": made.url,
                "direction": direction,
                "limit": made.limit,
                "cursor": page.cursor,
            }
            headers["Link"] = f'</v1/links?{urlencode(following)}>; rel="next"'
        return json_response(results, headers=headers)

    async def history(self, request: Request) -> Response:
        """`GET /v1/history`: earlier values of a field, newest first."""
        made = from_query(reading.HistoryRequest, Query(request).texts())
        values: list[PastValue] = await self._operations.run(reading.history, made, request)
        read = self._calls.store.formats.to_json
        past = [{"value": read(made.field, past.value), "at_ms": past.at_ms} for past in values]
        return json_response({"history": past})

    async def content(self, request: Request) -> Response:
        """`GET /v1/content`: the page's body as it was fetched."""
        url = Query(request).required("url")
        result = await self._calls.content(_stored_content, url)
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
        headers |= {"Cache-Control": "private, no-cache", "Content-Location": result.url}
        if is_current:
            return Response(b"", 304, headers)
        if part is None:
            return Response(result.body, 200, headers)
        begin, end = part
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(result.body)}"
        return Response(result.body[begin:end], 206, headers)


def _stored_content(store: UrlStore, url: str) -> Content | None:
    return present(store, url, store.content(url))
