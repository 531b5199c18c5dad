"""
What the robots cache keeps of one origin: a head of 37 bytes and the packed rules, compressed.

Pure: bytes in and out. The head is read and patched by lua/robots_get.lua and robots_put.lua.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import NamedTuple

HEAD = struct.Struct("<B8shdhdd")
# Packed rules of a body of 500 KiB stay below it.
MAX_PACKED_BYTES = 4 * 1024 * 1024
# No answer at all: DNS, connect, TLS, timeout.
NO_STATUS = -1


class RobotsRecord(NamedTuple):
    """The head of a record. Instants are ms since the epoch."""

    used: int
    """1 once somebody asked for the rules since they were fetched."""
    version: bytes
    """Of status and rules, 8 bytes: equal versions are equal rules."""
    status: int
    """Of the answer that the rules come from; -1: there was none."""
    fetched_at_ms: float
    """When that answer came."""
    tried_status: int
    """Of the last answer, which may have been an error that changed nothing."""
    tried_at_ms: float
    """When that came."""
    failing_since_ms: float
    """When the errors began; 0: the last answer was good."""

    @property
    def good(self) -> bool:
        """The rules come from an answer, not from the lack of one."""
        return not is_error(self.status)


def is_error(status: int | None) -> bool:
    """True for no answer, 429 and 5xx: nothing may be fetched, and it is asked for again soon."""
    return status is None or status == 429 or not 200 <= status < 500


def pack_record(status: int | None, packed: bytes, at_ms: int) -> bytes:
    """
    The record of an answer that came at `at_ms`.

    Args:
        status: of the answer; None: there was none.
        packed: the rules of a 2xx, as `RobotsRules.packed` gives them; empty for all others.
        at_ms: milliseconds since the epoch.
    """
    code = NO_STATUS if status is None else status
    version = hashlib.blake2b(b"%d " % code + packed, digest_size=8).digest()
    failing_since = at_ms if is_error(status) else 0
    head = HEAD.pack(0, version, code, at_ms, code, at_ms, failing_since)
    return head + (zlib.compress(packed, 3) if packed else b"")


def unpack_head(record: bytes) -> RobotsRecord:
    """The head of a record."""
    return RobotsRecord(*HEAD.unpack_from(record))


def unpack_rules(record: bytes) -> bytes:
    """The packed rules in a whole record; empty when it has none."""
    packed = record[HEAD.size :]
    return zlib.decompressobj().decompress(packed, MAX_PACKED_BYTES) if packed else b""
