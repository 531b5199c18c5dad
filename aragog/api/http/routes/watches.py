"""The watch routes: list, begin and end the watches of a URL (docs/changes.md)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.http.calls import StoreCalls, json_response
from aragog.api.http.parameters import Query
from aragog.urlstore.store import UrlStore


class WatchRoutes:
    """The watch routes over one UrlStore."""

    def __init__(self, calls: StoreCalls) -> None:
        self._calls = calls

    async def list(self, request: Request) -> Response:
        """`GET /v1/watches`: the owners that watch the URL's page."""
        owners = await self._calls.metadata(_watchers, Query(request).required("url"))
        return json_response({"owners": owners})

    async def put(self, request: Request) -> Response:
        """`PUT /v1/watches`: keep the URL's page fresh for an owner; repeating it is harmless."""
        query = Query(request)
        await self._calls.metadata(_watch, query.required("url"), query.required("owner"))
        return Response(None, 204)

    async def delete(self, request: Request) -> Response:
        """`DELETE /v1/watches`: end an owner's watch; the stored page stays."""
        query = Query(request)
        await self._calls.metadata(_unwatch, query.required("url"), query.required("owner"))
        return Response(None, 204)


def _watchers(store: UrlStore, url: str) -> list[str]:
    return store.schedule.watchers(url)


def _watch(store: UrlStore, url: str, owner: str) -> None:
    store.schedule.watch(url, owner)


def _unwatch(store: UrlStore, url: str, owner: str) -> None:
    store.schedule.unwatch(url, owner)
