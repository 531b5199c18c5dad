"""
A thread in a spider process that claims requests and reserves slots (their domain's turns) for
them.

This way, Scrapy's event loop never waits for Redis when it needs the next request.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from scrapy import Spider

from aragog.addons.scrapy.arrivals import RequestCheck
from aragog.addons.scrapy.crawl_state import LEASE_MS, CrawlState
from aragog.addons.scrapy.request_codec import from_json
from aragog.addons.scrapy.request_queue import ClaimedRequest, RequestQueue
from aragog.addons.scrapy.slot_lines import HeldRequest, Ready, SlotLines
from aragog.errors import TRANSIENT, InvalidMessage
from aragog.runtime.clock import Clock, SystemClock

log = logging.getLogger(__name__)
RENEWAL_INTERVAL_S = LEASE_MS / 4000
"""How often the process renews its membership."""
MAX_WAIT_S = 1.0
RETRY_DELAY_S = 1.0
MAX_LOGGED = 100


class Feeder(threading.Thread):
    """
    Keeps requests ready for the engine.

    Args:
        queue: the crawl's queue of requests.
        lines: holds the requests that this process has claimed.
        state: the crawl's state.
        spider: its methods are the requests' callbacks.
        check: checks incoming requests.
        max_held: maximum number of requests that the process may hold.
        free_count: returns how many more requests the engine could start now.
        wake_engine: makes the engine ask for requests; called in this thread.
    """

    def __init__(
        self,
        *,
        queue: RequestQueue,
        lines: SlotLines,
        state: CrawlState,
        spider: Spider,
        check: RequestCheck,
        max_held: int,
        free_count: Callable[[], int],
        wake_engine: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        super().__init__(name="aragog-feeder", daemon=True)
        self.ready: deque[Ready] = deque()
        self.inbox: deque[HeldRequest] = deque()
        """Requests that must stay in this process."""
        self._queue = queue
        self._lines = lines
        self._state = state
        self._spider = spider
        self._check = check
        self._max_held = max_held
        self._free_count = free_count
        self._wake_engine = wake_engine
        self._clock = clock or SystemClock()
        self._stop_event = threading.Event()
        self._processes = 1
        self._declined: set[str] = set()
        """Reasons why requests could not run here, each logged once."""
        self._renewed_at_s = float("-inf")

    def __len__(self) -> int:
        return len(self.ready) + len(self.inbox) + len(self._lines)

    def run(self) -> None:
        """Claim requests and find their slots until `stop` is called."""
        while not self._stop_event.is_set():
            try:
                self._step()
            except TRANSIENT as error:
                log.warning("requests are waiting: %s", error)
                self._stop_event.wait(RETRY_DELAY_S)
            except Exception:
                log.exception("requests are waiting because of an unexpected error")
                self._stop_event.wait(RETRY_DELAY_S)

    def stop(self) -> list[HeldRequest]:
        """Stop the thread. Returns the requests that it still holds."""
        self._stop_event.set()
        self._queue.wake()
        self.join()
        return [*self.inbox, *(ready.held for ready in self.ready), *self._lines.take_all()]

    def _step(self) -> None:
        self._renew_membership()
        while self.inbox:
            self._lines.add(self.inbox.popleft())
        for claimed in self._queue.take(self._capacity):
            self._add(claimed)
        for held, delay_ms in self._lines.take_surplus(self._processes):
            if held.tag is not None:
                self._queue.put_back(held.tag, delay_ms)
        if (free := self._free_count() - len(self.ready)) > 0:
            self.ready.extend(self._lines.take_ready(free))
        if self.ready or not len(self):
            # Without requests, the engine checks whether the crawl is over.
            self._wake_engine()
        self._wait()

    def _wait(self) -> None:
        wait_s = MAX_WAIT_S
        if self._free_count() > len(self.ready):
            wait_s = min(wait_s, self._lines.next_retry_s - self._clock.monotonic_s())
        if not self._stop_event.is_set():
            self._queue.wait(max(0.0, wait_s), max_jobs=self._capacity)

    @property
    def _capacity(self) -> int:
        return max(0, self._max_held - len(self))

    def _add(self, claimed: ClaimedRequest) -> None:
        try:
            request = from_json(claimed.body, self._spider)
        except InvalidMessage as error:
            self._decline(claimed.tag, str(error))
            return
        if reason := self._check(request):
            log.warning("%s was not sent: %s", request, reason)
            self._queue.fail(claimed.tag, reason)
            return
        self._lines.add(HeldRequest(request, claimed.tag))

    def _decline(self, tag: str, problem: str) -> None:
        # A process with another release of the project may be able to run the request.
        if problem not in self._declined and len(self._declined) < MAX_LOGGED:
            self._declined.add(problem)
            log.error("requests cannot run here and are offered to other processes: %s", problem)
        self._queue.decline(tag, problem)

    def _renew_membership(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._renewed_at_s >= RENEWAL_INTERVAL_S:
            self._renewed_at_s = now_s
            self._processes = self._state.join()
