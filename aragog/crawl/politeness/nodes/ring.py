"""
Finds the limiter node for a domain, and keeps the ring (list of nodes) the same on all servers.

The shared Redis stores the ring's record. Processes read it every few seconds, and may use it for
`RingRecord.lease_s`. After that, they send nothing to any node until they have read it again. Every
node has a copy of the record, and refuses callers with another version. A process that finds an
older record on a server replaces it, so servers never disagree for long, whatever the order of
changes and crashes (docs/adr/0085).
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
# How soon to retry a failed read during the lease.
RETRY_S = 1.0
# How many times the ring may change during one call.
MAX_ATTEMPTS = 8
MAX_CACHED_DOMAINS = 200_000
log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
# Unlike the monotonic clock, this one also runs while the machine is suspended. Not every operating
# system has it.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def lease_clock_s() -> float:
    """Return the time in s of a clock that is never adjusted and also runs during suspend."""
    return time.clock_gettime(_CLOCK)


class LeasedRing:
    """
    A record, its nodes, and how long this process may use it.

    Args:
        record: the ring.
        nodes: the record's nodes by name.
        read_s: the `lease_clock_s` time at which the read began.
    """

    def __init__(self, record: RingRecord, nodes: dict[str, LimiterNode], read_s: float) -> None:
        self.record = record
        self.nodes = nodes
        self._arrived: set[str] = set()
        self.extend(read_s)

    def extend(self, read_s: float) -> None:
        """Record that this was still the newest record when a read began at `read_s`."""
        self.expires_s = read_s + self.record.lease_s
        self.renew_at_s = read_s + self.record.lease_s * RENEW_SHARE

    def node_for(self, key: str) -> LimiterNode:
        """Return the node that decides for a domain."""
        return self.nodes[self.record.ring.node_for(key)]

    def group(self, items: Iterable[tuple[str, T]]) -> Iterator[tuple[LimiterNode, list[T]]]:
        """Group (domain, item) pairs by node. Keeps the order of each node's items."""
        for name, group in self.record.ring.group(items).items():
            yield self.nodes[name], group

    def ensure_arrived(self, owner: LimiterNode, keys: Iterable[str]) -> None:
        """Make a node take over its domains that are still moving; see `take_over`."""
        record = self.record
        if not record.is_moving:
            return
        moving = [
            k for k in dict.fromkeys(keys) if k not in self._arrived and record.has_former_owner(k)
        ]
        if not moving:
            return
        take_over(record, self.nodes, owner, moving)
        if len(self._arrived) > MAX_CACHED_DOMAINS:
            self._arrived.clear()
        self._arrived.update(moving)


class NodeRing:
    """
    Finds each domain's node, by consistent hashing. Connects on first use. Thread-safe.

    Methods that need the ring raise `LimiterUnavailable` if the shared Redis has not responded for
    longer than the lease.

    Args:
        urls: the Redis servers. Without a record, they form the first ring.
        prefix: the start of every key.
        hold_us: how long a pre-granted permit lasts.
        shared: `redis.url`, which stores the record; by default, the first of `urls`.
        lease_s: the lease of the first ring.

    Raises:
        ConfigError: `urls` is empty, or has duplicates or something that is not a Redis URL.
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
        for name in self.addresses.names_in_settings:
            self.server(name)
        self.authority = RingAuthority(reveal(shared or urls[0]), prefix)
        self._lock = threading.Lock()
        self._leased: LeasedRing | None = None

    def server(self, name: str) -> LimiterNode:
        """Return a server by name, without a ring version."""
        if name not in self._servers:
            url = self.addresses.url(name)
            self._servers.setdefault(name, LimiterNode(url, self._prefix, self.hold_us, name))
        return self._servers[name]

    def __iter__(self) -> Iterator[LimiterNode]:
        leased = self.get_leased()
        return iter([leased.nodes[name] for name in leased.record.active])

    def node_for(self, key: str) -> LimiterNode:
        """Return the node that decides for a domain."""
        return self.get_leased().node_for(key)

    def last_known_node(self, key: str) -> LimiterNode:
        """Return a domain's node in the last ring, even after its lease."""
        return (self._leased or self.get_leased()).node_for(key)

    def first_node(self) -> LimiterNode:
        return next(iter(self))

    def group(self, items: Iterable[tuple[str, T]]) -> Iterator[tuple[LimiterNode, list[T]]]:
        """Group (domain, item) pairs by node, for reads only. Keeps the order of a node's items."""
        return self.get_leased().group(items)

    def is_current(self, node: LimiterNode) -> bool:
        """Return True if a node was chosen under the current ring, whose lease has not expired."""
        leased = self._leased
        return (
            leased is not None
            and node.version == leased.record.version
            and lease_clock_s() < leased.expires_s
        )

    def call_one(self, key: str, call: Callable[[LimiterNode], R]) -> R:
        """Call a domain's node, and return the result; see `call_each`."""
        return self.call_each([(key, key)], lambda node, _: call(node))[0][1]

    def call_each(
        self, items: Iterable[tuple[str, T]], call: Callable[[LimiterNode, list[T]], R]
    ) -> list[tuple[list[T], R]]:
        """
        Call each node once with its items, after moving the state of moving domains.

        If the ring has changed, refused items are sent again.

        Args:
            items: (domain, item) pairs.
            call: called with a node and the node's items. Exceptions propagate.

        Returns:
            The items and the result of each call.
        """
        remaining, results = list(items), []
        for _ in range(MAX_ATTEMPTS):
            if not remaining:
                break
            leased, refused_items = self.get_leased(), []
            for node, group in leased.group((key, (key, item)) for key, item in remaining):
                try:
                    leased.ensure_arrived(node, (key for key, _ in group))
                    values = [item for _, item in group]
                    results.append((values, call(node, values)))
                except OtherRing as error:
                    self.renew(error.node)
                    refused_items += group
            remaining = refused_items
        if remaining:
            raise LimiterUnavailable("the limiter", "its ring keeps changing; try again")
        return results

    def get_leased(self) -> LeasedRing:
        leased, now_s = self._leased, lease_clock_s()
        if leased is not None and now_s < leased.renew_at_s:
            return leased
        has_expired = leased is None or now_s >= leased.expires_s
        if not self._lock.acquire(blocking=has_expired):
            return leased or self.get_leased()  # another thread is reading it
        try:
            renewed = self._leased
            if renewed is not None and lease_clock_s() < renewed.renew_at_s:
                return renewed
            return self._read_record()
        except LimiterUnavailable as error:
            leased = self._leased
            if leased is None or lease_clock_s() >= leased.expires_s:
                raise
            log.warning("cannot read the ring of the limiter: %s", error)
            leased.renew_at_s = lease_clock_s() + RETRY_S
            return leased
        finally:
            self._lock.release()

    def refresh(self) -> LeasedRing:
        """Read the record and the copies of all nodes that respond. Returns the newest."""
        with self._lock:
            leased = self._read_record()
            for name in leased.record.members:
                try:
                    copy = self.server(name).ring_copy()
                except LimiterUnavailable:
                    continue
                if copy is not None and (newer := RingRecord.parse(copy)).version > (
                    leased.record.version
                ):
                    leased = self._publish(newer)
            return leased

    def renew(self, node: LimiterNode) -> None:
        """Exchange rings with a node that refused a call. The older ring is replaced."""
        with self._lock:
            record = self._read_record().record
            if record.version != node.version:
                return
            copy = node.ring_copy()
            if copy is not None and RingRecord.parse(copy).version > record.version:
                self._publish(RingRecord.parse(copy))
            else:
                self._install(node, record, is_blank=copy is None)

    def install(self, name: str) -> None:
        """Send the ring to a node, unless the node has a newer one."""
        with self._lock:
            leased, node = self._read_record(), self.server(name)
            self._install(node, leased.record, is_blank=node.ring_copy() is None)

    def replace(self, record: RingRecord, replaces: RingRecord) -> RingRecord:
        """Publish a record in place of another. Returns the record stored afterward."""
        with self._lock:
            read_s = lease_clock_s()
            return self._adopt(
                self.authority.publish(record, replaces=replaces.version), read_s
            ).record

    def _install(self, node: LimiterNode, record: RingRecord, *, is_blank: bool) -> None:
        has_lost_state = is_blank and not self.authority.is_first_ring_of(node.name)
        stored = node.run(
            "ring_install",
            epoch=node.key("slots", "epoch"),
            ring=node.key("slots", "ring"),
            arrived=node.key("slots", "arrived"),
            version=record.version,
            record=record.pack(),
            restart_version=record.restart_version,
            hold_us=self.hold_us,
            blank_is_restart=int(has_lost_state),
        )
        installed = RingRecord.parse(stored)
        if installed.version > record.version:
            self._publish(installed)

    def _read_record(self) -> LeasedRing:
        """Read the record and start a new lease. Restores a lost record from a copy."""
        read_s = lease_clock_s()
        stored, current = self.authority.read(), self._leased
        if current is not None and (stored is None or stored.version < current.record.version):
            stored = self.authority.publish(current.record)
        elif stored is None:
            stored = self.authority.publish(self._restore_record(), replaces=0)
        return self._adopt(stored, read_s)

    def _restore_record(self) -> RingRecord:
        """Return the newest copy on a node in the settings, or else a first ring of these nodes."""
        copies: list[RingRecord] = []
        for name in self.addresses.names_in_settings:
            try:
                copy = self.server(name).ring_copy()
            except LimiterUnavailable:
                continue
            copies += [RingRecord.parse(copy)] if copy else []
        newest = max(copies, key=lambda record: record.version, default=None)
        return newest or RingRecord.create_first(self.addresses.names_in_settings, self._lease_s)

    def _publish(self, record: RingRecord) -> LeasedRing:
        read_s = lease_clock_s()
        return self._adopt(self.authority.publish(record), read_s)

    def _adopt(self, record: RingRecord, read_s: float) -> LeasedRing:
        leased = self._leased
        if leased is not None and leased.record.version == record.version:
            leased.extend(read_s)
            return leased
        names = dict.fromkeys((*record.members, *record.exporters))
        nodes = {name: self.server(name).with_version(record.version) for name in names}
        self._leased = LeasedRing(record, nodes, read_s)
        return self._leased

    def close(self) -> None:
        self.authority.close()
        for node in self._servers.values():
            node.close()
