"""Calls the limiter's scripts on one server."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from aragog.crawl.politeness.latencies import Latency
from aragog.crawl.politeness.nodes.node import LimiterNode
from aragog.crawl.politeness.slots import VERDICTS, PermitDecision, Slot, to_latency_steps

# A permit expires after this time if its holder dies or hangs.
PERMIT_TTL_US = 750_000
# A permit may be granted for a time at most this far ahead.
MAX_GRANT_LEAD_US = 8_000
# A killed sender's concurrency slot (`max_concurrent`) expires after this time.
CONCURRENCY_TTL_S = 120

_PRE_GRANTED, _REFUSED, _FAILING = 1, 2, 4
_SLOT_REQUEST = struct.Struct("<ddIB")
_SLOT_REPLY = struct.Struct("<dB")
_PERMIT_REPLY = struct.Struct("<dBd")
_PERMIT_RELEASE = struct.Struct("<dIdBHf")
_PAUSE = struct.Struct("<ddd")
_RESERVE_HEADER = struct.Struct("<dd")


class SlotArguments(NamedTuple):
    """The arguments of `reserve` for one request."""

    interval_us: float
    max_wait_us: float
    """How far ahead the slot may be, in microseconds."""
    token: int
    """Identifies the slot's owner; 0 for no pre-granted permit."""
    urgent: bool


class ReservedSlot(NamedTuple):
    """The result of `reserve` for one request."""

    at_us: float
    """The time of the slot, or when to ask again after a refusal."""
    is_pre_granted: bool
    """True if the slot includes the permit, because the domain was idle."""
    is_refused: bool
    """True if the next free slot is later than the request can wait."""
    is_failing: bool
    """True if the domain has had errors recently."""


def reserve(
    node: LimiterNode,
    keys: Sequence[str],
    arguments: Iterable[SlotArguments],
) -> tuple[float, Iterator[ReservedSlot]]:
    """
    Reserve a slot (time to send) for each key, in the given order.

    Args:
        node: the server.
        keys: the domains' limiter keys.
        arguments: one for each key.

    Returns:
        The server's time in microseconds, and a result per key.
    """
    prefix = node.key("slot", "")
    reply = node.call(
        "reserve",
        epoch=node.key("slots", "epoch"),
        slots=[prefix + key for key in keys],
        ring=_RESERVE_HEADER.pack(node.version, node.hold_us),
        requests=b"".join(_SLOT_REQUEST.pack(*values) for values in arguments),
    )
    (now_us,) = struct.unpack_from("<d", reply)
    return now_us, (
        ReservedSlot(
            at_us, bool(flags & _PRE_GRANTED), bool(flags & _REFUSED), bool(flags & _FAILING)
        )
        for at_us, flags in _SLOT_REPLY.iter_unpack(reply[8:])
    )


def acquire_permit(
    node: LimiterNode, slot: Slot, *, max_concurrent: int, window_us: float
) -> PermitDecision:
    """
    Request the permit of a slot.

    Args:
        node: the server.
        slot: the reserved slot.
        max_concurrent: the domain's limit; 0 for unlimited.
        window_us: how long after its slot a request may be sent.
    """
    reply = node.call(
        "acquire_permit",
        epoch=node.key("slots", "epoch"),
        slot=node.key("slot", slot.key),
        running=node.key("concurrent", slot.key),
        slot_us=slot.at_us,
        interval_us=slot.interval_us,
        token=slot.token,
        hold_us=PERMIT_TTL_US,
        lead_us=MAX_GRANT_LEAD_US,
        window_us=window_us,
        max_running=max_concurrent,
        running_ttl_us=CONCURRENCY_TTL_S * 1_000_000,
        urgent=int(slot.urgent),
        ring=node.version,
    )
    _, verdict, at_us = _PERMIT_REPLY.unpack(reply)
    return PermitDecision(VERDICTS[verdict], at_us)


class PermitReport(NamedTuple):
    """The arguments of `release_permits` for one slot."""

    slot: Slot
    at_us: float
    """When its request was written; 0 if it was not."""
    latency: Latency
    """The latency of its domain's earlier responses."""
    max_slowdown: float
    """The largest factor by which latency may slow the domain down; 1 turns this off."""


def release_permits(node: LimiterNode, reports: Sequence[PermitReport]) -> list[int]:
    """
    Release slots' permits, and report their domains' latencies.

    Returns the indexes of slots whose domains have moved to another node. Nothing was changed for
    them.
    """
    reply = node.call(
        "release_permit",
        slots=[node.key("slot", report.slot.key) for report in reports],
        departures=b"".join(
            _PERMIT_RELEASE.pack(
                report.at_us, report.slot.token, report.slot.interval_us,
                to_latency_steps(report.max_slowdown),
                report.latency.servers, report.latency.log_ms,
            )
            for report in reports
        ),
    )  # fmt: skip
    return [number - 1 for (number,) in struct.iter_unpack("<H", reply[8:])]


def pause_until(node: LimiterNode, key: str, until_us: float, interval_us: float) -> None:
    """Grant no permits for `key` before `until_us`, on the server's clock."""
    pause = _PAUSE.pack(until_us, interval_us, node.version)
    epoch = node.key("slots", "epoch")
    node.call("pause_until", epoch=epoch, slot=node.key("slot", key), pause=pause)


def report(
    node: LimiterNode,
    results: Sequence[tuple[str, bool]],
    *,
    errors_to_slow: int,
    max_factor: int,
) -> list[int]:
    """
    Report whether requests succeeded.

    Returns the backoff factor of each domain in percent; 0 if it had no errors recently.
    """
    prefix = node.key("slot", "")
    reply = node.call(
        "report",
        epoch=node.key("slots", "epoch"),
        failing=node.key("slots", "failing"),
        slots=[prefix + key for key, _ in results],
        results=bytes(ok for _, ok in results),
        errors_to_slow=errors_to_slow,
        max_factor=max_factor,
        prefix_bytes=len(prefix.encode()),
        ring=f"{node.version:.0f}",
    )
    return [factor for (factor,) in struct.iter_unpack("<H", reply[8:])]


def end_request(node: LimiterNode, key: str, token: int) -> None:
    """Free a request's concurrency slot, if it has one."""
    node.call(
        "end_request",
        epoch=node.key("slots", "epoch"),
        running=node.key("concurrent", key),
        ring=f"{node.version:.0f}",
        token=token,
    )
