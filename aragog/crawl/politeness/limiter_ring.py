"""
Adds, drains or removes nodes of the limiter's ring while it is in use.

The ring says which limiter node (Redis server) decides for which domains. A change publishes a
record with a higher version, which also lists the previously active nodes. Every old and new node
receives this record and then refuses callers with an earlier record. A domain's new node takes over
its state when a worker first needs the domain, or when this module walks the former nodes' keys. A
final record ends the move. The next command repeats an interrupted walk, and concurrent walks are
harmless (docs/adr/0085).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from aragog.crawl.politeness.limiter import pre_granted_hold_us
from aragog.crawl.politeness.nodes.handover import MAX_DOMAINS_PER_CALL
from aragog.crawl.politeness.nodes.node import LimiterNode, OtherRing
from aragog.crawl.politeness.nodes.record import LEASE_S, RingRecord
from aragog.crawl.politeness.nodes.ring import LeasedRing, NodeRing
from aragog.crawl.politeness.slots import DomainState, unpack_state
from aragog.errors import LimiterUnavailable
from aragog.runtime.secret import reveal
from aragog.settings import PolitenessSettings

NodeState = Literal["active", "drained", "leaving"]
# A node that restarted more than a day ago no longer delays any domain.
DAY_US = 86_400e6
# Added to the time after which no worker can use a lost node's permits.
MARGIN_S = 1.0
_EPOCH = struct.Struct("<dd")


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node of the ring, for operators."""

    node: str
    """Its URL without user and password, or `redis.url`."""
    state: NodeState
    """`active`: decides for domains. `drained`: decides for none. `leaving`: domains are still
    moving away."""
    answers: bool
    ring: bool
    """True if the node has the newest record. If not, the next caller sends it."""
    share: float
    """The share of all domains for which it decides, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class RingReport:
    """The ring, for operators."""

    epoch: int
    """The record's epoch."""
    moving: bool
    """True while domains are moving to other nodes."""
    lost: tuple[str, ...]
    """Nodes that were removed as lost; empty unless domains are moving."""
    nodes: tuple[NodeReport, ...]


@dataclass(frozen=True, slots=True)
class DomainOwner:
    """The node that decides for a domain."""

    node: str
    former_owners: tuple[str, ...]
    """The nodes that decided before, if domains are still moving."""
    state: DomainState


class LimiterRing:
    """
    Shows and changes the ring.

    Every method raises `LimiterUnavailable` if a server does not respond.

    Args:
        urls: the nodes in the settings.
        settings: the workers' settings.
        prefix: the start of every key.
        shared: `redis.url`; by default, the first of `urls`.
        lease_s: how long a process may use the record of a new ring after reading it.
        sleep_s: waits for a number of seconds.
        on_step: called with a line of text for each step.
    """

    def __init__(
        self,
        urls: Iterable[str],
        settings: PolitenessSettings,
        prefix: str = "aragog:",
        *,
        shared: str | None = None,
        lease_s: float = LEASE_S,
        sleep_s: Callable[[float], None],
        on_step: Callable[[str], None] = lambda _: None,
    ) -> None:
        hold_us = pre_granted_hold_us(settings)
        self._ring = NodeRing(
            [reveal(url) for url in urls], prefix, hold_us, shared and reveal(shared), lease_s
        )
        self._sleep_s, self._on_step = sleep_s, on_step

    def report(self) -> RingReport:
        """Return the ring and its nodes. Takes a few round trips per node."""
        record = self._ring.refresh().record
        names = dict.fromkeys((*record.members, *record.exporters))
        nodes = tuple(self._node_report(record, name) for name in names)
        return RingReport(record.epoch, record.is_moving, record.lost, nodes)

    def _node_report(self, record: RingRecord, name: str) -> NodeReport:
        state: NodeState = "drained"
        if name in record.active:
            state = "active"
        elif name in record.exporters:
            state = "leaving"
        try:
            copy = self._ring.server(name).ring_copy()
        except LimiterUnavailable:
            return NodeReport(name, state, answers=False, ring=False, share=record.share(name))
        is_current = copy is not None and RingRecord.parse(copy).version == record.version
        return NodeReport(name, state, answers=True, ring=is_current, share=record.share(name))

    def locate(self, key: str) -> DomainOwner:
        """Return the node that decides for a limiter key (a domain), and the key's state there."""
        leased = self._ring.refresh()
        owner = leased.node_for(key)
        state = unpack_state(owner.get_many([owner.key("slot", key)])[0])
        return DomainOwner(owner.name, leased.record.get_former_owners(key), state)

    def urls(self) -> tuple[str, ...]:
        """Return the nodes' URLs with passwords; empty without a record. Takes one round trip."""
        record = self._ring.authority.read()
        return tuple(map(self._ring.addresses.url, record.members)) if record else ()

    def nodes_in_settings(self) -> set[str]:
        return set(self._ring.addresses.names_in_settings)

    def add(self, url: str) -> None:
        """Add a node. It takes over its share of the domains, with their state."""
        name = self._ring.addresses.name(url)
        self._ring.server(name).read_time()
        self.finish()
        self._change(lambda record: record.with_active(name))
        self.finish()

    def drain(self, url: str) -> None:
        """
        Make a node inactive, so that the others take over its domains.

        Raises:
            BadInput: the node is not a member, or is the only active one.
        """
        name = self._ring.addresses.name(url)
        self.finish()
        if name in self._ring.refresh().record.active:
            self._ring.server(name).read_time()
        self._change(lambda record: record.with_drained(name))
        self.finish()

    def remove(self, url: str, *, lost: bool = False) -> None:
        """
        Drain a node and remove it; see `drain`.

        Args:
            url: its URL or name.
            lost: remove the node without moving its state. Its domains get no requests while
                workers might still use its permits, and then for one interval. Their pauses,
                backoffs and latencies are lost.
        """
        if not lost:
            self.drain(url)
        name = self._ring.addresses.name(url)
        self._change(
            lambda record: record.with_lost(name) if lost else record.without_drained(name)
        )
        if lost:
            self._fence(name)
        self.finish()
        self._send_to_members()

    def _change(self, change: Callable[[RingRecord], RingRecord]) -> None:
        while True:
            record = self._ring.refresh().record
            new_record = change(record)
            if new_record is record:
                return
            if self._ring.replace(new_record, record).version == new_record.version:
                self._on_step(f"the ring has epoch {new_record.epoch}")
                return

    def _fence(self, name: str) -> None:
        """Keep a lost node from granting permits to workers with the old ring if it comes back."""
        try:
            self._ring.install(name)
        except LimiterUnavailable as error:
            self._on_step(str(error))

    def finish(self) -> None:
        """
        Move the remaining domains. Returns immediately if there are none.

        Raises:
            LimiterUnavailable: a node does not respond. Call `finish` again when the node responds.
        """
        waited_version = 0
        while (leased := self._ring.refresh()).record.is_moving:
            record = leased.record
            try:
                self._install(record)
                if record.lost and waited_version != record.version:
                    self._wait_for_lost(record)
                    waited_version = record.version
                self._move_domains(leased)
                restart = bool(record.lost) or self._has_restarted_node(leased)
            except OtherRing as error:
                self._ring.renew(error.node)
                continue
            except LimiterUnavailable as error:
                raise LimiterUnavailable(error.where, _unfinished_reason(error)) from error
            self._ring.replace(record.with_moves_done(restart=restart), record)
        self._send_to_members()

    def _install(self, record: RingRecord) -> None:
        for name in dict.fromkeys((*record.exporters, *record.active)):
            self._ring.install(name)

    def _send_to_members(self) -> None:
        """Send the ring to all nodes that respond. Later callers send it to the others."""
        for name in self._ring.refresh().record.members:
            try:
                self._ring.install(name)
            except LimiterUnavailable as error:
                self._on_step(str(error))

    def _wait_for_lost(self, record: RingRecord) -> None:
        seconds = record.lease_s + self._ring.hold_us / 1e6 + MARGIN_S
        self._on_step(f"waiting {seconds:.0f} s, until no worker uses permits of {record.lost[-1]}")
        self._sleep_s(seconds)

    def _move_domains(self, leased: LeasedRing) -> None:

        record, moved_count = leased.record, 0
        for name in record.exporters:
            domains = _domains_on(leased.nodes[name])
            while keys := list(islice(domains, MAX_DOMAINS_PER_CALL)):
                moving = [
                    k
                    for k in keys
                    if name in record.get_former_owners(k) and record.has_former_owner(k)
                ]
                for node, group in leased.group((key, key) for key in moving):
                    leased.ensure_arrived(node, group)
                moved_count += len(moving)
        self._on_step(f"{moved_count} domains with state have moved")

    def _has_restarted_node(self, leased: LeasedRing) -> bool:
        """Return True if a former node recently lost data, possibly a domain's whole state."""
        for name in leased.record.exporters:
            node = leased.nodes[name]
            packed = node.get_many([node.key("slots", "epoch")])[0]
            if packed and _EPOCH.unpack(packed)[1] > node.now_us() - DAY_US:
                return True
        return False

    def close(self) -> None:
        self._ring.close()


def _domains_on(node: LimiterNode) -> Iterator[str]:

    for key in chain(node.keys("slot"), node.keys("concurrent")):
        yield key.decode()


def _unfinished_reason(error: LimiterUnavailable) -> str:
    return (
        f"{error.reason}; domains are still moving, and those of this node wait: run the command "
        "again when it responds, or give it up with `aragog limiter remove NODE --lost`"
    )
