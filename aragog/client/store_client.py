"""
Read and write the UrlStore: one client for Thrift, HTTP, and the store itself.

The client checks URLs, repeats what failed for a passing reason, and keeps the deadline. A
`Backend` carries single calls.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from aragog.errors import TransientError
from aragog.fetcher.outcome import FetchRecord
from aragog.options import takes
from aragog.pipeline.stages.enqueue import EnqueueArguments, EnqueueResult
from aragog.urls.normalize import normalize
from aragog.urlstore.records import Record

T = TypeVar("T")

DEADLINE_S = 5.0
MOST_URLS = 1000
"""URLs that one call sends to a server."""
_FIRST_DELAY_S, _LAST_DELAY_S = 0.05, 1.0
_FETCH_MARGIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """The stored data of a URL after its fetch ended or the time limit passed."""

    url: str
    """Normalized."""
    state: str
    """`fresh`, `stale`, or `absent`: no page is stored."""
    record: Record | None = None
    age_s: float | None = None
    """Since the page was last confirmed; None: never."""
    fetching: bool = False
    """The fetch continues: a later call may return more."""
    reason: str | None = None
    """Why the URL is not fetched."""
    report: FetchRecord | None = None
    """The last fetch: outcome, headers, redirects, latencies."""


@dataclass(frozen=True, slots=True)
class FieldWrite:
    """Fields to set; see `Client.put`. The URL is normalized."""

    url: str
    fields: Mapping[str, bytes]
    at_ms: int | None
    if_version: str | None


class Backend(Protocol):
    """
    Carries single calls, each within `limit_s` seconds. URLs are normalized. Threads may share it.

    Every method raises BadInput, AccessDenied, TransientError for what may work later, and
    PermanentError for damaged data.
    """

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None, *, facts: bool, limit_s: float
    ) -> list[Record | None]:
        """The records of up to `MOST_URLS` URLs, in order."""

    def put(self, write: FieldWrite, *, limit_s: float) -> str:
        """Set fields; returns the new version. Raises VersionConflict."""

    def delete_fields(self, url: str, names: Sequence[str], *, limit_s: float) -> None:
        """Delete fields."""

    def remove(self, url: str, *, limit_s: float) -> None:
        """Remove the page."""

    def content(self, url: str, *, limit_s: float) -> bytes | None:
        """The page's content."""

    def watch(self, url: str, owner: str, *, limit_s: float) -> None:
        """Keep the page fresh."""

    def unwatch(self, url: str, owner: str, *, limit_s: float) -> None:
        """End a watch."""

    def fetch(
        self, url: str, fields: Sequence[str] | None, *, max_wait_ms: int, max_age_s: float,
        request_id: str, limit_s: float,
    ) -> FetchedPage:  # fmt: skip
        """Fetch now."""

    def enqueue(
        self, urls: Sequence[str], request: EnqueueArguments, *, limit_s: float
    ) -> list[EnqueueResult]:
        """Enqueue up to `MOST_URLS` URLs."""

    def close(self) -> None:
        """Close connections."""


class Client(AbstractContextManager["Client"]):
    """
    Reads and writes. Any number of threads may share it; create a new one after a fork.

    Every method accepts any spelling of a URL and raises

    - `InvalidUrl`, `BadInput`: the arguments are wrong; nothing was sent or written;
    - `AccessDenied`: the token lacks the scope;
    - `TransientError`: no success within `deadline_s`, after retries; a write may have happened;
    - `PermanentError`: damaged data.

    Args:
        backend: carries the calls.
        deadline_s: limit of each call, its retries included. Without a server it only ends the
            retries: a call that has reached the store takes as long as the store's own limits
            (`store.hbase_timeout_ms`, `content.s3_read_timeout_s`) allow.
    """

    def __init__(self, backend: Backend, *, deadline_s: float = DEADLINE_S) -> None:
        self._backend = backend
        self._deadline_s = deadline_s

    def get(
        self, url: str, fields: Sequence[str] | None = None, *, facts: bool = False
    ) -> Record | None:
        """
        The stored record of a URL; None if there is none.

        Args:
            url: in any spelling; aliases are followed.
            fields: which to read; None: all.
            facts: also the facts of the last fetch, when the next one is due, and size and hash of
                the content.
        """
        return self.get_many([url], fields, facts=facts)[0]

    def get_many(
        self, urls: Iterable[str], fields: Sequence[str] | None = None, *, facts: bool = False
    ) -> list[Record | None]:
        """`get` of each URL, in order; 1,000 in a request, each request with its own deadline."""
        normalized = [normalize(url) for url in urls]
        records: list[Record | None] = []
        for at in range(0, len(normalized), MOST_URLS):
            read = partial(
                self._backend.get_many, normalized[at : at + MOST_URLS], fields, facts=facts
            )
            records += self._repeated(lambda limit_s, read=read: read(limit_s=limit_s))  # type: ignore[misc]
        return records

    def put(
        self,
        url: str,
        fields: Mapping[str, bytes],
        *,
        at_ms: int | None = None,
        if_version: str | None = None,
    ) -> str:
        """
        Set fields; others stay. Returns the new version.

        Args:
            url: in any spelling.
            fields: name to value.
            at_ms: when the values were true; None: now. A server over HTTP knows only now.
            if_version: write only if the record has this version; "": only if there is none.

        Raises:
            VersionConflict: it has another version; nothing was written. Such a write is sent once.
        """
        write = FieldWrite(normalize(url), fields, at_ms, if_version)
        if if_version is not None:
            return self._backend.put(write, limit_s=self._deadline_s)
        return self._repeated(lambda limit_s: self._backend.put(write, limit_s=limit_s))

    def delete_fields(self, url: str, names: Iterable[str]) -> None:
        """Delete fields; names that the record does not have are ignored."""
        normalized, deleted = normalize(url), list(names)
        if deleted:
            self._repeated(
                lambda limit_s: self._backend.delete_fields(normalized, deleted, limit_s=limit_s)
            )

    def remove(self, url: str) -> None:
        """Remove the page until a later fetch brings it back."""
        normalized = normalize(url)
        self._repeated(lambda limit_s: self._backend.remove(normalized, limit_s=limit_s))

    def content(self, url: str) -> bytes | None:
        """The page's content as it was fetched; None if there is none."""
        normalized = normalize(url)
        return self._repeated(lambda limit_s: self._backend.content(normalized, limit_s=limit_s))

    def watch(self, url: str, owner: str) -> None:
        """Keep the URL's page fresh for `owner`. Fetches nothing itself."""
        normalized = normalize(url)
        self._repeated(lambda limit_s: self._backend.watch(normalized, owner, limit_s=limit_s))

    def unwatch(self, url: str, owner: str) -> None:
        """End a watch."""
        normalized = normalize(url)
        self._repeated(lambda limit_s: self._backend.unwatch(normalized, owner, limit_s=limit_s))

    def fetch(
        self,
        url: str,
        fields: Sequence[str] | None = None,
        *,
        max_wait_ms: int = 10_000,
        max_age_s: float = 0.0,
        request_id: str = "",
    ) -> FetchedPage:
        """
        Fetch a URL now, politely, and return what is stored then.

        Args:
            url: in any spelling.
            fields: which to read; None: all.
            max_wait_ms: how long to wait, 0 to 60,000; this replaces the deadline.
            max_age_s: do not fetch what was confirmed at most so long ago; 0: always fetch.
            request_id: names the fetch in the logs of all stages, if this call begins it; up to 64
                printable characters; empty: a new id.
        """
        normalized = normalize(url)
        ask = partial(
            self._backend.fetch,
            max_wait_ms=max_wait_ms,
            max_age_s=max_age_s,
            request_id=request_id,
        )
        return self._repeated(
            lambda limit_s: ask(normalized, fields, limit_s=limit_s),
            max_wait_ms / 1000 + _FETCH_MARGIN_S,
        )

    @takes(EnqueueArguments)
    def enqueue(self, urls: Iterable[str], arguments: EnqueueArguments) -> list[EnqueueResult]:
        """
        Enqueue URLs and return the result of each, in order; an invalid one does not affect others.

        1,000 go in one request.

        {arguments}
        """
        inputs: list[str] = list(urls)
        results: list[EnqueueResult] = []
        for at in range(0, len(inputs), MOST_URLS):
            send = partial(self._backend.enqueue, inputs[at : at + MOST_URLS], arguments)
            results += self._repeated(lambda limit_s, send=send: send(limit_s=limit_s))  # type: ignore[misc]
        return results

    def close(self) -> None:
        """Close connections."""
        self._backend.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _repeated(self, call: Callable[[float], T], deadline_s: float | None = None) -> T:
        """Call with the seconds that are left, until it succeeds or none are left."""
        until_s = time.monotonic() + (deadline_s or self._deadline_s)
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return call(until_s - time.monotonic())
            except TransientError as error:
                wait_s = max(delay_s * random.uniform(0.5, 1.5), getattr(error, "retry_after_s", 0))
                if time.monotonic() + wait_s >= until_s:
                    raise
                time.sleep(wait_s)
                delay_s = min(_LAST_DELAY_S, 2 * delay_s)
