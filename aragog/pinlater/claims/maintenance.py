"""A thread that sends acks, renews claims and reaps, even while the event loop is busy."""

from __future__ import annotations

import atexit
import logging
import random
import threading
from dataclasses import KW_ONLY, dataclass, field

from aragog.clock import Clock
from aragog.pinlater.claims.ack_buffer import AckBuffer
from aragog.pinlater.claims.reaper import Reaper
from aragog.pinlater.claims.renewer import ClaimRenewer

logger = logging.getLogger(__name__)

PERIOD_S = 0.25
REAP_EVERY_S = 1.0


@dataclass(slots=True, eq=False)
class ClaimMaintenance:
    """
    One daemon thread, started at the first claim.

    Args:
        renew_every_s: a third of the claim timeout, so that two renewals may fail.
    """

    acks: AckBuffer
    renewer: ClaimRenewer
    reaper: Reaper
    _: KW_ONLY
    renew_every_s: float
    clock: Clock
    _rng: random.Random = field(init=False, default_factory=random.Random)
    _thread: threading.Thread | None = field(init=False, default=None)
    _stopped: threading.Event = field(init=False, default_factory=threading.Event)

    def start(self) -> None:
        """Start the thread unless it was started before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pinlater-claims", daemon=True)
            self._thread.start()
            atexit.register(self.acks.flush)

    def _run(self) -> None:
        renewed_s = reaped_s = self.clock.monotonic_s()
        while not self._stopped.wait(PERIOD_S):
            now_s = self.clock.monotonic_s()
            try:
                self.acks.flush()
                # After a server returns, renew our claims before other workers reap them.
                if self.renewer.behind or now_s - renewed_s >= self.renew_every_s:
                    renewed_s = now_s
                    self.renewer.renew()
                if now_s - reaped_s >= REAP_EVERY_S:
                    # Jitter separates the rounds of different workers.
                    reaped_s = now_s + self._rng.uniform(-0.1, 0.1)
                    self.reaper.reap()
            except Exception:
                logger.exception("claim maintenance continues after an unexpected error")

    def stop(self) -> None:
        """Send pending acks and stop the thread; remaining claims will expire."""
        self.acks.flush()
        self._stopped.set()
        atexit.unregister(self.acks.flush)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)
