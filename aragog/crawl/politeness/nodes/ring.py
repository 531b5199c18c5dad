"""
The limiter's nodes by domain, under the ring that the servers have.

The shared Redis has the record of the ring. A process reads it every few seconds and uses it for
`RingRecord.lease_s` after a read, then asks no node until it has read it again. Every node has the
version, refuses callers with another one, and has a copy of the record. Whoever meets a server with
an older record brings it the newer one, so no order of changes and no crash leaves servers apart
for long (docs/adr/0085).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from aragog.crawl.politeness.nodes.addresses import NodeAddresses
from aragog.crawl.politeness.nodes.authority import RingAuthority
from aragog.crawl.politeness.nodes.handover import take_over
from aragog.crawl.politeness.nodes.node import LimiterNode, OtherRing
from aragog.crawl.politeness.nodes.record import LEASE_S, RingRecord
from aragog.crawl.shared_redis.nodes import Ring
from aragog.errors import LimiterUnavailable
from aragog.runtime.secret import reveal

# The record is read again after this share of its lease.
RENEW_SHARE = 1 / 3
# After a read that failed, while the lease lasts.
RETRY_S = 1.0
# How often in a row a call may find that the ring changed.
ATTEMPTS = 8
MOST_ARRIVED = 200_000
log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
# It also advances while the machine is suspended, where the system has such a clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def lease_clock_s() -> float:
    """Seconds on a clock that nobody sets and no suspend stops."""
    return time.clock_gettime(_CLOCK)


class LeasedRing:
    """
    A record, its nodes, and how long this process may use it.

    Args:
        record: the ring.
        nodes: by name: all that the record names, at its version.
        read_s: when its read began, by `lease_clock_s`.
    """

    def __init__(self, record: RingRecord, nodes: dict[str, LimiterNode], read_s: float) -> None:
        self.record = record
        self.nodes = nodes
        self._arrived: set[str] = set()
        self.extend(read_s)

    def extend(self, read_s: float) -> None:
        """Note that the record was still the newest when a read began."""
        self.until_s = read_s + self.record.lease_s
        self.renew_at_s = read_s + self.record.lease_s * RENEW_SHARE

    def of(self, key: str) -> LimiterNode:
        """The node that decides for a domain."""
        return self.nodes[self.record.ring.node_for(key)]

    def group(self, items: Iterable[tuple[str, T]]) -> Iterator[tuple[LimiterNode, list[T]]]:
        """(domain, item) pairs by node, in their order within a node."""
        for name, group in self.record.ring.group(items).items():
            yield self.nodes[name], group

    def bring(self, owner: LimiterNode, keys: Iterable[str]) -> None:
        """Have an owner take over those of its domains that move; see `take_over`."""
        record = self.record
        if not record.moving:
            return
        moving = [k for k in dict.fromkeys(keys) if k not in self._arrived and record.moves(k)]
        if not moving:
            return
        take_over(record, self.nodes, owner, moving)
        if len(self._arrived) > MOST_ARRIVED:
            self._arrived.clear()
        self._arrived.update(moving)


class NodeRing:
    """
    Nodes by domain, by consistent hashing. Nothing is connected before the first call. Thread-safe.

    Every method that needs the ring raises `LimiterUnavailable` when the shared Redis has not
    answered for as long as the lease.

    Args:
        urls: of the Redis servers; they are the first ring, if there is no record yet.
        prefix: the start of every key.
        hold_us: how long a pre-granted permit lasts.
        shared: `redis.url`, which has the record; None: the first of `urls`.
        lease_s: used if the record is not written yet.

    Raises:
        ConfigError: `urls` is empty, has duplicates, or one that is not a Redis URL.
    """

    def __init__(
        self,
        urls: Sequence[str],
        prefix: str,
        hold_us: int,
        shared: str | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        Ring(urls)
        self._prefix, self.hold_us, self._lease_s = prefix, hold_us, lease_s
        self.addresses = NodeAddresses(urls, shared)
        self._servers: dict[str, LimiterNode] = {}
        for name in self.addresses.first:
            self.server(name)
        self.authority = RingAuthority(reveal(shared or urls[0]), prefix)
        self._lock = threading.Lock()
        self._leased: LeasedRing | None = None

    def server(self, name: str) -> LimiterNode:
        """A server by its name in the record, in no version of the ring; connects on first use."""
        if name not in self._servers:
            url = self.addresses.url(name)
            self._servers.setdefault(name, LimiterNode(url, self._prefix, self.hold_us, name))
        return self._servers[name]

    def __iter__(self) -> Iterator[LimiterNode]:
        leased = self.leased()
        return iter([leased.nodes[name] for name in leased.record.active])

    def of(self, key: str) -> LimiterNode:
        """The node that decides for a domain."""
        return self.leased().of(key)

    def last_of(self, key: str) -> LimiterNode:
        """The same in the ring that was read last, although its lease may be over."""
        return (self._leased or self.leased()).of(key)

    def first(self) -> LimiterNode:
        """The first node that decides for domains."""
        return next(iter(self))

    def group(self, items: Iterable[tuple[str, T]]) -> Iterator[tuple[LimiterNode, list[T]]]:
        """(domain, item) pairs by node, in their order within a node; to read only."""
        return self.leased().group(items)

    def is_current(self, node: LimiterNode) -> bool:
        """Whether a node was chosen under the ring of now, and its lease is not over."""
        leased = self._leased
        return (
            leased is not None
            and node.version == leased.record.version
            and lease_clock_s() < leased.until_s
        )

    def call_one(self, key: str, call: Callable[[LimiterNode], R]) -> R:
        """The result of a call to the node that decides for a domain; see `call_each`."""
        return self.call_each([(key, key)], lambda node, _: call(node))[0][1]

    def call_each(
        self, items: Iterable[tuple[str, T]], call: Callable[[LimiterNode, list[T]], R]
    ) -> list[tuple[list[T], R]]:
        """
        Call each node once with its items; domains that move are taken over first.

        After a change of the ring, the items that a node refused are sent again.

        Args:
            items: (domain, item) pairs.
            call: its exceptions propagate.

        Returns:
            The items of each call, and its result.
        """
        todo, done = list(items), []
        for _ in range(ATTEMPTS):
            if not todo:
                break
            leased, refused = self.leased(), []
            for node, group in leased.group((key, (key, item)) for key, item in todo):
                try:
                    leased.bring(node, (key for key, _ in group))
                    values = [item for _, item in group]
                    done.append((values, call(node, values)))
                except OtherRing as error:
                    self.renew(error.node)
                    refused += group
            todo = refused
        if todo:
            raise LimiterUnavailable("the limiter", "its ring keeps changing; try again")
        return done

    def leased(self) -> LeasedRing:
        """The ring, under a lease that is not over."""
        leased, now_s = self._leased, lease_clock_s()
        if leased is not None and now_s < leased.renew_at_s:
            return leased
        over = leased is None or now_s >= leased.until_s
        if not self._lock.acquire(blocking=over):
            return leased or self.leased()  # another thread reads it
        try:
            renewed = self._leased
            if renewed is not None and lease_clock_s() < renewed.renew_at_s:
                return renewed
            return self._read()
        except LimiterUnavailable as error:
            leased = self._leased
            if leased is None or lease_clock_s() >= leased.until_s:
                raise
            log.warning("cannot read the ring of the limiter: %s", error)
            leased.renew_at_s = lease_clock_s() + RETRY_S
            return leased
        finally:
            self._lock.release()

    def refresh(self) -> LeasedRing:
        """Read the record now, also the copies of all nodes that answer, and return the newest."""
        with self._lock:
            leased = self._read()
            for name in leased.record.members:
                try:
                    copy = self.server(name).ring_copy()
                except LimiterUnavailable:
                    continue
                if copy is not None and (found := RingRecord.parse(copy)).version > (
                    leased.record.version
                ):
                    leased = self._publish(found)
            return leased

    def renew(self, node: LimiterNode) -> None:
        """After a refusal of a node: get the ring that it has, or give it the one that it lacks."""
        with self._lock:
            record = self._read().record
            if record.version != node.version:
                return
            copy = node.ring_copy()
            if copy is not None and RingRecord.parse(copy).version > record.version:
                self._publish(RingRecord.parse(copy))
            else:
                self._install(node, record, blank=copy is None)

    def install(self, name: str) -> None:
        """Give a node the ring, if it has an older one."""
        with self._lock:
            leased, node = self._read(), self.server(name)
            self._install(node, leased.record, blank=node.ring_copy() is None)

    def replace(self, record: RingRecord, replaces: RingRecord) -> RingRecord:
        """Publish a record in place of another; returns the one that is stored afterward."""
        with self._lock:
            read_s = lease_clock_s()
            return self._adopt(
                self.authority.publish(record, replaces=replaces.version), read_s
            ).record

    def _install(self, node: LimiterNode, record: RingRecord, *, blank: bool) -> None:
        lost = blank and not self.authority.is_first_ring_of(node.name)
        stored = node.run(
            "ring_install",
            epoch=node.key("slots", "epoch"),
            ring=node.key("slots", "ring"),
            arrived=node.key("slots", "arrived"),
            version=record.version,
            record=record.packed(),
            restart_version=record.restart_version,
            hold_us=self.hold_us,
            blank_is_restart=int(lost),
        )
        found = RingRecord.parse(stored)
        if found.version > record.version:
            self._publish(found)

    def _read(self) -> LeasedRing:
        """Read the record and begin a new lease; a lost record comes back from who has it."""
        read_s = lease_clock_s()
        stored, known = self.authority.read(), self._leased
        if known is not None and (stored is None or stored.version < known.record.version):
            stored = self.authority.publish(known.record)
        elif stored is None:
            stored = self.authority.publish(self._found(), replaces=0)
        return self._adopt(stored, read_s)

    def _found(self) -> RingRecord:
        """The newest copy of the nodes in the settings, else a first ring of these nodes."""
        found: list[RingRecord] = []
        for name in self.addresses.first:
            try:
                copy = self.server(name).ring_copy()
            except LimiterUnavailable:
                continue
            found += [RingRecord.parse(copy)] if copy else []
        newest = max(found, key=lambda record: record.version, default=None)
        return newest or RingRecord.first(self.addresses.first, self._lease_s)

    def _publish(self, record: RingRecord) -> LeasedRing:
        read_s = lease_clock_s()
        return self._adopt(self.authority.publish(record), read_s)

    def _adopt(self, record: RingRecord, read_s: float) -> LeasedRing:
        leased = self._leased
        if leased is not None and leased.record.version == record.version:
            leased.extend(read_s)
            return leased
        names = dict.fromkeys((*record.members, *record.exporters))
        nodes = {name: self.server(name).at(record.version) for name in names}
        self._leased = LeasedRing(record, nodes, read_s)
        return self._leased

    def close(self) -> None:
        """Close the connections."""
        self.authority.close()
        for node in self._servers.values():
            node.close()
