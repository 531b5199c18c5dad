"""The thread of a fetch worker that releases URLs from the lines of their domains."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Self

from aragog.errors import TransientError

log = logging.getLogger(__name__)

# How often lines are looked for. A look costs one round trip for each server.
LOOK_EVERY_S = 0.1
# After an error of Redis or the broker.
TRY_AGAIN_S = 1.0


class Releasing:
    """
    Releases URLs until it is stopped; any number of processes may do so at once.

    Args:
        release: `ReleaseStage.run`.
        every_s: time between two looks.
    """

    def __init__(self, release: Callable[[], int], *, every_s: float = LOOK_EVERY_S) -> None:
        self._release = release
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="releasing", daemon=True)

    def start(self) -> Self:
        """Start the thread; it ends with the process."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop; returns when the look that is under way is over."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _run(self) -> None:
        wait_s = self._every_s
        while not self._stop.wait(wait_s):
            wait_s = self._every_s
            try:
                self._release()
            except TransientError as error:
                log.debug("no URL is released: %s", error)
                wait_s = TRY_AGAIN_S
            except Exception:
                # Without this thread, URLs would wait for ever.
                log.exception("no URL was released; it is tried again")
                wait_s = TRY_AGAIN_S
