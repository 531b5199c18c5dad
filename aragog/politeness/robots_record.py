"""
What the robots cache keeps of one origin: a head of 37 bytes and the body, compressed.

Pure: bytes in and out. The head is read and patched by lua/robots_get.lua and robots_put.lua.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import NamedTuple

HEAD = struct.Struct("<B8shdhdd")
# RFC 9309 2.5: at least the first 500 KiB count; what is behind is not kept.
MAX_BODY_BYTES = 500 * 1024
# No answer at all: DNS, connect, TLS, timeout.
NO_STATUS = -1


class Record(NamedTuple):
    """The head of a record. Instants are ms since the epoch."""

    used: int
    """1 once somebody asked for the rules since they were fetched."""
    version: bytes
    """Of status and body, 8 bytes: equal versions are equal rules."""
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


def pack_record(status: int | None, body: bytes, at_ms: int) -> bytes:
    """The record of an answer that came at `at_ms`; of a body only that of a 2xx is kept."""
    code = NO_STATUS if status is None else status
    kept = body[:MAX_BODY_BYTES] if 200 <= code < 300 else b""
    version = hashlib.blake2b(b"%d " % code + kept, digest_size=8).digest()
    failing_since = at_ms if is_error(status) else 0
    head = HEAD.pack(0, version, code, at_ms, code, at_ms, failing_since)
    return head + (zlib.compress(kept) if kept else b"")


def unpack_head(record: bytes) -> Record:
    """The head of a record."""
    return Record(*HEAD.unpack_from(record))


def unpack_body(record: bytes) -> bytes:
    """The body in a whole record."""
    packed = record[HEAD.size :]
    return zlib.decompressobj().decompress(packed, MAX_BODY_BYTES) if packed else b""
