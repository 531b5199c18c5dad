"""
Slots: when one request may go to a domain, decided by one Redis server for all workers.

Two steps. *Reserve* plans: each ask gets the next free instant of its domain, an interval after the
one before. *Depart* enforces: a plan alone keeps no promise, because a sender on a busy machine
wakes up milliseconds late, one by one; so, with its connection open, a sender asks the door of the
domain, and the next is let out an interval after the last was really written.

    solo    the domain was idle when the slot was reserved: it holds the door, nothing is asked
    queued  others came before: one question at the door, one report after

Whoever holds a door and dies keeps others out for `HOLD_US` (solo: `slot_window_ms`), no longer.
Instants are microseconds by the server's clock inside, `…_ms` outside.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterable, Sequence

from aragog.clock import Clock, SystemClock
from aragog.politeness.ratelimit.feedback import FeedbackQueue
from aragog.politeness.ratelimit.node import LimiterNode, stopwatch_us
from aragog.politeness.ratelimit.overrides import Overrides
from aragog.politeness.ratelimit.pauses import Pauses
from aragog.politeness.ratelimit.ring import Ring
from aragog.politeness.ratelimit.slots import (
    VERDICTS,
    DomainReport,
    PermitDecision,
    RateExceeded,
    Slot,
    SlotRequest,
    ceil_ms,
)
from aragog.politeness.ratelimit.state import unpack_state
from aragog.secret import reveal
from aragog.settings import PolitenessSettings
from aragog.urls.domain import host, registered_domain

# How long the door waits for a sender that was let out and does not report: it is dead or stuck.
HOLD_US = 500_000
# A sender that could not write within this long of being let out asks again: far below the hold, so
# that only a pause of the rest, between a look at the clock and the write, could break the promise.
ALLOWANCE_US = 250_000
# The door is asked this much early, and grants an instant this far ahead: the way there and back is
# over when the moment comes.
ASK_AHEAD_US = 3_000
BOOK_AHEAD_US = 8_000
# Intervals this short are within the tolerance of the promise: planned, not enforced.
NO_DOOR_US = 2_000
# Errors in a row before a domain slows down, and how far it may (in hundredths).
PATIENCE = 3
SLOWEST = 3_200
# A place under `max_concurrent` falls free by itself after this, should its holder be killed.
PLACE_LIFE_S = 120
# Solo departures are told this much later at most, many in one round trip.
TELL_AFTER_S = 0.01

_SOLO, _REFUSED, _TROUBLE = 1, 2, 4
_ASK = struct.Struct("<dI")
_ANSWER = struct.Struct("<dB")
_DEPART = struct.Struct("<ddIddddd")
_DOOR = struct.Struct("<dBd")
_DEPARTED = struct.Struct("<dId")


class Limiter:
    """
    One rate for each domain, whatever number of workers. Safe for threads and across a fork.

    Args:
        nodes: Redis URLs; one decides for each domain (`aragog.politeness.ratelimit.ring`).
        settings: rates, horizon and windows.
        overrides: what the operator says of single domains.
        prefix: put before every key.
        clock: its `sleep_s` waits at the door; its wall clock is the caller's.

    Raises:
        ConfigError: a node that is no Redis URL. Nothing is connected before the first call.

    Every method that asks a server raises `LimiterUnavailable` when it does not answer; what was
    asked may have happened all the same, which costs a slot at most.
    """

    def __init__(
        self,
        nodes: Sequence[str],
        settings: PolitenessSettings,
        overrides: Overrides | None = None,
        prefix: str = "aragog:",
        clock: Clock | None = None,
    ) -> None:
        nodes = [reveal(url) for url in nodes]
        self._settings = settings
        self._overrides = overrides or Overrides()
        self._clock = clock or SystemClock()
        self._ring = Ring(nodes)
        self._hold_us = settings.slot_window_ms * 1000
        self._nodes = {url: LimiterNode(url, prefix, self._hold_us) for url in nodes}
        self._prefix = prefix
        self._troubled: set[str] = set()
        self._holding: dict[int, None] = {}
        self._pauses = Pauses()
        self._teller = FeedbackQueue(self._tell, TELL_AFTER_S)

    def key_for(self, url: str) -> str:
        """The name under which a normalized URL is limited: registered domain, or as overridden."""
        name = host(url)
        override = self._overrides.find(name)
        if override is None:
            return registered_domain(name)
        return name if override.scope == "host" else override.name

    def interval_us(self, key: str, crawl_delay_s: float | None = None) -> float:
        """Between two requests to `key`: by its rate or its Crawl-delay, whichever is slower."""
        override = self._overrides.find(key)
        qps, cap_s = self._settings.qps, self._settings.crawl_delay_cap_s
        if override is not None:
            qps = override.qps or qps
            cap_s = cap_s if override.crawl_delay_cap_s is None else override.crawl_delay_cap_s
        return max(1e6 / qps, min(crawl_delay_s or 0.0, cap_s) * 1e6)

    def max_concurrent(self, key: str) -> int | None:
        """How many requests to `key` may be under way at a time; None: any number."""
        override = self._overrides.find(key)
        return override.max_concurrent if override else None

    def reserve(self, asks: Sequence[SlotRequest]) -> list[Slot | RateExceeded]:
        """
        A slot for each ask, in the order of the asks; one round trip for each node concerned.

        Safe to repeat: a slot that is never used costs its domain one interval.
        """
        found: list[Slot | RateExceeded | None] = [None] * len(asks)
        numbered = ((ask.key, (number, ask)) for number, ask in enumerate(asks))
        for url, group in self._ring.group(numbered).items():
            slots = self._reserve_at(self._nodes[url], [ask for _, ask in group])
            for (number, _), slot in zip(group, slots, strict=True):
                found[number] = slot
        return [slot for slot in found if slot is not None]

    def _reserve_at(
        self, node: LimiterNode, asks: Sequence[SlotRequest]
    ) -> list[Slot | RateExceeded]:
        intervals = [self.interval_us(ask.key, ask.crawl_delay_s) for ask in asks]
        tokens = _tokens(len(asks))
        packed = b"".join(
            _ASK.pack(interval, 0 if self.max_concurrent(ask.key) else token)
            for ask, interval, token in zip(asks, intervals, tokens, strict=True)
        )
        prefix = node.key("slot", "")
        answer = node.call(
            "reserve",
            restart=node.key("slots", "restart"),
            busy=node.key("slots", "busy"),
            slots=[prefix + ask.key for ask in asks],
            horizon_us=self._settings.horizon_s * 1e6,
            hold_us=self._hold_us,
            prefix_bytes=len(prefix.encode()),
            requests=packed,
        )
        (now_us,) = struct.unpack_from("<d", answer)
        return [
            self._slot(
                ask.key, now_us=now_us, at_us=at_us, flags=flags, interval_us=interval, token=token
            )
            for ask, interval, token, (at_us, flags) in zip(
                asks, intervals, tokens, _ANSWER.iter_unpack(answer[8:]), strict=True
            )
        ]

    def _slot(
        self, key: str, *, now_us: float, at_us: float, flags: int, interval_us: float, token: int
    ) -> Slot | RateExceeded:
        if flags & _TROUBLE:
            self._remember_trouble(key)
        if flags & _REFUSED:
            return RateExceeded(key, ceil_ms(at_us))
        wait_ms = ceil_ms(at_us - now_us)
        until = 0.0
        if flags & _SOLO:
            until = at_us + self._hold_us - ALLOWANCE_US
            self._hold(token)
        return Slot(key, at_us, wait_ms, interval_us, token, until)

    def resume(self, key: str, slot_at_ms: int, crawl_delay_s: float | None = None) -> Slot:
        """
        The slot of a job that was put off until it and has come back, maybe to another process.

        No round trip. Ask `still_good` first.
        """
        interval = self.interval_us(key, crawl_delay_s)
        wait_ms = self.wait_ms(key, slot_at_ms)
        return Slot(key, slot_at_ms * 1000.0, wait_ms, interval, _tokens(1)[0])

    def still_good(self, slot_at_ms: int, key: str | None = None) -> bool:
        """
        False when the window of a slot has passed: reserve anew.

        By the clock of the node that decides for `key`; None: that of the first node. No round trip
        but for the very first call.
        """
        node = self._node(key) if key else self._nodes[self._ring.nodes[0]]
        return node.now_us() <= (slot_at_ms + self._settings.slot_window_ms) * 1000

    def acquire_permit(self, slot: Slot) -> bool:
        """
        Return when the request may be written, with the connection open already.

        True: write it now, and call `release_permit` right after. False: too late, reserve anew;
        nothing is held. Sleeps until the slot, and behind it while the door is taken,
        `slot_window_ms` at most past the slot. Solo slots cost nothing, others one round trip or
        few. A slot serves one
        request: for another one (the first met a closed connection) it is asked for at the door,
        and waits its interval.
        """
        node = self._node(slot.key)
        planned_only = slot.interval_us <= NO_DOOR_US and not self.max_concurrent(slot.key)
        if planned_only:
            self._sleep_until(node, slot.at_us)
        paused = self._paused(slot.key, node, look=planned_only)
        if planned_only and not paused:
            return True
        if slot.solo_until_us:
            unused = slot.token in self._holding and not paused
            if unused and node.clock.latest_us(stopwatch_us()) < slot.solo_until_us:
                return True
            self._teller.flush()  # or the door would take it for its holder still
        self._sleep_until(node, slot.at_us - ASK_AHEAD_US)
        while True:
            door = self.ask_door(slot)
            if door.verdict == "late":
                return False
            if door.verdict == "wait":
                self._sleep_until(node, door.at_us - ASK_AHEAD_US)
                continue
            self._sleep_until(node, door.at_us)
            if node.clock.latest_us(stopwatch_us()) < door.at_us + ALLOWANCE_US:
                self._hold(slot.token)
                return True

    def ask_door(self, slot: Slot) -> PermitDecision:
        """Ask for a send permit in one round trip, without the sleep of `acquire_permit`."""
        node = self._node(slot.key)
        places = self.max_concurrent(slot.key) or 0
        packed = _DEPART.pack(
            slot.at_us, slot.interval_us, slot.token, HOLD_US, BOOK_AHEAD_US,
            self._settings.slot_window_ms * 1000, places, PLACE_LIFE_S * 1e6,
        )  # fmt: skip
        answer = node.call(
            "acquire_permit",
            restart=node.key("slots", "restart"),
            slot=node.key("slot", slot.key),
            places=node.key("place", slot.key),
            request=packed,
        )
        _, verdict, at_us = _DOOR.unpack(answer)
        return PermitDecision(VERDICTS[verdict], at_us)

    def release_permit(self, slot: Slot, *, written: bool = True) -> None:
        """
        Tell that the request has been written, and let go of the door.

        A solo departure is told within 10 ms, together with others; a queued one at once, since
        the next in line waits for it. `written=False`: nothing went out (the connection broke).
        """
        node = self._node(slot.key)
        held = slot.token in self._holding
        self._holding.pop(slot.token, None)
        if not held and slot.interval_us <= NO_DOOR_US and not self.max_concurrent(slot.key):
            return
        at_us = node.clock.latest_us(stopwatch_us()) if written else 0.0
        if slot.solo_until_us:
            self._teller.add((slot, at_us))
        else:
            self._tell([(slot, at_us)])

    def _tell(self, departures: Sequence[tuple[Slot, float]]) -> None:
        numbered = ((departure[0].key, departure) for departure in departures)
        for url, group in self._ring.group(numbered).items():
            node = self._nodes[url]
            packed = b"".join(
                _DEPARTED.pack(at_us, slot.token, slot.interval_us) for slot, at_us in group
            )
            slots = [node.key("slot", slot.key) for slot, _ in group]
            node.call("release_permit", slots=slots, departures=packed)

    def finished(self, slot: Slot) -> None:
        """
        The request is over, or was never written: let go of what the slot still holds.

        No round trip where that is nothing. Safe to repeat.
        """
        if slot.token in self._holding:
            self.release_permit(slot, written=False)
        if self.max_concurrent(slot.key):
            node = self._node(slot.key)
            node.remove_member(node.key("place", slot.key), slot.token)

    def wait_ms(self, key: str, at_ms: int) -> int:
        """
        From now to an instant that this limiter gave out for `key`; 0 when it has passed.

        Measured on the clock of the node that decides for `key`, whatever the caller's clock shows.
        No round trip but for the very first call.
        """
        return max(0, ceil_ms(at_ms * 1000.0 - self._node(key).now_us()))

    def pause_until(self, key: str, until_ms: int) -> None:
        """
        Let nobody go to `key` before `until_ms`; see `pause`.

        `until_ms` is by the caller's clock: only how far it is from now reaches the node.
        """
        self.pause(key, (until_ms - self._clock.now_ms()) / 1000)

    def pause(self, key: str, wait_s: float) -> None:
        """
        Let nobody go to `key` for `wait_s` from now (Retry-After, 429, 503); within the horizon.

        A duration, because the caller's clock and the limiter's may differ by hours. One round
        trip. Safe to repeat: a pause only ever gets longer.
        """
        node = self._node(key)
        if not node.clock.known:
            node.ask_time()
        wait_us = min(wait_s, self._settings.horizon_s) * 1e6
        until_us = node.clock.latest_us(stopwatch_us()) + wait_us
        self._pauses.remember(key, until_us)
        packed = struct.pack("<dd", until_us, self.interval_us(key))
        node.call("pause_until", slot=node.key("slot", key), pause=packed)

    def _paused(self, key: str, node: LimiterNode, *, look: bool) -> bool:
        """
        Whether senders that could leave without a question must ask all the same.

        `look`: find out every 100 ms whether another process has paused the domain; one round trip.
        """
        now_us = node.now_us()
        if look and self._pauses.look_due(key, now_us):
            state = unpack_state(node.get_many([node.key("slot", key)])[0])
            if state.last_us > now_us:
                self._pauses.remember(key, state.last_us)
        return self._pauses.active(key, now_us)

    def report(self, key: str, ok: bool) -> None:
        """Tell how a request went; see `report_many`."""
        self.report_many([(key, ok)])

    def report_many(self, reports: Iterable[tuple[str, bool]]) -> None:
        """
        Tell how requests went: three errors in a row halve a domain's rate, each further one again,
        down to 1/32; each good answer brings a quarter back.

        No round trip for good news of domains that are not known to be in trouble. Safe to repeat.
        """
        worth_telling = [(key, (key, ok)) for key, ok in reports if not ok or key in self._troubled]
        for url, group in self._ring.group(worth_telling).items():
            node = self._nodes[url]
            answer = node.call(
                "report",
                slots=[node.key("slot", key) for key, _ in group],
                results=bytes(ok for _, ok in group),
                errors_to_slow=PATIENCE,
                max_factor=SLOWEST,
            )
            for (key, _), (factor,) in zip(
                group, struct.iter_unpack("<H", answer[8:]), strict=True
            ):
                if factor:
                    self._remember_trouble(key)
                else:
                    self._troubled.discard(key)

    def _hold(self, token: int) -> None:
        if len(self._holding) > 100_000:
            self._holding.pop(next(iter(self._holding)), None)  # abandoned; its hold ends by itself
        self._holding[token] = None

    def _remember_trouble(self, key: str) -> None:
        if len(self._troubled) > 100_000:
            self._troubled.clear()  # learnt again with the next slot
        self._troubled.add(key)

    def describe(self, keys: Sequence[str]) -> dict[str, DomainReport]:
        """What is known of domains; one round trip a node."""
        found: dict[str, DomainReport] = {}
        for url, group in self._ring.group((key, key) for key in keys).items():
            node = self._nodes[url]
            states = node.get_many([node.key("slot", key) for key in group])
            now_us = node.now_us()
            for key, packed in zip(group, states, strict=True):
                state = unpack_state(packed)
                backoff_factor = state.factor / 100
                interval_us = self.interval_us(key) * backoff_factor
                next_us = state.planned_us + interval_us
                ahead_us = max(0.0, next_us - now_us)
                found[key] = DomainReport(
                    key=key,
                    qps=1e6 / interval_us,
                    next_slot_at_ms=ceil_ms(next_us) if ahead_us else None,
                    backlog_ms=int(ahead_us // 1000),
                    backoff_factor=backoff_factor,
                    errors_in_a_row=state.streak,
                    max_concurrent=self.max_concurrent(key),
                )
        return found

    def busiest(self, count: int = 20) -> list[DomainReport]:
        """Domains with backlogs over 1 s, the longest first; two round trips a node."""
        named = [
            name.decode()
            for node in self._nodes.values()
            for name in node.last_members(node.key("slots", "busy"), count)
        ]
        found = [one for one in self.describe(named).values() if one.backlog_ms]
        return sorted(found, key=lambda one: -one.backlog_ms)[:count]

    def close(self) -> None:
        """Tell what is still to be told and let go of the connections."""
        self._teller.close()
        for node in self._nodes.values():
            node.close()

    def _node(self, key: str) -> LimiterNode:
        return self._nodes[self._ring.node_for(key)]

    def _sleep_until(self, node: LimiterNode, at_us: float) -> None:
        """Return when the server's clock shows `at_us` for certain."""
        if not node.clock.known:
            node.ask_time()
        while (left_us := at_us - node.clock.earliest_us(stopwatch_us())) > 0:
            self._clock.sleep_s(left_us / 1e6)


def _tokens(count: int) -> list[int]:
    """Random and never 0; two alike matter only at one door within one second."""
    return [token or 1 for token in struct.unpack(f"<{count}I", secrets.token_bytes(4 * count))]
