"""
Moves the state of domains to another limiter node.

A node only exports state to callers with the same ring (list of nodes). It then refuses callers
with an earlier ring, so the state no longer changes, and several processes can read it at once. The
new owner accepts the state once per ring, and makes no decisions about the domain until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from aragog.crawl.politeness.nodes.node import LimiterNode
from aragog.crawl.politeness.nodes.record import RingRecord

# How many domains one call handles, because Redis serves no other client in the meantime.
MAX_DOMAINS_PER_CALL = 200


class MovedDomain(NamedTuple):
    """A domain's state for its new owner."""

    key: str
    owner_state_counts: bool
    """True if the new owner decided for the domain before, so its own state counts too."""
    closed_us: float
    """How long a lost node's permit may still be valid; 0 if no node is lost."""
    exports: Sequence[bytes]
    """The exported state of each former owner that has any."""


def take_over(
    record: RingRecord,
    nodes: Mapping[str, LimiterNode],
    owner: LimiterNode,
    keys: Sequence[str],
) -> None:
    """
    Move the state of domains to their new owner, unless it has already arrived there.

    For each 200 domains, takes one round trip if all have arrived, and otherwise two plus one per
    former owner. Safe to repeat, also concurrently.

    Args:
        record: the ring.
        nodes: the ring's nodes by name.
        owner: the node that decides for all of `keys`.
        keys: domains whose owner has changed.

    Raises:
        OtherRing: a node has a different ring.
        LimiterUnavailable: a node did not respond.
    """
    for start in range(0, len(keys), MAX_DOMAINS_PER_CALL):
        missing = _missing_domains(owner, keys[start : start + MAX_DOMAINS_PER_CALL])
        if missing:
            _import(owner, _collect_exports(record, nodes, owner, missing))


def _missing_domains(owner: LimiterNode, keys: Sequence[str]) -> list[str]:
    reply = owner.call(
        "domain_arrived",
        epoch=owner.key("slots", "epoch"),
        arrived=owner.key("slots", "arrived"),
        ring=f"{owner.version:.0f}",
        domains=keys,
    )
    return [key for key, has_arrived in zip(keys, reply[8:], strict=True) if not has_arrived]


def _collect_exports(
    record: RingRecord,
    nodes: Mapping[str, LimiterNode],
    owner: LimiterNode,
    keys: Sequence[str],
) -> list[MovedDomain]:
    former_owners = {key: record.get_former_owners(key) for key in keys}
    exports: dict[str, list[bytes]] = {key: [] for key in keys}
    for name in record.exporters:
        moving = [key for key in keys if name in former_owners[key] and name != owner.name]
        for key, export in zip(moving, _export(nodes[name], moving), strict=True):
            exports[key] += [export] if export else []
    closed_us = record.lease_s * 1e6 + owner.hold_us
    return [
        MovedDomain(
            key,
            owner.name in former_owners[key],
            0.0 if set(record.lost).isdisjoint(former_owners[key]) else closed_us,
            exports[key],
        )
        for key in keys
    ]


def _state_keys(node: LimiterNode, keys: Sequence[str]) -> list[str]:
    return [node.key(kind, key) for key in keys for kind in ("slot", "concurrent")]


def _export(node: LimiterNode, keys: Sequence[str]) -> list[bytes]:
    if not keys:
        return []
    reply = node.run(
        "domain_export",
        epoch=node.key("slots", "epoch"),
        pairs=_state_keys(node, keys),
        ring=f"{node.version:.0f}",
    )
    return cast("list[bytes]", reply)


def _import(owner: LimiterNode, domains: Sequence[MovedDomain]) -> None:
    owner.call(
        "domain_import",
        epoch=owner.key("slots", "epoch"),
        arrived=owner.key("slots", "arrived"),
        failing=owner.key("slots", "failing"),
        pairs=_state_keys(owner, [domain.key for domain in domains]),
        ring=f"{owner.version:.0f}",
        domains=[
            value
            for domain in domains
            for value in (
                domain.key,
                int(domain.owner_state_counts),
                domain.closed_us,
                len(domain.exports),
                *domain.exports,
            )
        ],
    )
