"""
The rate limiter: grants slots (times to send) and send permits. For each domain, one Redis server
decides for all workers.

`reserve` plans: each request gets its domain's next free time, one interval after the previous one.
`acquire_permit` enforces the plan, because on a busy machine a sender may wake up milliseconds
late. When its connection is open, the sender acquires the domain's permit, which is granted one
interval after the previous request was written.

    pre-granted  the domain was idle when the slot was reserved, so the slot comes with its permit
    queued       other slots come first: the sender requests the permit, and reports after sending

If a sender dies, its permit expires after `PERMIT_TTL_US`. A pre-granted permit expires a quarter
of a second after `slot_window_ms`. Internal times are in microseconds on the server's clock; the
interface uses milliseconds (`…_ms`).
"""

from __future__ import annotations

import random
import secrets
import struct
from collections.abc import Iterable, Sequence
from functools import partial

from aragog.crawl.politeness.backlogs import Backlogs
from aragog.crawl.politeness.lines import Lines
from aragog.crawl.politeness.nodes import scripts
from aragog.crawl.politeness.nodes.node import LimiterNode, stopwatch_us
from aragog.crawl.politeness.nodes.record import LEASE_S
from aragog.crawl.politeness.nodes.ring import NodeRing
from aragog.crawl.politeness.nodes.scripts import ReservedSlot, SlotArguments
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.permits import WRITE_ALLOWANCE_US, Permits
from aragog.crawl.politeness.rates import Rates
from aragog.crawl.politeness.slots import (
    DomainReport,
    RateExceeded,
    Slot,
    SlotRequest,
    ceil_ms,
)
from aragog.observability.instruments import SLOTS
from aragog.runtime.clock import Clock, SystemClock
from aragog.runtime.secret import reveal
from aragog.settings import PolitenessSettings

# Consecutive errors before the backoff starts, and the maximum backoff factor in percent.
ERRORS_BEFORE_BACKOFF = 3
MAX_BACKOFF_PERCENT = 3_200
MAX_DOMAINS = 100_000
MAX_LEAD_S = 10.0  # a slot further ahead must come from a wrong clock
# About how long a stopped domain's URL waits before it is tried again.
STOPPED_RETRY_S = 300.0
_RESERVED_SLOTS = SLOTS.labels("reserved")


class Limiter:
    """
    One rate per domain for any number of workers. Thread-safe; may be used across a fork.

    >>> limiter = Limiter([redis_url], PolitenessSettings(qps=0.5))
    >>> key = limiter.key_for("http://www.shop.example/hat")
    >>> first, second = limiter.reserve([SlotRequest(key)] * 2)
    >>> key, first.wait_ms, round((second.at_ms - first.at_ms) / 1000)
    ('shop.example', 0, 2)

    Args:
        nodes: Redis URLs, until operators change the ring (`aragog.crawl.politeness.nodes.ring`).
        settings: rates, horizon and windows.
        overrides: the operator's rates and stops for domains.
        prefix: prefix of every key.
        clock: the callers' wall clock. Its `sleep_s` waits for slots and permits.
        lines: the queues of waiting requests, for reports, or None.
        shared: `redis.url`, which stores the ring's record; by default, the first of `nodes`.
        lease_s: how long a process may use the record of a new ring after reading it.

    Raises:
        ConfigError: a node is not a Redis URL. The constructor does not connect.

    Every method that calls a server raises `LimiterUnavailable` if it does not respond. The call
    may still have taken effect, which costs at most one slot.
    """

    def __init__(
        self,
        nodes: Sequence[str],
        settings: PolitenessSettings,
        overrides: Overrides | None = None,
        prefix: str = "aragog:",
        clock: Clock | None = None,
        lines: Lines | None = None,
        shared: str | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self._settings = settings
        self.rates = Rates(settings, overrides or Overrides())
        self._clock = clock or SystemClock()
        self._window_us = settings.slot_window_ms * 1000
        urls, hold_us = [reveal(url) for url in nodes], pre_granted_hold_us(settings)
        self._nodes = NodeRing(urls, prefix, hold_us, shared and reveal(shared), lease_s)
        self._backoff = Backoff(self._nodes)
        self.lines = lines
        self._backlogs = Backlogs(self._nodes, self.rates, lines)
        self.permits = Permits(self._nodes, self.rates, self._clock, self._window_us)

    def key_for(self, url: str) -> str:
        """Return the limiter key of a normalized URL; see `Rates.key_for`."""
        return self.rates.key_for(url)

    def interval_us(self, key: str, crawl_delay_s: float | None = None) -> float:
        """Return the interval from the rate or the Crawl-delay, whichever is longer."""
        return self.rates.interval_us(key, crawl_delay_s)

    def reserve(self, requests: Sequence[SlotRequest]) -> list[Slot | RateExceeded]:
        """
        Reserve a slot for each request, in the given order. Takes one round trip per node.

        Reserves nothing for requests that cannot wait until their slot.

        Safe to repeat: an unused slot costs its domain one interval.
        """
        result: list[Slot | RateExceeded | None] = [None] * len(requests)
        closed_keys = {key for key in {request.key for request in requests} if self.is_closed(key)}
        for index, request in enumerate(requests):
            if request.key in closed_keys:
                result[index] = self._closed_result(request.key)
        numbered_requests = (
            (request.key, (index, request))
            for index, request in enumerate(requests)
            if request.key not in closed_keys
        )
        for group, slots in self._nodes.call_each(numbered_requests, self._reserve_at):
            for (index, _), slot in zip(group, slots, strict=True):
                result[index] = slot
        return [slot for slot in result if slot is not None]

    def is_closed(self, key: str) -> bool:
        """
        Return True if `key` gets no requests now: an operator stopped it, or it has quiet hours.

        Uses the node's clock. Only the first call needs a round trip.
        """
        return self.rates.is_closed(key, self._nodes.node_for(key).now_us)

    def _closed_result(self, key: str) -> RateExceeded:
        # The waits vary, so that callers do not all return at once.
        wait_s = STOPPED_RETRY_S * random.uniform(0.8, 1.2)
        return RateExceeded(key, ceil_ms(self._nodes.node_for(key).now_us() + wait_s * 1e6))

    def _reserve_at(
        self, node: LimiterNode, numbered_requests: Sequence[tuple[int, SlotRequest]]
    ) -> list[Slot | RateExceeded]:
        requests = [request for _, request in numbered_requests]
        intervals = [self.interval_us(request.key, request.crawl_delay_s) for request in requests]
        tokens = _random_tokens(len(requests))
        now_us, replies = scripts.reserve(
            node,
            [request.key for request in requests],
            [
                self._slot_arguments(request, interval, token)
                for request, interval, token in zip(requests, intervals, tokens, strict=True)
            ],
        )
        return [
            self._to_slot(
                request,
                node=node.name,
                now_us=now_us,
                reserved=reply,
                interval_us=interval,
                token=token,
            )
            for request, interval, token, reply in zip(
                requests, intervals, tokens, replies, strict=True
            )
        ]

    def _slot_arguments(
        self, request: SlotRequest, interval_us: float, token: int
    ) -> SlotArguments:
        max_wait_ms = (
            self._settings.horizon_s * 1000 if request.max_wait_ms is None else request.max_wait_ms
        )
        needs_permit_request = request.for_other_process or self.rates.max_concurrent(request.key)
        return SlotArguments(
            interval_us, max_wait_ms * 1e3, 0 if needs_permit_request else token, request.urgent
        )

    def _to_slot(
        self,
        request: SlotRequest,
        *,
        node: str,
        now_us: float,
        reserved: ReservedSlot,
        interval_us: float,
        token: int,
    ) -> Slot | RateExceeded:
        key = request.key
        if reserved.is_failing:
            self._backoff.remember(key)
        if reserved.is_refused:
            return RateExceeded(key, ceil_ms(reserved.at_us))
        _RESERVED_SLOTS.add()
        wait_ms = ceil_ms(reserved.at_us - now_us)
        pre_granted_until_us = 0.0
        if reserved.is_pre_granted:
            pre_granted_until_us = reserved.at_us + self._window_us - WRITE_ALLOWANCE_US
            self.permits.hold(token)
        return Slot(
            key,
            reserved.at_us,
            wait_ms,
            interval_us,
            token,
            pre_granted_until_us,
            request.urgent,
            node,
        )

    def resume(
        self,
        key: str,
        slot_at_ms: int,
        crawl_delay_s: float | None = None,
        *,
        urgent: bool = False,
    ) -> Slot:
        """
        Return the slot for which a job was rescheduled, possibly in another process.

        Needs no round trip. Check `is_usable` first.
        """
        interval = self.interval_us(key, crawl_delay_s)
        node, at_us = self._nodes.node_for(key), slot_at_ms * 1000.0
        wait_ms = max(0, ceil_ms(at_us - node.now_us()))
        token = _random_tokens(1)[0]
        return Slot(key, at_us, wait_ms, interval, token, urgent=urgent, node=node.name)

    def slot_ahead(self, request: SlotRequest) -> Slot:
        """
        Return a slot one interval from now, ahead of all reserved slots. Its permit decides when to
        send.

        The caller must leave its reserved slot unused, so that the domain gets no more requests
        than planned. Only the first call needs a round trip.
        """
        interval = self.interval_us(request.key, request.crawl_delay_s)
        node = self._nodes.node_for(request.key)
        at_us = node.now_us() + interval
        return Slot(
            request.key, at_us, ceil_ms(interval), interval, _random_tokens(1)[0], node=node.name
        )

    def is_usable(self, slot_at_ms: int, key: str | None = None) -> bool:
        """
        Return True if a slot's window is still open. If not, reserve again.

        Returns False for a closed domain (`is_closed`), and for a slot more than `MAX_LEAD_S`
        ahead, because its domain has moved to a node with another clock.

        Uses the clock of the node for `key`, by default the first node's. Only the first call needs
        a round trip.
        """
        if key and self.is_closed(key):
            return False
        node = self._nodes.node_for(key) if key else self._nodes.first_node()
        late_us = node.now_us() - slot_at_ms * 1000
        return -MAX_LEAD_S * 1e6 <= late_us <= self._settings.slot_window_ms * 1000

    def utc_s(self, url: str) -> float:
        """
        Return the time of the node responsible for a URL, in seconds since the epoch.

        Only the first call needs a round trip.
        """
        return self._nodes.node_for(self.key_for(url)).now_us() / 1e6

    def record_latency(self, key: str, ms: float, address: str | None) -> None:
        """
        Record a response's latency; see `PendingLatencies.record`.

        Needs no round trip: it is reported with the next request to the domain.
        """
        if self.rates.max_latency_slowdown(key) > 1:
            self.permits.latencies.record(key, ms, address)

    def acquire_permit(self, slot: Slot) -> bool:
        """Wait for the permit to send, with the connection open; see `Permits.acquire`."""
        return self.permits.acquire(slot)

    def release_permit(self, slot: Slot, *, written: bool = True) -> None:
        """Report that the request was written, or will not be written; see `Permits.release`."""
        self.permits.release(slot, written=written)

    def end_request(self, slot: Slot) -> None:
        """End a request, sent or not; see `Permits.end_request`."""
        self.permits.end_request(slot)

    def wait_ms(self, key: str, at_ms: int) -> int:
        """
        Return the ms until a time that this limiter set for `key`; 0 if it has passed.

        Uses the clock of the node for `key`. Only the first call needs a round trip.
        """
        return max(0, ceil_ms(at_ms * 1000.0 - self._nodes.node_for(key).now_us()))

    def pause_until(self, key: str, until_ms: int) -> None:
        """Pause `key` until `until_ms` on the caller's clock; see `pause`."""
        self.pause(key, (until_ms - self._clock.now_ms()) / 1000)

    def pause(self, key: str, wait_s: float) -> None:
        """
        Grant no permits for `key` for `wait_s` seconds (Retry-After, 429, 503), at most for
        `politeness.horizon_s`.

        `wait_s` is a duration, because the clocks of caller and limiter may differ by hours. Takes
        one round trip. Safe to repeat: a pause only gets longer.
        """
        wait_us = min(wait_s, self._settings.horizon_s) * 1e6
        self._nodes.call_one(key, lambda node: self._pause_at(node, key, wait_us))

    def _pause_at(self, node: LimiterNode, key: str, wait_us: float) -> None:
        if not node.clock.is_known:
            node.read_time()
        until_us = node.clock.latest_us(stopwatch_us()) + wait_us
        self.permits.remember_pause(key, until_us)
        scripts.pause_until(node, key, until_us, self.interval_us(key))

    def report(self, key: str, ok: bool) -> None:
        self.report_many([(key, ok)])

    def report_many(self, reports: Iterable[tuple[str, bool]]) -> None:
        """Report whether requests succeeded; see `Backoff.report_many`."""
        self._backoff.report_many(reports)

    def describe(self, keys: Sequence[str]) -> dict[str, DomainReport]:
        """Return the state of domains; see `Backlogs.describe`."""
        return self._backlogs.describe(keys)

    def busiest_domains(self, count: int = 20) -> list[DomainReport]:
        """Return the domains with the longest queues; see `Backlogs.busiest_domains`."""
        return self._backlogs.busiest_domains(count)

    def failing_domains(self, count: int = 20) -> list[DomainReport]:
        """Return domains with errors; see `Backlogs.failing_domains`."""
        return self._backlogs.failing_domains(count)

    def close(self) -> None:
        """Send the remaining feedback and close the connections."""
        self.permits.close()
        self._nodes.close()


def pre_granted_hold_us(settings: PolitenessSettings) -> int:
    """Return how long a node holds a pre-granted permit. No other permit lasts longer."""
    return settings.slot_window_ms * 1000 + scripts.PERMIT_TTL_US - 2 * WRITE_ALLOWANCE_US


class Backoff:
    """How much errors slow down each domain. Thread-safe. Raises `LimiterUnavailable`."""

    def __init__(self, nodes: NodeRing) -> None:
        self._nodes = nodes
        self._failing: set[str] = set()

    def report_many(self, reports: Iterable[tuple[str, bool]]) -> None:
        """
        Report whether requests succeeded, to adjust their domains' backoff factors.

        Three consecutive errors halve the rate, and each further error halves it again, down to
        1/32. Each success reduces the factor by a quarter. Domains without errors need no round
        trip. Safe to repeat.
        """
        relevant_reports = [
            (key, (key, ok)) for key, ok in reports if not ok or key in self._failing
        ]
        for group, factors in self._nodes.call_each(
            relevant_reports,
            partial(
                scripts.report, errors_to_slow=ERRORS_BEFORE_BACKOFF, max_factor=MAX_BACKOFF_PERCENT
            ),
        ):
            for (key, _), factor in zip(group, factors, strict=True):
                if factor:
                    self.remember(key)
                else:
                    self._failing.discard(key)

    def remember(self, key: str) -> None:
        """Remember that a domain had recent errors, so that its successes are reported too."""
        if len(self._failing) > MAX_DOMAINS:
            self._failing.clear()  # the next slot of each domain adds it again
        self._failing.add(key)


def _random_tokens(count: int) -> list[int]:
    """Return random tokens, never 0. A collision only matters within one domain and second."""
    return [token or 1 for token in struct.unpack(f"<{count}I", secrets.token_bytes(4 * count))]
