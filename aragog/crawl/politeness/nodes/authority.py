"""The authoritative record of the limiter's ring (list of nodes), in the shared Redis."""

from __future__ import annotations

from typing import cast

from aragog.crawl.politeness.nodes.record import RingRecord
from aragog.errors import LimiterUnavailable
from aragog.runtime.secret import without_password
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

TIMEOUT_S = 2.0


class RingAuthority:
    """
    Reads and replaces the ring's record, in one round trip each. Connects on first use.

    Every method raises `LimiterUnavailable` if the server does not respond.

    Args:
        url: the server's URL.
        prefix: the start of every key.
    """

    def __init__(self, url: str, prefix: str) -> None:
        self._where = f"{without_password(url)}, ring of the limiter"
        self._key = f"{prefix}limiter.ring"
        self._redis = connect(url, timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, attempts=2)
        self._last_record: tuple[bytes, RingRecord] | None = None

    def read(self) -> RingRecord | None:
        """Return the record, or None."""
        with redis_errors(self._where, LimiterUnavailable):
            packed = cast("bytes | None", self._redis.hget(self._key, "record"))
        if packed is None:
            return None
        if self._last_record is None or self._last_record[0] != packed:
            self._last_record = packed, RingRecord.parse(packed)
        return self._last_record[1]

    def publish(self, record: RingRecord, *, replaces: int | None = None) -> RingRecord:
        """
        Store a record. Returns the one that is stored afterward.

        Args:
            record: ignored unless its version is higher than the stored one.
            replaces: the version that must be stored now; 0 for no record, None for any.
        """
        with redis_errors(self._where, LimiterUnavailable):
            stored = load_script("aragog.crawl.politeness", "ring_publish").run(
                self._redis,
                ring=self._key,
                version=record.version,
                record=record.pack(),
                replaces="" if replaces is None else replaces,
            )
        return RingRecord.parse(stored)

    def is_first_ring_of(self, node: str) -> bool:
        """Return True in the first call for a node, from any process. Later calls return False."""
        with redis_errors(self._where, LimiterUnavailable):
            return bool(self._redis.hsetnx(self._key, f"known:{node}", 1))

    def close(self) -> None:
        self._redis.close()
