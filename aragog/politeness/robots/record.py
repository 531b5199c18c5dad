"""
The record of one origin in the robots cache: a head of 37 bytes and the packed, compressed rules.

Pure. The scripts robots_get.lua and robots_put.lua read and update the head.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import NamedTuple

HEAD = struct.Struct("<B8shdhdd")
# The packed rules of a body of 500 KiB are smaller.
MAX_PACKED_BYTES = 4 * 1024 * 1024
# There was no response: DNS, connect, TLS, timeout.
NO_STATUS = -1


class RobotsRecord(NamedTuple):
    """The head of a record. Instants are ms since the epoch."""

    used: int
    """1 if the rules were used since they were fetched."""
    version: bytes
    """8-byte hash of status and rules: equal versions mean equal rules."""
    status: int
    """Of the response that the rules come from; -1: there was none."""
    fetched_at_ms: float
    """When that response arrived."""
    tried_status: int
    """Of the last response, which may be an error that kept the older rules."""
    tried_at_ms: float
    """When the last response arrived."""
    failing_since_ms: float
    """When the current series of errors started; 0: the last response was good."""

    @property
    def good(self) -> bool:
        """True when the rules come from a usable response."""
        return not is_error(self.status)


def is_error(status: int | None) -> bool:
    """Report whether a response is an error (none, 429, 5xx), which disallows everything."""
    return status is None or status == 429 or not 200 <= status < 500


def pack_record(status: int | None, packed: bytes, at_ms: int) -> bytes:
    """
    Build the record of a response that arrived at `at_ms`.

    Args:
        status: of the response; None: there was none.
        packed: the rules of a 2xx, from `RobotsRules.packed`; empty for all others.
        at_ms: milliseconds since the epoch.
    """
    code = NO_STATUS if status is None else status
    version = hashlib.blake2b(b"%d " % code + packed, digest_size=8).digest()
    failing_since = at_ms if is_error(status) else 0
    head = HEAD.pack(0, version, code, at_ms, code, at_ms, failing_since)
    return head + (zlib.compress(packed, 3) if packed else b"")


def unpack_head(record: bytes) -> RobotsRecord:
    """Decode the head of a record."""
    return RobotsRecord(*HEAD.unpack_from(record))


def unpack_rules(record: bytes) -> bytes:
    """Return the packed rules in a record; empty if it has none."""
    packed = record[HEAD.size :]
    return zlib.decompressobj().decompress(packed, MAX_PACKED_BYTES) if packed else b""
