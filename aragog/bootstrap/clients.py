"""Clients straight on the store that the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from aragog.api.auth.field_writers import FieldWriters
from aragog.api.operation import Parts
from aragog.bootstrap.fetching import batches, fetching, job_queues
from aragog.bootstrap.stores import url_store
from aragog.client import Aragog, Client
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
        jobs = job_queues(settings)
        parts = Parts(
            store=store,
            writers=FieldWriters(settings.serving.field_writers),
            enqueue=producer.enqueue,
            fetching=fetches,
            batches=batches(settings),
            jobs=jobs,
        )
        try:
            yield Client(DirectBackend(parts))
        finally:
            if jobs is not None:
                jobs.close()
