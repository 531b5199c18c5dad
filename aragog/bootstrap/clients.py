"""Clients straight on the store that the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from aragog.api.fetching import FetchRequest
from aragog.bootstrap.fetching import fetching
from aragog.bootstrap.stores import url_store
from aragog.client import Aragog, Client, FetchedPage
from aragog.client.direct_backend import DirectBackend
from aragog.settings import Settings, load_settings


@contextmanager
def open_client(settings: Settings | None = None) -> Iterator[Client]:
    """
    A client without a server: it opens the store and the broker itself, to read, write and enqueue.

    Its deadline ends retries, but not a call that has reached the store (`Client`).

    Args:
        settings: None means `load_settings()`.
    """
    settings = settings or load_settings()
    with (
        closing(url_store(settings)) as store,
        Aragog(settings) as producer,
        closing(fetching(settings, store, producer.enqueue)) as fetches,
    ):

        def fetch(
            url: str,
            fields: Sequence[str] | None,
            max_wait_ms: int,
            max_age_s: float,
            request_id: str,
        ) -> FetchedPage:
            fetched = fetches.fetch_now(
                FetchRequest(
                    url=url,
                    fields=fields,
                    max_wait_ms=max_wait_ms,
                    max_age_s=max_age_s,
                    request_id=request_id,
                )
            )
            return FetchedPage(
                url=fetched.url,
                state=fetched.state.value,
                record=fetched.record,
                age_s=fetched.age_s,
                fetching=fetched.fetching,
                reason=fetched.reason,
                report=store.pages.fetch_report(fetched.url),
            )

        yield Client(DirectBackend(store, producer, fetch))
