"""A thread that releases waiting URLs (`aragog.crawl.stages.release`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Self

from aragog.errors import TRANSIENT

log = logging.getLogger(__name__)
CHECK_EVERY_S = 0.1
"""How often to look for waiting queues (lines) that are due. Takes one round trip per server."""
RETRY_S = 1.0
"""The wait after an error of Redis or the broker."""


class ReleaseThread:
    """
    Releases URLs until stopped. Any number of processes may have such a thread.

    Args:
        release: `ReleaseStage.run`.
        every_s: how often to check, in seconds.
    """

    def __init__(self, release: Callable[[], int], *, every_s: float = CHECK_EVERY_S) -> None:
        self._release = release
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="releasing", daemon=True)

    def start(self) -> Self:
        """Start the thread. It ends with the process."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the thread after the current check."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _run(self) -> None:
        wait_s = self._every_s
        while not self._stop.wait(wait_s):
            wait_s = self._every_s
            try:
                self._release()
            except TRANSIENT as error:
                log.debug("no URL is released: %s", error)
                wait_s = RETRY_S
            except Exception:
                # If the thread died, URLs would wait forever.
                log.exception("failed to release URLs; trying again")
                wait_s = RETRY_S
