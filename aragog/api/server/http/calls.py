"""Run calls in threads for all routes, and build JSON responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from aragog.api.operations.operation import Pool
from aragog.api.operations.steps import Run
from aragog.api.operations.store_reads import HedgedResult, ReadStore, unhedged
from aragog.api.server.http.etags import body_tag, current_tag
from aragog.api.server.threads import CallThreads
from aragog.settings import ServingSettings
from aragog.urlstore.store import UrlStore

P = ParamSpec("P")
T = TypeVar("T")

MAX_FEED_THREADS = 4
MAX_BROKER_THREADS = 4
MAX_EXPLAIN_THREADS = 2
MAX_FETCH_THREADS = 8
"""
How many threads read the store and enqueue URLs for callers that wait for a fetch. The wait itself
needs no thread.
"""


class StoreCalls:
    """
    Runs calls on one UrlStore, each in a thread and with a deadline.

    Each kind of call has its own threads. Metadata can therefore be read while the content store or
    the broker hangs, and requests do not delay the readiness probe.

    Args:
        store: the store to read and write.
        settings: limits and deadlines.
        read: reads from a store with a standby; if None, `store` is read directly.
        embedded: True if the store responds without waiting for a network; see `CallThreads`.
    """

    def __init__(
        self,
        store: UrlStore,
        settings: ServingSettings,
        read: ReadStore | None = None,
        *,
        embedded: bool = True,
    ) -> None:
        self.store = store
        self.read_store = read or unhedged(store)
        self.settings = settings
        self.deadline_s = settings.deadline_ms / 1000
        self._content_deadline_s = settings.content_deadline_ms / 1000
        max_calls = settings.max_in_flight
        self._metadata = CallThreads("store", settings.threads, max_calls, eager=not embedded)
        self._content = CallThreads("content", settings.content_threads, max_calls)
        self._feed = CallThreads("feed", MAX_FEED_THREADS, max_calls)
        self._broker = CallThreads("broker", MAX_BROKER_THREADS, max_calls)
        self._fetching = CallThreads("fetching", MAX_FETCH_THREADS, max_calls)
        self._explaining = CallThreads("explaining", MAX_EXPLAIN_THREADS, 8)
        self._status = CallThreads("status", 1, 8)
        self._metrics = CallThreads("metrics", 1, 8)
        self._all_threads = (
            self._metadata,
            self._content,
            self._feed,
            self._broker,
            self._fetching,
            self._explaining,
            self._status,
            self._metrics,
        )

    @property
    def metadata_threads(self) -> CallThreads:
        """The threads for `metadata`. `ReadBatches` uses them as well."""
        return self._metadata

    async def metadata(
        self, call: Callable[Concatenate[UrlStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `call(store, ...)`. Raises Overloaded, TimeoutError and the store's errors."""
        return await self._metadata.run(partial(call, self.store, *args, **kwargs), self.deadline_s)

    async def read(
        self, call: Callable[Concatenate[UrlStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> HedgedResult:
        """Run `call(store, ...)` like `metadata`. If it is slow, also send it to the standby."""
        bound = partial(self.read_store, lambda store: call(store, *args, **kwargs))
        return await self._metadata.run(bound, self.deadline_s)

    async def content(
        self, call: Callable[Concatenate[UrlStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `call(store, ...)` in the threads for page content, with their longer deadline."""
        return await self._content.run(
            partial(call, self.store, *args, **kwargs), self._content_deadline_s
        )

    async def feed(
        self, call: Callable[Concatenate[UrlStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._feed.run(partial(call, self.store, *args, **kwargs), self.deadline_s)

    async def broker(self, call: Callable[[], T]) -> T:
        return await self._broker.run(call, self._content_deadline_s)

    async def fetching(self, call: Callable[[], T]) -> T:
        """Run one step of a fetch for a waiting caller. Each step reads the store or enqueues."""
        return await self._fetching.run(call, self._content_deadline_s)

    async def metrics(self, call: Callable[[], T]) -> T:
        """Collect metrics. This may take seconds if a component does not respond."""
        return await self._metrics.run(call, self._content_deadline_s)

    async def status(
        self, call: Callable[Concatenate[UrlStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._status.run(partial(call, self.store, *args, **kwargs), self.deadline_s)

    def runner(self, pool: Pool) -> Run:
        """Return a function that runs calls in a pool's threads, with its deadline."""
        return {
            Pool.STORE: self._with_deadline(self._metadata, self.deadline_s),
            Pool.CONTENT: self._with_deadline(self._content, self._content_deadline_s),
            Pool.FEED: self._with_deadline(self._feed, self.deadline_s),
            Pool.BROKER: self._with_deadline(self._broker, self._content_deadline_s),
            Pool.FETCH: self._with_deadline(self._fetching, self._content_deadline_s),
            Pool.EXPLAIN: self._with_deadline(self._explaining, self._content_deadline_s),
        }[pool]

    @staticmethod
    def _with_deadline(threads: CallThreads, deadline_s: float) -> Run:
        def run(call: Callable[[], T], /) -> Awaitable[T]:
            return threads.run(call, deadline_s)

        return run

    @property
    def running(self) -> int:
        """Number of running or waiting calls, including abandoned ones."""
        return sum(threads.call_count for threads in self._all_threads)

    def close(self) -> None:
        """Release the threads without waiting for running calls."""
        for threads in self._all_threads:
            threads.close()


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with a value as JSON."""
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(orjson.dumps(value), status, headers, media_type="application/json")


def tagged_response(request: Request, value: Any, version: str, **headers: str) -> Response:
    """
    Return a value as JSON with an ETag, or 304 if the client already has it.

    The tag consists of the record's version, which `If-Match` needs, and a hash of the body.
    """
    body = orjson.dumps(value)
    tag = body_tag(version, body)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", **headers}
    if (matching_tag := current_tag(request, tag)) is not None:
        return Response(None, 304, headers | {"ETag": matching_tag})
    return Response(body, 200, headers, media_type="application/json")
