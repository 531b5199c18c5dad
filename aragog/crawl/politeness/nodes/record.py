"""
The record of the limiter's ring: which nodes decide for which domains, now and before.

Records are immutable. Each change creates one with a higher version: an epoch (a counter) and a
random number, so that concurrent changes get different versions.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

from aragog.crawl.politeness.nodes.addresses import SHARED_NAME
from aragog.crawl.shared_redis.nodes import Ring
from aragog.errors import BadInput, LimiterUnavailable
from pinlater.redis.address import is_usable

_MAX_NODES = 1_000
_MAX_FORMER_RINGS = 1_000
_MAX_NAME_CHARS = 500
_MAX_LEASE_S = 3_600.0
# How long a process may use a record after reading it, in seconds.
LEASE_S = 30.0
_NONCE_RANGE = 1 << 20
_SAMPLE_SIZE = 2_000


@dataclass(frozen=True)
class RingRecord:
    """
    The nodes of the limiter in one version of the ring.

    A node's name is its URL without user and password, or `redis.url` for the server of that
    setting.
    """

    version: int
    """Higher than in every earlier record, and below 2^53."""
    active: tuple[str, ...]
    """The nodes that decide for domains."""
    drained: tuple[str, ...] = ()
    """Members that do not decide for any domain."""
    lost: tuple[str, ...] = ()
    """Nodes that left without handing over their state."""
    former: tuple[tuple[str, ...], ...] = ()
    """The active nodes of earlier records, oldest first, while domains are moving. Otherwise
    empty."""
    restart_version: int = 0
    """Nodes with a copy older than this version count as restarted, because state was lost. 0 if
    no state was lost."""
    lease_s: float = LEASE_S
    """How long a process may use the record after reading it, in seconds."""

    @classmethod
    def create_first(cls, nodes: Sequence[str], lease_s: float = LEASE_S) -> Self:
        return cls(_NONCE_RANGE + secrets.randbelow(_NONCE_RANGE), tuple(nodes), lease_s=lease_s)

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """
        Decode a record from this or a later release.

        Validates it, because anyone with write access to a limiter server can forge one.

        Raises:
            LimiterUnavailable: the text is not a valid record.
        """
        try:
            return cls(**_validate(json.loads(text)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"is invalid: {type(error).__name__}: {str(error)[:200]}"
            raise LimiterUnavailable("the record of the limiter's ring", reason) from error

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def epoch(self) -> int:
        """The number of records so far, including this one."""
        return self.version // _NONCE_RANGE

    @property
    def is_moving(self) -> bool:
        return bool(self.former)

    @property
    def members(self) -> tuple[str, ...]:
        """All nodes that were neither removed nor lost."""
        return self.active + self.drained

    @property
    def exporters(self) -> tuple[str, ...]:
        """Nodes, except lost ones, that may have the state of moving domains."""
        names = (node for nodes in self.former for node in nodes if node not in self.lost)
        return tuple(dict.fromkeys(names))

    @cached_property
    def ring(self) -> Ring:
        return Ring(self.active)

    @cached_property
    def _former_rings(self) -> tuple[Ring, ...]:
        return tuple(Ring(nodes) for nodes in self.former)

    def get_former_owners(self, key: str) -> tuple[str, ...]:
        """Return the nodes that decided for a domain while `former` applied, oldest first."""
        return tuple(dict.fromkeys(ring.node_for(key) for ring in self._former_rings))

    def share(self, node: str) -> float:
        """
        Return the share of all domains for which a node decides, from 0 to 1, accurate to about one
        percent.
        """
        if node not in self.active:
            return 0.0
        owned_count = sum(
            self.ring.node_for(f"{number}.example") == node for number in range(_SAMPLE_SIZE)
        )
        return owned_count / _SAMPLE_SIZE

    def has_former_owner(self, key: str) -> bool:
        """Return True if a node other than a domain's owner may have its state."""
        owner = self.ring.node_for(key)
        return any(ring.node_for(key) != owner for ring in self._former_rings)

    def with_active(self, node: str) -> RingRecord:
        """Return a record with one more active node, or this one if the node is already active."""
        if node in self.active:
            return self
        drained = tuple(name for name in self.drained if name != node)
        lost = tuple(name for name in self.lost if name != node)
        return self._with_move((*self.active, node), drained=drained, lost=lost)

    def with_drained(self, node: str) -> RingRecord:
        """
        Return a record with a member made inactive, or this one if the member is not active.

        Raises:
            BadInput: the node is not a member, or no active node would be left.
        """
        self._check_member(node)
        if node in self.drained:
            return self
        return self._with_move(self._active_without(node), drained=(*self.drained, node))

    def without_drained(self, node: str) -> RingRecord:
        """Return the record without a drained node; see `with_drained`."""
        if node not in self.drained:
            return self
        return self._next(drained=tuple(name for name in self.drained if name != node))

    def with_lost(self, node: str) -> RingRecord:
        """
        Return the record without a node that cannot hand over its state; see `with_drained`.

        Returns this record if the node is already lost.
        """
        if node in self.lost:
            return self
        if node not in self.exporters:
            self._check_member(node)
        active = self._active_without(node) if node in self.active else self.active
        drained = tuple(name for name in self.drained if name != node)
        if node in self.drained and node not in self.exporters:
            return self._next(drained=drained)
        return self._with_move(active, drained=drained, lost=(*self.lost, node))

    def with_moves_done(self, *, restart: bool = False) -> RingRecord:
        """
        Return the record to publish after all domains have moved.

        Args:
            restart: True if state was lost, so that every domain waits one interval.
        """
        new_record = self._next(former=(), lost=())
        return replace(new_record, restart_version=new_record.version) if restart else new_record

    def _check_member(self, node: str) -> None:
        if node not in self.members:
            raise BadInput(f"{node} is not a limiter node; the nodes are {', '.join(self.members)}")

    def _active_without(self, node: str) -> tuple[str, ...]:
        active = tuple(name for name in self.active if name != node)
        if not active:
            raise BadInput(f"{node} is the only active node; add another one first")
        return active

    def _with_move(self, active: tuple[str, ...], **changes: tuple[str, ...]) -> RingRecord:
        return self._next(active=active, former=(*self.former, self.active), **changes)

    def _next(self, **changes: tuple[str, ...] | tuple[tuple[str, ...], ...]) -> RingRecord:
        version = (self.epoch + 1) * _NONCE_RANGE + secrets.randbelow(_NONCE_RANGE)
        return replace(self, version=version, **changes)  # type: ignore[arg-type]


def _validate(values: dict[str, Any]) -> dict[str, Any]:
    """Return a record's known fields. Raises ValueError or similar if it is invalid."""
    active, drained, lost = (_parse_names(values[name]) for name in ("active", "drained", "lost"))
    former = values["former"]
    if not active or set(active) & set(drained) or len(former) > _MAX_FORMER_RINGS:
        raise ValueError("its nodes contradict each other")
    lease_s = float(values["lease_s"])
    if not 0 < lease_s <= _MAX_LEASE_S:
        raise ValueError(f"its lease is {lease_s} s")
    return {
        "version": _parse_version(values["version"]),
        "active": active,
        "drained": drained,
        "lost": lost,
        "former": tuple(map(_parse_names, former)),
        "restart_version": _parse_version(values["restart_version"]),
        "lease_s": lease_s,
    }


def _parse_version(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise ValueError("a version is a number from 0 to 2^53")
    return value


def _parse_names(values: Any) -> tuple[str, ...]:
    """Check that names of nodes are unique, and are `redis.url` or URLs without credentials."""
    if not isinstance(values, list) or len(values) > _MAX_NODES:
        raise ValueError(f"nodes must be a list of at most {_MAX_NODES}")
    for name in values:
        if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS:
            raise ValueError("the name of a node is not a short string")
        if name != SHARED_NAME and ("@" in name or not is_usable(name)):
            raise ValueError("the name of a node is not a Redis URL without credentials")
    if len(set(values)) < len(values):
        raise ValueError("a node is listed twice")
    return tuple(values)
