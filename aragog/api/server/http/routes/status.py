"""Routes that describe the server: index, documents, liveness, readiness and metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from aragog.api.problems import Overloaded, Problem, unavailable
from aragog.api.server.http.calls import StoreCalls, json_response
from aragog.api.server.http.etags import current_tag
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.http.pages.reference import reference_page
from aragog.crawl.identity.published_files import Publication
from aragog.errors import ALL
from aragog.urlstore.store import UrlStore

PROBE_URL = "http://readiness.invalid/"
_OPENAPI = orjson.dumps(DOCUMENT)
_PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    )
}


class Status:
    """
    The routes about the server.

    Args:
        calls: runs store calls.
        metrics: returns the text of /metrics.
    """

    def __init__(self, calls: StoreCalls, metrics: Callable[[], bytes]) -> None:
        self._calls = calls
        self._metrics = metrics
        self.draining = False
        """
        True while the server is stopping. Readiness checks then fail, so no new requests arrive.
        """

    async def index(self, _request: Request) -> Response:
        return json_response(
            {
                "name": "aragog",
                "docs": "/docs",
                "openapi": "/openapi.json",
                "health": "/healthz",
                "readiness": "/readyz",
                "metrics": "/metrics",
                "paths": list(DOCUMENT["paths"]),
            }
        )

    async def docs(self, _request: Request) -> Response:
        return HTMLResponse(_render_docs(), headers=_PAGE_HEADERS)

    async def openapi(self, _request: Request) -> Response:
        return Response(_OPENAPI, media_type="application/json")

    async def health(self, _request: Request) -> Response:
        """Respond to `GET /healthz`: the process is alive."""
        return json_response({"status": "alive"})

    async def ready(self, _request: Request) -> Response:
        """Respond to `GET /readyz`. Fails while the server is stopping or the store is down."""
        if self.draining:
            raise unavailable("the server is stopping")
        try:
            await self._calls.status(_probe)
        except (*ALL, TimeoutError, Overloaded) as error:
            raise unavailable(f"the store does not respond: {str(error) or 'too late'}") from error
        return json_response({"status": "ready"})

    async def metrics(self, _request: Request) -> Response:
        text = await self._calls.metrics(self._metrics)
        return Response(text, media_type="text/plain; version=0.0.4")


def _probe(store: UrlStore) -> None:
    """Make one small read. Raises the store's errors."""
    store.get(PROBE_URL, ())


@cache
def _render_docs() -> str:
    return reference_page(DOCUMENT)


class PublishedRoutes:
    """
    Returns the published documents about the crawler, without a token.

    Args:
        publication: the published files.
    """

    def __init__(self, publication: Publication) -> None:
        self._publication = publication
        self.paths = publication.paths

    async def respond(self, request: Request) -> Response:
        """Return the file, or 304 if the client already has it."""
        file = self._publication.files().get(request.url.path)
        if file is None:
            raise Problem(404, "this file is not published")
        headers = dict(file.headers)
        headers["ETag"] = f'"{hashlib.sha256(file.body).hexdigest()[:16]}"'
        if (matching_tag := current_tag(request, headers["ETag"])) is not None:
            unchanged = {"ETag": matching_tag, "Cache-Control": headers["Cache-Control"]}
            return Response(None, 304, unchanged)
        return Response(file.body, headers=headers)
