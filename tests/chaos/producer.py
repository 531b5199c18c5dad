"""A producer that keeps enqueueing while a fault is active."""

from __future__ import annotations

import threading
from collections import Counter

from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.errors import TRANSIENT
from aragog.settings import Settings

ACCEPTED = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)
CHUNK_SIZE = 20
INTERVAL_S = 0.5


class FaultProducer:
    """
    Enqueues some URLs every half second while a fault is active, in its own thread.

    Args:
        settings: the settings of the system under test.
        urls: the URLs to enqueue; `pending` holds the ones not accepted yet.
        chunk_size: the number of URLs per call.
    """

    def __init__(self, settings: Settings, urls: list[str], chunk_size: int = CHUNK_SIZE) -> None:
        self.pending = urls
        self._chunk_size = chunk_size
        self.accepted: list[str] = []
        self.refused: Counter[str] = Counter()
        """Number of refused calls, keyed by error."""
        self.unexpected_errors: list[str] = []
        """Errors that the documentation does not tell producers to expect."""
        self._settings = settings
        self._fault = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-producer", daemon=True)
        self._thread.start()

    def begin_fault(self) -> None:
        """Start enqueueing. Call this when the fault begins."""
        self._fault.set()

    def end_fault(self) -> None:
        """Stop enqueueing. Call this when the fault is over; a call in progress still completes."""
        self._fault.clear()

    def stop(self) -> list[str]:
        """End the thread. Returns the URLs that were not accepted."""
        self._stopped.set()
        self._fault.set()
        self._thread.join()
        pending, self.pending = self.pending, []
        return pending

    def _run(self) -> None:
        with Aragog(self._settings) as client:
            while self._fault.wait() and self.pending and not self._stopped.wait(INTERVAL_S):
                if self._fault.is_set():
                    self._enqueue(client)

    def _enqueue(self, client: Aragog) -> None:
        chunk = self.pending[: self._chunk_size]
        try:
            results = client.enqueue(chunk)
        except TRANSIENT as error:
            self.refused[f"{type(error).__name__}: {error}"] += 1
        except Exception as error:
            self.unexpected_errors.append(repr(error))
        else:
            self.accepted += [r.input for r in results if r.status in ACCEPTED]
            self.pending[: len(chunk)] = [r.input for r in results if r.status not in ACCEPTED]
