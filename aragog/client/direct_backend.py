"""Calls straight on a store, without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aragog.client.producer import Aragog
from aragog.client.store_client import FetchedPage, FieldWrite
from aragog.options import given
from aragog.pipeline.stages.enqueue import EnqueueArguments, EnqueueResult
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

FetchNow = Callable[[str, Sequence[str] | None, int, float, str], FetchedPage]
"""(url, fields, max_wait_ms, max_age_s, request_id): `aragog.api.fetching.Fetching`."""


@dataclass(slots=True, eq=False)
class DirectBackend:
    """
    See `Backend`. Nothing enforces `limit_s`: the engine's own timeouts limit each call.

    Args:
        store: the store to read and write; not closed here.
        producer: enqueues.
        fetch_now: fetches for callers who wait.
    """

    store: UrlStore
    producer: Aragog
    fetch_now: FetchNow

    def get_many(
        self,
        urls: Sequence[str],
        fields: Sequence[str] | None,
        *,
        facts: bool,  # noqa: ARG002 - they cost nothing here
        limit_s: float,  # noqa: ARG002 - as in all methods
    ) -> list[Record | None]:
        return self.store.get_many(urls, fields)

    def put(self, write: FieldWrite, *, limit_s: float) -> str:  # noqa: ARG002
        return self.store.put(
            write.url, write.fields, at_ms=write.at_ms, if_version=write.if_version
        )

    def delete_fields(self, url: str, names: Sequence[str], *, limit_s: float) -> None:  # noqa: ARG002
        self.store.delete_fields(url, names)

    def remove(self, url: str, *, limit_s: float) -> None:  # noqa: ARG002
        self.store.remove(url)

    def content(self, url: str, *, limit_s: float) -> bytes | None:  # noqa: ARG002
        content = self.store.content(url)
        return None if content is None else content.body

    def watch(self, url: str, owner: str, *, limit_s: float) -> None:  # noqa: ARG002
        self.store.schedule.watch(url, owner)

    def unwatch(self, url: str, owner: str, *, limit_s: float) -> None:  # noqa: ARG002
        self.store.schedule.unwatch(url, owner)

    def fetch(
        self,
        url: str,
        fields: Sequence[str] | None,
        *,
        max_wait_ms: int,
        max_age_s: float,
        request_id: str,
        limit_s: float,  # noqa: ARG002
    ) -> FetchedPage:
        return self.fetch_now(url, fields, max_wait_ms, max_age_s, request_id)

    def enqueue(
        self,
        urls: Sequence[str],
        request: EnqueueArguments,
        *,
        limit_s: float,  # noqa: ARG002
    ) -> list[EnqueueResult]:
        return self.producer.enqueue(urls, **given(request))

    def close(self) -> None:
        return
