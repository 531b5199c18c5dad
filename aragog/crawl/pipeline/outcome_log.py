"""
Records each domain's most recent outcomes, and the domains that refuse us, for operators.

Each domain has one small string in Redis. A domain refuses us if its most recent `REFUSALS`
responses were all refusals (401, 402, 403, 451 or 429). Timeouts, 5xx responses and robots rules
neither extend nor end a series.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import redis

from aragog.fetch_record.outcome import OutcomeKind
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

MAX_OUTCOMES = 10
TTL_S = 86_400
REFUSALS = 10
"""After this many consecutive refusals, a domain counts as refusing us."""
REFUSING_TTL_S = 30 * 86_400
MAX_REFUSING_DOMAINS = 10_000
# One byte per outcome. Never change these bytes, because they are stored.
_CODES = {
    OutcomeKind.FETCHED: b"F",
    OutcomeKind.NOT_MODIFIED: b"N",
    OutcomeKind.REDIRECTED: b"R",
    OutcomeKind.REFUSED: b"r",
    OutcomeKind.BLOCKED: b"b",
    OutcomeKind.UNAUTHORIZED: b"1",
    OutcomeKind.PAYMENT_REQUIRED: b"2",
    OutcomeKind.FORBIDDEN: b"3",
    OutcomeKind.UNAVAILABLE_LEGALLY: b"5",
    OutcomeKind.GONE: b"G",
    OutcomeKind.BUSY: b"B",
    OutcomeKind.UNREACHABLE: b"U",
    OutcomeKind.TOO_LARGE: b"T",
    OutcomeKind.UNREADABLE: b"u",
    OutcomeKind.RESERVED: b"s",
}
_RATE_LIMITED = b"9"
"""A Busy outcome with status 429 is directed at us, whereas 503 only describes the server."""
_REFUSAL_CODES = b"12359"
_UNANSWERED_CODES = b"RrbBU"
_KINDS_BY_CODE = {code[0]: kind for kind, code in _CODES.items()} | {
    _RATE_LIMITED[0]: OutcomeKind.BUSY
}
_HEADER = struct.Struct("<dddI")


class DomainOutcome(NamedTuple):
    """The outcome of one fetch from a domain."""

    kind: OutcomeKind
    status: int | None = None

    @property
    def code(self) -> bytes:
        is_limited = self.kind is OutcomeKind.BUSY and self.status == 429
        return _RATE_LIMITED if is_limited else _CODES[self.kind]


@dataclass(frozen=True, slots=True)
class LastOutcomes:
    """The outcomes of the most recent fetches from a domain."""

    at_ms: int
    """When the latest outcome was recorded, by the Redis server's clock."""
    kinds: tuple[OutcomeKind, ...]
    """The outcomes, at most `MAX_OUTCOMES`, oldest first."""
    refused_since_ms: int = 0
    """When the current series of refusals started; 0 if the last response was not a refusal."""
    refused_at_ms: int = 0
    """When the most recent refusal in the series was recorded, or 0."""
    refusals: int = 0

    @property
    def refuses_us(self) -> bool:
        return self.refusals >= REFUSALS


class OutcomeLog:
    """
    Recent outcomes, by each domain's rate-limiter key. Reading may raise `BrokerUnavailable`.

    A domain's outcomes are deleted one day after the most recent one, or after 30 days if the
    domain refuses us.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}outcomes:"
        self._refusing = f"{prefix}refusing"

    def note(self, outcomes: Mapping[str, Sequence[DomainOutcome]]) -> None:
        """Add outcomes by the domain's rate-limiter key. Takes one round trip. Never raises."""
        if not outcomes:
            return
        codes = [
            b"".join(outcome.code for outcome in domain_outcomes)
            for domain_outcomes in outcomes.values()
        ]
        with contextlib.suppress(redis.RedisError):
            load_script("aragog.crawl.pipeline", "note_outcomes").run(
                self._redis,
                refusing=self._refusing,
                domains=[self._prefix + key for key in outcomes],
                kept=MAX_OUTCOMES,
                kept_s=TTL_S,
                refusals=REFUSALS,
                refusing_kept_s=REFUSING_TTL_S,
                max_refusing=MAX_REFUSING_DOMAINS,
                prefix_bytes=len(self._prefix.encode()),
                refusal_codes=_REFUSAL_CODES,
                unanswered_codes=_UNANSWERED_CODES,
                codes=codes,
            )

    def read(self, keys: Sequence[str]) -> dict[str, LastOutcomes]:
        """Return the outcomes of the domains that have any. Takes one round trip."""
        if not keys:
            return {}
        with redis_errors("last outcomes"):
            texts: Any = self._redis.mget([self._prefix + key for key in keys])
        return {key: _unpack(value) for key, value in zip(keys, texts, strict=True) if value}

    def refusing_domains(self, count: int) -> list[str]:
        """Return the keys of domains that refuse us, the latest refusal first."""
        with redis_errors("domains that refuse us"):
            keys: Any = self._redis.zrevrange(self._refusing, 0, count - 1)
        return [key.decode() for key in keys]

    def count_refusing(self) -> int:
        """Return how many domains refuse us, at most `MAX_REFUSING_DOMAINS`."""
        with redis_errors("domains that refuse us"):
            count: Any = self._redis.zcard(self._refusing)
        return int(count)


def _unpack(value: bytes) -> LastOutcomes:
    at_ms, since_ms, last_ms, refusals = _HEADER.unpack_from(value)
    # A newer version may record outcomes that this version does not know.
    kinds = tuple(_KINDS_BY_CODE[code] for code in value[_HEADER.size :] if code in _KINDS_BY_CODE)
    return LastOutcomes(int(at_ms), kinds, int(since_ms), int(last_ms), refusals)
