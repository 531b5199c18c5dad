"""The last outcomes of each domain, for operators: one small string a domain in Redis."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from aragog.fetcher.outcome import OutcomeKind
from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.scripts import load_script

KEPT = 10
KEPT_S = 86_400
# One byte for each outcome, in stored strings: never changed.
_CODES = {
    OutcomeKind.FETCHED: b"F",
    OutcomeKind.NOT_MODIFIED: b"N",
    OutcomeKind.REDIRECTED: b"R",
    OutcomeKind.REFUSED: b"r",
    OutcomeKind.BLOCKED: b"b",
    OutcomeKind.GONE: b"G",
    OutcomeKind.BUSY: b"B",
    OutcomeKind.UNREACHABLE: b"U",
    OutcomeKind.TOO_LARGE: b"T",
    OutcomeKind.UNREADABLE: b"u",
}
_KINDS = {code[0]: kind for kind, code in _CODES.items()}
_AT = struct.Struct("<d")


@dataclass(frozen=True, slots=True)
class LastOutcomes:
    """The outcomes of the last fetches from a domain."""

    at_ms: int
    """When the latest was recorded, by the server's clock."""
    kinds: tuple[OutcomeKind, ...]
    """The last outcomes, at most `KEPT`, oldest first."""


class OutcomeLog:
    """Outcomes by limiter key; a domain is forgotten a day after its last one."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}outcomes:"

    def note(self, outcomes: Mapping[str, Sequence[OutcomeKind]]) -> None:
        """Add the outcomes of domains, in one round trip; never fails a task."""
        if not outcomes:
            return
        codes = [b"".join(_CODES[kind] for kind in kinds[-KEPT:]) for kinds in outcomes.values()]
        with contextlib.suppress(redis.RedisError):
            load_script("aragog.pipeline", "note_outcomes").run(
                self._redis,
                domains=[self._prefix + key for key in outcomes],
                kept=KEPT,
                kept_s=KEPT_S,
                codes=codes,
            )

    def read(self, keys: Sequence[str]) -> dict[str, LastOutcomes]:
        """
        The last outcomes of those domains that have any; one round trip.

        Raises:
            BrokerUnavailable: Redis does not answer.
        """
        if not keys:
            return {}
        with redis_errors("last outcomes"):
            texts: Any = self._redis.mget([self._prefix + key for key in keys])
        return {
            key: LastOutcomes(
                int(_AT.unpack_from(value)[0]), tuple(_KINDS[code] for code in value[_AT.size :])
            )
            for key, value in zip(keys, texts, strict=True)
            if value
        }
