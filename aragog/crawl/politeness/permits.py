"""
Permits to send: one sender per domain at a time, at least one interval after the previous one.

A pre-granted permit comes with its slot (reserved time) and needs no round trip. Other permits are
requested from the domain's node. It grants them once the previous permit is released or has
expired.

Requests with a pre-granted permit, or to a domain with a very short interval, are sent without a
round trip. If this process knows that the domain is paused, because it reported the pause or read
the limiter's state, it requests a permit in these cases, too.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from aragog.crawl.politeness.feedback_queue import FeedbackQueue
from aragog.crawl.politeness.latencies import NO_LATENCY, Latency, PendingLatencies
from aragog.crawl.politeness.nodes import scripts
from aragog.crawl.politeness.nodes.node import LimiterNode, stopwatch_us
from aragog.crawl.politeness.nodes.ring import NodeRing
from aragog.crawl.politeness.rates import Rates
from aragog.crawl.politeness.slots import PERMIT_LEAD_US, PermitDecision, Slot, unpack_state
from aragog.observability.instruments import SLOT_LATENESS_SECONDS, SLOTS
from aragog.runtime.clock import Clock

# How many domains the cache of pauses holds. A full cache is cleared, and fills again within
# `PAUSE_CHECK_INTERVAL_US`.
MAX_DOMAINS = 10_000
# How often a process checks for pauses reported by others.
PAUSE_CHECK_INTERVAL_US = 100_000.0
# A sender that cannot write within this time requests its permit again. This is far below
# PERMIT_TTL_US: two requests can come too close together only if a process stalls for half a
# second after its last look at the clock and before the write.
WRITE_ALLOWANCE_US = 250_000
# Intervals up to this length are planned but not enforced, because they are within the tolerance.
MAX_UNENFORCED_INTERVAL_US = 2_000
# How much acquire_permit.lua shortens the interval of a domain whose requests are late.
CATCH_UP_US = 500
# How many times a report is sent again because its domain has moved to another node.
MAX_ATTEMPTS = 3
# The longest delay of reports that no sender waits for. They are sent in batches.
FEEDBACK_DELAY_S = 0.01
# If a domain's interval is at least this long, the next sender requests its permit only after the
# previous one has reported.
SLOW_INTERVAL_US = 40_000
_USED_SLOTS, _MISSED_SLOTS = (SLOTS.labels(event) for event in ("used", "missed"))
_LATENESS = SLOT_LATENESS_SECONDS.labels()


class Permits:
    """
    The permits of this process. Raises `LimiterUnavailable`.

    Args:
        nodes: the limiter's nodes by domain.
        rates: knows stopped domains and limits on concurrent requests.
        clock: its `sleep_s` waits for slots and permits.
        window_us: how long after its slot a permit may still be granted.
    """

    def __init__(
        self,
        nodes: NodeRing,
        rates: Rates,
        clock: Clock,
        window_us: int,
    ) -> None:
        self._nodes = nodes
        self._rates = rates
        self._clock = clock
        self._window_us = window_us
        self._pauses = Pauses()
        self._held: dict[int, None] = {}
        """The tokens of slots whose permits this process holds, oldest first."""
        self._sent_us: dict[str, float] = {}
        """When this process last wrote a request to each domain, on the monotonic clock."""
        self._feedback = FeedbackQueue(self.report, FEEDBACK_DELAY_S)
        self.latencies = PendingLatencies()
        """Latencies for the next report of each domain."""

    def hold(self, token: int) -> None:
        if len(self._held) > 100_000:
            self._held.pop(next(iter(self._held)), None)  # abandoned, so its permit expires
        self._held[token] = None

    def remember_pause(self, key: str, until_us: float) -> None:
        self._pauses.remember(key, until_us)

    def acquire(self, slot: Slot) -> bool:
        """
        Wait for the permit to send. Call it with the connection open.

        Returns True if the caller should send the request now and then call `release`. Returns
        False without a permit if it is too late, or if the domain is stopped or has quiet hours.
        Then reserve again.

        Sleeps until the slot, and then while another sender holds the permit, at most until
        `slot_window_ms` after the slot. A pre-granted permit needs no round trip; others need one
        or a few. A request repeated because its connection was closed needs a new permit, and waits
        one interval.
        """
        node = self._nodes.node_for(slot.key)
        if self._rates.is_closed(slot.key, node.now_us):
            return False
        slot = self._to_node_time(node, slot)
        is_planned_only = self._is_planned_only(slot)
        if is_planned_only:
            self._sleep_until(node, slot.at_us)
        is_paused = self._is_paused(slot, node, check=is_planned_only)
        if is_planned_only and not is_paused:
            return True
        if slot.pre_granted_until_us:
            may_use_pre_granted = (
                slot.token in self._held and not is_paused and self._nodes.is_current(node)
            )
            if (
                may_use_pre_granted
                and node.clock.latest_us(stopwatch_us()) < slot.pre_granted_until_us
            ):
                return True
            self._feedback.flush()  # otherwise the node would still wait for the earlier reports
        self._sleep_until(node, self._request_at_us(node, slot))
        while not self._rates.is_closed(slot.key, node.now_us):
            node, slot, decision = self._request(slot)
            if decision.verdict == "late":
                _MISSED_SLOTS.add()
                return False
            if decision.verdict == "wait" or self._is_too_early(node, decision.at_us):
                self._sleep_until(node, decision.at_us - PERMIT_LEAD_US)
                continue
            self._sleep_until(node, decision.at_us)
            is_in_time = node.clock.latest_us(stopwatch_us()) < decision.at_us + WRITE_ALLOWANCE_US
            # If the lease on the ring has ended, another node may have granted a permit for the
            # same time.
            if is_in_time and self._nodes.is_current(node):
                self.hold(slot.token)
                return True
        self.report([(slot, None)])
        return False

    def _to_node_time(self, node: LimiterNode, slot: Slot) -> Slot:
        """
        Return the slot with its times converted to the clock of `node`.

        A pre-granted permit from another node must be requested again. Otherwise the domain's new
        node would not know about the request.
        """
        if slot.node in ("", node.name):
            return slot
        offset_us = node.now_us() - self._nodes.server(slot.node).now_us()
        at_us = slot.at_us + offset_us
        return replace(slot, at_us=at_us, pre_granted_until_us=0.0, node=node.name)

    def _request_at_us(self, node: LimiterNode, slot: Slot) -> float:
        """
        Return when to request a slot's permit: not before the node can grant it.

        The node grants it one interval after the previous request, which may have been sent late.
        If another process sent the previous request, the node says when to ask again.
        """
        if slot.urgent:
            return slot.request_at_us
        sent_us = self._sent_us.get(slot.key)
        if sent_us is None:
            return slot.request_at_us
        free_us = node.clock.latest_us(sent_us) + slot.interval_us - CATCH_UP_US
        return max(slot.request_at_us, free_us - PERMIT_LEAD_US)

    def request(self, slot: Slot) -> PermitDecision:
        """Request a permit in one round trip, without sleeping."""
        return self._request(slot)[2]

    def _request(self, slot: Slot) -> tuple[LimiterNode, Slot, PermitDecision]:
        """
        Request a permit. Returns the deciding node, the slot with times on that node's clock, and
        the decision.
        """
        max_concurrent = self._rates.max_concurrent(slot.key) or 0

        def request_from(node: LimiterNode) -> tuple[LimiterNode, Slot, PermitDecision]:
            node_slot, late_us = self._to_node_time(node, slot), self._window_us
            decision = scripts.acquire_permit(
                node, node_slot, max_concurrent=max_concurrent, window_us=late_us
            )
            return node, node_slot, decision

        return self._nodes.call_one(slot.key, request_from)

    def release(self, slot: Slot, *, written: bool = True) -> None:
        """
        Report that the request was written, and release the permit.

        If the permit was pre-granted or the domain has long intervals, the report is sent in a
        batch within 10 ms. Otherwise it is sent immediately, because the next sender waits for it.
        Pass `written=False` if the connection broke before the request.
        """
        written_us = stopwatch_us() if written else None
        if written_us is not None:
            _USED_SLOTS.add()
            _LATENESS.observe(max(0.0, self._lateness_us(slot, written_us) / 1e6))
            if len(self._sent_us) >= MAX_DOMAINS:
                self._sent_us.clear()
            self._sent_us[slot.key] = written_us
        was_held = slot.token in self._held
        self._held.pop(slot.token, None)
        if not was_held and self._is_planned_only(slot):
            return
        if slot.pre_granted_until_us or slot.interval_us >= SLOW_INTERVAL_US:
            self._feedback.add((slot, written_us))
        else:
            self.report([(slot, written_us)])

    def _lateness_us(self, slot: Slot, written_us: float) -> float:
        node = self._nodes.server(slot.node) if slot.node else self._nodes.last_known_node(slot.key)
        return node.clock.latest_us(written_us) - slot.at_us if node.clock.is_known else 0.0

    def report(self, sent_requests: Sequence[tuple[Slot, float | None]]) -> None:
        """
        Report when requests were written. This ends their permits.

        Each slot comes with the monotonic time after its request, or None if nothing was sent. The
        reports include the latencies recorded since the previous ones.
        """
        latencies = {slot.key: self.latencies.take(slot.key) for slot, _ in sent_requests}

        def send(node: LimiterNode, group: Sequence[tuple[Slot, float | None]]) -> None:
            permit_reports = [
                self._permit_report(
                    node, sent_request, latencies.pop(sent_request[0].key, NO_LATENCY)
                )
                for sent_request in group
            ]
            for index in scripts.release_permits(node, permit_reports):
                latencies[permit_reports[index].slot.key] = permit_reports[index].latency
                unreported.append(group[index])

        for _ in range(MAX_ATTEMPTS):
            unreported: list[tuple[Slot, float | None]] = []
            self._nodes.call_each(
                ((sent_request[0].key, sent_request) for sent_request in sent_requests), send
            )
            if not unreported:
                return
            self._nodes.refresh()  # the domains of these reports have moved to another node
            sent_requests = unreported

    def _permit_report(
        self, node: LimiterNode, sent_request: tuple[Slot, float | None], latency: Latency
    ) -> scripts.PermitReport:
        slot, written_us = sent_request
        if not node.clock.is_known:
            node.read_time()
        at_us = 0.0 if written_us is None else node.clock.latest_us(written_us)
        return scripts.PermitReport(
            slot, at_us, latency, self._rates.max_latency_slowdown(slot.key)
        )

    def end_request(self, slot: Slot) -> None:
        """
        End a request, sent or not: release its permit and concurrency slot.

        Needs no round trip if the request holds no permit and its domain has no limit on concurrent
        requests. Safe to repeat.
        """
        if slot.token in self._held:
            self.release(slot, written=False)
        if self._rates.max_concurrent(slot.key):
            self._nodes.call_one(
                slot.key, lambda node: scripts.end_request(node, slot.key, slot.token)
            )

    @staticmethod
    def _is_too_early(node: LimiterNode, at_us: float) -> bool:
        """
        Return True if a permit is for a time so far ahead that the domain may be paused by then. It
        must be requested again later.
        """
        return node.clock.latest_us(stopwatch_us()) < at_us - scripts.MAX_GRANT_LEAD_US

    def _is_planned_only(self, slot: Slot) -> bool:
        return slot.interval_us <= MAX_UNENFORCED_INTERVAL_US and not self._rates.max_concurrent(
            slot.key
        )

    def _is_paused(self, slot: Slot, node: LimiterNode, *, check: bool) -> bool:
        """
        Return True if the domain is paused, so that every sender must request a permit.

        With `check`, also checks every 100 ms whether another process has paused it. This takes one
        round trip, and also reports the latencies that are otherwise sent with permits.
        """
        key, now_us = slot.key, node.now_us()
        if check and self._pauses.claim_check(key, now_us):
            if self.latencies.contains(key):
                self._feedback.add((slot, None))
            state = unpack_state(node.get_many([node.key("slot", key)])[0])
            if state.last_us > now_us:
                self._pauses.remember(key, state.last_us)
        return self._pauses.is_active(key, now_us)

    def close(self) -> None:
        self._feedback.close()

    def flush(self) -> None:
        self._feedback.flush()

    def _sleep_until(self, node: LimiterNode, at_us: float) -> None:
        """Sleep until the server's clock has certainly reached `at_us`."""
        if not node.clock.is_known:
            node.read_time()
        while (left_us := at_us - node.clock.earliest_us(stopwatch_us())) > 0:
            self._clock.sleep_s(left_us / 1e6)


class Pauses:
    """Pauses by domain. Times are in microseconds on the limiter's clock. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_us: dict[str, float] = {}
        self._checked_us: dict[str, float] = {}

    def remember(self, key: str, until_us: float) -> None:
        with self._lock:
            if len(self._until_us) >= MAX_DOMAINS:
                self._until_us.clear()
            self._until_us[key] = max(until_us, self._until_us.get(key, 0.0))

    def is_active(self, key: str, now_us: float) -> bool:
        until_us = self._until_us.get(key)
        if until_us is None:
            return False
        if until_us > now_us:
            return True
        with self._lock:
            self._until_us.pop(key, None)
        return False

    def claim_check(self, key: str, now_us: float) -> bool:
        """
        Return True to one caller per `PAUSE_CHECK_INTERVAL_US`, who must then read the state of
        `key`.
        """
        with self._lock:
            if now_us - self._checked_us.get(key, float("-inf")) < PAUSE_CHECK_INTERVAL_US:
                return False
            if len(self._checked_us) >= MAX_DOMAINS:
                self._checked_us.clear()
            self._checked_us[key] = now_us
            return True
