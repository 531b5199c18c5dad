"""A producer that enqueues while something is broken, as those of a running system do."""

from __future__ import annotations

import threading
from collections import Counter

from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.errors import TRANSIENT
from aragog.settings import Settings

ACCEPTED = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)
CHUNK = 20
EVERY_S = 0.5


class FaultProducer:
    """
    Enqueues some URLs every half second, from a thread of its own, while a fault lasts.

    Args:
        settings: of the system under test.
        urls: what it enqueues; `left` has those that were not accepted yet.
        chunk: how many at a time.
    """

    def __init__(self, settings: Settings, urls: list[str], chunk: int = CHUNK) -> None:
        self.left = urls
        self._size = chunk
        self.accepted: list[str] = []
        self.refused: Counter[str] = Counter()
        """How often a call was refused, by the error."""
        self.wrong: list[str] = []
        """Errors that a producer is not told to expect."""
        self._settings = settings
        self._fault = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-producer", daemon=True)
        self._thread.start()

    def fault(self) -> None:
        """Something is broken from now on."""
        self._fault.set()

    def healed(self) -> None:
        """Nothing is broken any more; a call in progress ends as it does."""
        self._fault.clear()

    def stop(self) -> list[str]:
        """End the thread; returns the URLs that it did not get accepted."""
        self._stopped.set()
        self._fault.set()
        self._thread.join()
        left, self.left = self.left, []
        return left

    def _run(self) -> None:
        with Aragog(self._settings) as client:
            while self._fault.wait() and self.left and not self._stopped.wait(EVERY_S):
                if self._fault.is_set():
                    self._enqueue(client)

    def _enqueue(self, client: Aragog) -> None:
        chunk = self.left[: self._size]
        try:
            results = client.enqueue(chunk)
        except TRANSIENT as error:
            self.refused[f"{type(error).__name__}: {error}"] += 1
        except Exception as error:
            self.wrong.append(repr(error))
        else:
            self.accepted += [r.input for r in results if r.status in ACCEPTED]
            self.left[: len(chunk)] = [r.input for r in results if r.status not in ACCEPTED]
