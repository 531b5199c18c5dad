"""Calls straight on a store, without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aragog.client.producer import Aragog
from aragog.client.store_client import Fetched
from aragog.pipeline.stages.enqueue import EnqueueResult
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

FetchNow = Callable[[str, Sequence[str] | None, int, float], Fetched]
"""(url, fields, max_wait_ms, max_age_s): `aragog.serving.fetching.Fetching`."""


class DirectBackend:
    """
    See `Backend`. The engine's own timeouts take the place of `limit_s`.

    Args:
        store: the store to read and write; not closed here.
        producer: enqueues.
        fetch: fetches for callers who wait.
    """

    def __init__(self, store: UrlStore, producer: Aragog, fetch: FetchNow) -> None:
        self._store = store
        self._producer = producer
        self._fetch = fetch

    def get_many(
        self,
        urls: Sequence[str],
        fields: Sequence[str] | None,
        *,
        facts: bool,  # noqa: ARG002 - they cost nothing here
        limit_s: float,  # noqa: ARG002 - as in all methods
    ) -> list[Record | None]:
        return self._store.get_many(urls, fields)

    def put(
        self,
        url: str,
        fields: Mapping[str, bytes],
        *,
        at_ms: int | None,
        if_version: str | None,
        limit_s: float,  # noqa: ARG002
    ) -> str:
        return self._store.put(url, fields, at_ms=at_ms, if_version=if_version)

    def delete_fields(self, url: str, names: Sequence[str], *, limit_s: float) -> None:  # noqa: ARG002
        self._store.delete_fields(url, names)

    def remove(self, url: str, *, limit_s: float) -> None:  # noqa: ARG002
        self._store.remove(url)

    def content(self, url: str, *, limit_s: float) -> bytes | None:  # noqa: ARG002
        found = self._store.content(url)
        return None if found is None else found.body

    def watch(self, url: str, owner: str, *, limit_s: float) -> None:  # noqa: ARG002
        self._store.schedule.watch(url, owner)

    def unwatch(self, url: str, owner: str, *, limit_s: float) -> None:  # noqa: ARG002
        self._store.schedule.unwatch(url, owner)

    def fetch(
        self,
        url: str,
        fields: Sequence[str] | None,
        *,
        max_wait_ms: int,
        max_age_s: float,
        limit_s: float,  # noqa: ARG002
    ) -> Fetched:
        return self._fetch(url, fields, max_wait_ms, max_age_s)

    def enqueue(
        self,
        urls: Sequence[str],
        *,
        priority: int,
        depth: int,
        refresh: bool,
        limit_s: float,  # noqa: ARG002
    ) -> list[EnqueueResult]:
        return self._producer.enqueue(urls, priority=priority, depth=depth, refresh=refresh)

    def close(self) -> None:
        return
