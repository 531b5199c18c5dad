"""
The state of an origin's rules, and their record in the robots cache (Redis).

Rules are valid as long as RFC 9309, sections 2.3.1 and 2.4, says:

    2xx, 4xx              good: fresh for `robots_fresh_s`, usable for `robots_usable_s`
    429, 5xx, no response nothing may be fetched, and robots.txt is requested again after
                          `robots_error_s`; older good rules stay in use as long as they are usable

A record consists of a head of 37 bytes, the validators for a conditional request (ETag, date), and
the packed, compressed rules. robots_get.lua and robots_put.lua read and update the head.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.tdm_file import TdmRule
from aragog.settings import PolitenessSettings

HEAD = struct.Struct("<B8shdhdd")
# An upper limit on the packed rules of a 500 KiB body.
MAX_PACKED_BYTES = 4 * 1024 * 1024
# Stored instead of a status if there was no usable response for an unknown reason. Lower codes
# stand for a reason in `FAILURES`.
NO_STATUS = -1
FAILURES = ("dns", "connect", "tls", "timeout", "reset", "protocol")
"""Reasons for a missing response, as in `aragog.fetch_record.outcome.UnreachableKind`. Only
append."""
# Longer validators are not stored.
MAX_VALIDATOR_CHARS = 200
# Maximum size of the validators in a record.
MAX_VALIDATORS_BYTES = 1_000
# Rules from an older parser are fetched in full again, because it may have skipped lines.
PARSER_VERSION = 3
_LENGTH = struct.Struct("<H")
RECORD_ERRORS = (struct.error, zlib.error, ValueError, TypeError, LookupError)
"""Raised for a record in another version's format."""


class RulesState(Enum):
    """What to do with an origin's rules."""

    FRESH = "fresh"
    """Use them."""
    STALE = "stale"
    """Use them, and request a refresh."""
    MISSING = "missing"
    """Fetch robots.txt first."""


@dataclass(frozen=True, slots=True)
class CachedRules:
    """The cached state of one origin's rules."""

    state: RulesState
    rules: RobotsRules | None = None
    """None in the state MISSING."""
    fetched_at_ms: int | None = None
    """When the response with these rules arrived."""
    status: int | None = None
    """HTTP status of that response. None if MISSING or without a response."""
    unreachable: bool = False
    """True if nothing may be fetched until `retry_at_ms`, because robots.txt was unreachable."""
    retry_at_ms: int | None = None
    """When robots.txt is requested again after an error. None after a good response."""
    failure: str | None = None
    """Why there was no response (one of `FAILURES`). None if unknown, or after a response."""


MISSING = CachedRules(RulesState.MISSING)


class Validators(NamedTuple):
    """The validators of a conditional request for robots.txt (RFC 9110 section 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


NO_VALIDATORS = Validators()


class RobotsResult(NamedTuple):
    """The result of fetching one robots.txt; see `RobotsCache.put`."""

    origin: str
    status: int | None
    """304 means that the stored rules have not changed."""
    body: bytes
    fetched_at_ms: int
    validators: Validators = NO_VALIDATORS
    """Validators of a 2xx response."""
    tdm: tuple[TdmRule, ...] | None = None
    """The rules of the origin's tdmrep.json, or None if it was not requested."""
    failure: str | None = None
    """Why there is no status (one of `FAILURES`), or None."""


def current_state(
    record: RobotsRecord,
    rules: RobotsRules,
    settings: PolitenessSettings,
    *,
    now_ms: int,
    ahead_ms: int,
) -> CachedRules:
    """
    Return the current state of a record and its rules.

    Args:
        record: its times are on the server's clock.
        rules: the rules in the record.
        settings: how long rules are valid.
        now_ms: the time on the caller's clock. The result's times are on this clock, too.
        ahead_ms: how far the server's clock is ahead of the caller's.
    """
    age_s = (now_ms + ahead_ms - record.fetched_at_ms) / 1000
    since_last_response_s = (now_ms + ahead_ms - record.last_response_at_ms) / 1000
    has_failed_recently = (
        record.failing_since_ms > 0 and since_last_response_s < settings.robots_error_s
    )
    if record.is_good:
        if age_s >= settings.robots_usable_s:
            return MISSING
        is_fresh = has_failed_recently or age_s < settings.robots_fresh_s
    elif has_failed_recently:
        is_fresh = True
    else:
        return MISSING
    retry_at_ms = record.last_response_at_ms + settings.robots_error_s * 1000
    return CachedRules(
        state=RulesState.FRESH if is_fresh else RulesState.STALE,
        rules=rules,
        fetched_at_ms=int(record.fetched_at_ms) - ahead_ms,
        status=record.status if record.status > 0 else None,
        unreachable=not record.is_good,
        retry_at_ms=int(retry_at_ms) - ahead_ms if record.failing_since_ms else None,
        failure=record.failure,
    )


class RobotsRecord(NamedTuple):
    """The head of a record. Times are in ms since the epoch."""

    used: int
    """1 if the rules were used since they were fetched."""
    version: bytes
    """An 8-byte hash of status and rules. Equal versions mean equal rules."""
    status: int
    """Status of the response with the rules; a negative code for the reason if there was none."""
    fetched_at_ms: float
    """When that response arrived."""
    last_status: int
    """Status of the latest response. After an error, it may differ from `status`, because older
    rules were kept."""
    last_response_at_ms: float
    """When the latest response arrived."""
    failing_since_ms: float
    """When the current series of errors started; 0 after a good response."""

    @property
    def failure(self) -> str | None:
        """Why there was no response, one of `FAILURES`."""
        index = NO_STATUS - 1 - self.status
        return FAILURES[index] if 0 <= index < len(FAILURES) else None

    @property
    def is_good(self) -> bool:
        """True if the rules come from a usable response."""
        return not is_error(self.status)


def is_error(status: int | None) -> bool:
    """Return True for an error (no response, 429, 5xx). Errors disallow everything."""
    return status is None or status == 429 or not 200 <= status < 500


def pack_record(
    status: int | None,
    packed: bytes,
    at_ms: int,
    validators: Validators = NO_VALIDATORS,
    failure: str | None = None,
) -> bytes:
    """
    Build the record of a response that arrived at `at_ms`.

    Args:
        status: the status, or None if there was no response.
        packed: the rules from a 2xx or a tdmrep.json (`RobotsRules.packed`); otherwise empty.
        at_ms: milliseconds since the epoch.
        validators: the validators of the response.
        failure: why there was no response. Only values in `FAILURES` are stored.
    """
    code = _encode_failure(failure) if status is None else status
    version = hashlib.blake2b(b"%d " % code + packed, digest_size=8).digest()
    failing_since = at_ms if is_error(status) else 0
    head = HEAD.pack(0, version, code, at_ms, code, at_ms, failing_since)
    packed_validators = _pack_validators(validators, at_ms) if packed else b""
    return (
        head
        + _LENGTH.pack(len(packed_validators))
        + packed_validators
        + (zlib.compress(packed, 3) if packed else b"")
    )


def _encode_failure(failure: str | None) -> int:
    return NO_STATUS - 1 - FAILURES.index(failure) if failure in FAILURES else NO_STATUS


def _pack_validators(validators: Validators, at_ms: int) -> bytes:
    stored_validators = [v if v and len(v) <= MAX_VALIDATOR_CHARS else None for v in validators]
    return (
        json.dumps([PARSER_VERSION, at_ms, *stored_validators]).encode()
        if any(stored_validators)
        else b""
    )


def unpack_validators(record: bytes, *, since_ms: float) -> Validators:
    """
    Return the validators; empty if the rules must be fetched in full.

    Args:
        record: at least its head and the next `MAX_VALIDATORS_BYTES` bytes.
        since_ms: older rules are fetched in full again, even after 304 responses.
    """
    start = HEAD.size + _LENGTH.size
    if len(record) < start or not 200 <= unpack_head(record).status < 300:
        return Validators()
    (length,) = _LENGTH.unpack_from(record, HEAD.size)
    try:
        version, at_ms, etag, last_modified = json.loads(record[start : start + length])
    except ValueError:
        return Validators()
    if version != PARSER_VERSION or at_ms < since_ms:
        return Validators()
    return Validators(etag, last_modified)


def unpack_head(record: bytes) -> RobotsRecord:
    """Decode a record's head."""
    return RobotsRecord(*HEAD.unpack_from(record))


def unpack_rules(record: bytes) -> bytes:
    """Return a record's packed rules; empty if there are none."""
    if len(record) < HEAD.size + _LENGTH.size:
        return b""
    (length,) = _LENGTH.unpack_from(record, HEAD.size)
    packed = record[HEAD.size + _LENGTH.size + length :]
    return zlib.decompressobj().decompress(packed, MAX_PACKED_BYTES) if packed else b""
