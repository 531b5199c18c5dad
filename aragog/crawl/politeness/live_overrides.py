"""
Overrides that operators set while the crawler runs, shared by all processes, with their history.

Redis stores them in a hash by domain and key, and their changes in a stream. From the ID of the
last entry, a process knows whether its copy is current.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from aragog.crawl.politeness.quiet_hours import QuietHours, quiet_hours
from aragog.errors import BAD_INPUT, BadInput, BrokerUnavailable
from aragog.fetch_record.known_fields import known_fields
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors

log = logging.getLogger(__name__)
MAX_QPS = 10_000
KEYS = ("qps", "stopped", "quiet_hours")


@dataclass(frozen=True, slots=True)
class OverrideChange:
    """One entry of the history."""

    at_ms: int
    """The time of the change, on the server's clock."""
    who: str
    """A Flower login, or a user name on the machine."""
    domain: str
    """The domain or host that was changed."""
    what: str
    """`qps = 2`, `qps removed`, `stopped`, `resumed`, `quiet hours = …` or `… removed`."""
    reason: str = ""
    """The operator's reason."""


class LiveOverrides:
    """
    The cluster's live overrides. Thread-safe. Connects on first use.

    Every method raises `BrokerUnavailable` if Redis does not respond.

    Args:
        redis_url: URL of the shared Redis.
        prefix: the start of every key.
        max_entries: maximum length of the history.
        max_chars: maximum length of a string in an entry.
    """

    def __init__(
        self,
        redis_url: str,
        prefix: str = "aragog:",
        *,
        max_entries: int = 10_000,
        max_chars: int = 200,
    ) -> None:
        self._max_entries, self._max_chars = max_entries, max_chars
        self._redis = connect(redis_url, timeout_s=2.0, connect_timeout_s=2.0, attempts=2)
        self._values, self._history = f"{prefix}overrides", f"{prefix}overrides.history"
        self._last_version: bytes | None = None

    def changed_values(self) -> dict[str, dict[str, Any]] | None:
        """
        Return the values by domain (`qps`, `stopped`, `quiet_hours`), or None if they have not
        changed since the previous call.

        Takes one round trip, or two after a change.
        """
        with redis_errors("live overrides", BrokerUnavailable):
            latest: Any = self._redis.xrevrange(self._history, count=1)
            version = latest[0][0] if latest else b""
            if version == self._last_version:
                return None
            stored = cast("Mapping[bytes, bytes]", self._redis.hgetall(self._values))
        self._last_version = version
        overrides: dict[str, dict[str, Any]] = {}
        for field, value in stored.items():
            key, _, domain = field.decode().partition(":")
            if key not in KEYS:
                log.warning("ignoring an unknown live override for %s: %s", domain, key)
                continue
            overrides.setdefault(domain, {})[key] = _parse_value(key, value.decode())
        return overrides

    def set_qps(self, domain: str, qps: float | None, *, who: str, reason: str = "") -> None:
        """
        Set a domain's rate in requests/s, or remove it (None).

        Raises:
            BadInput: the rate is not above 0, or is too high.
        """
        if qps is not None and not 0 < qps <= MAX_QPS:
            raise BadInput(f"rate: must be above 0, up to {MAX_QPS} requests/s, got {qps:g}")
        what = "qps removed" if qps is None else f"qps = {qps:g}"
        self._change(
            f"qps:{domain}", None if qps is None else repr(qps), (who, domain, what, reason)
        )

    def set_quiet_hours(
        self, domain: str, hours: QuietHours | None, *, who: str, reason: str = ""
    ) -> None:
        """Set the hours in which a domain gets no requests, or remove them (None)."""
        what = "quiet hours removed" if hours is None else f"quiet hours = {hours}"
        value = None if hours is None else str(hours)
        self._change(f"quiet_hours:{domain}", value, (who, domain, what, reason))

    def set_stopped(self, domain: str, stopped: bool, *, who: str, reason: str = "") -> None:
        """Stop or resume all requests to a domain. Its URLs wait while it is stopped."""
        what = "stopped" if stopped else "resumed"
        self._change(f"stopped:{domain}", "1" if stopped else None, (who, domain, what, reason))

    def _change(self, field: str, value: str | None, entry: tuple[str, str, str, str]) -> None:
        who, domain, what, reason = (text[: self._max_chars] for text in entry)
        with redis_errors("live overrides", BrokerUnavailable), self._redis.pipeline() as pipe:
            if value is None:
                pipe.hdel(self._values, field)
            else:
                pipe.hset(self._values, field, value)
            pipe.xadd(
                self._history,
                {"who": who, "domain": domain, "what": what, "reason": reason},
                maxlen=self._max_entries,
                approximate=True,
            )
            pipe.execute()

    def history(self, count: int = 20, domain: str | None = None) -> list[OverrideChange]:
        """Return up to `count` of the latest changes to one domain or to all, newest first."""
        limit = self._max_entries if domain else count
        with redis_errors("live overrides", BrokerUnavailable):
            entries: Any = self._redis.xrevrange(self._history, count=limit)
        changes = [
            OverrideChange(
                at_ms=int(entry.partition(b"-")[0]),
                **known_fields(
                    OverrideChange, {n.decode(): text.decode() for n, text in texts.items()}
                ),
            )
            for entry, texts in entries
        ]
        return [change for change in changes if domain in (None, change.domain)][:count]


def _parse_value(key: str, text: str) -> float | bool | QuietHours | None:
    """Parse a stored value. Ignores quiet hours in a time zone unknown on this machine."""
    if key == "stopped":
        return True
    if key != "quiet_hours":
        return float(text)
    try:
        return quiet_hours(text)
    except BAD_INPUT as error:
        log.warning("%s", error)
        return None
