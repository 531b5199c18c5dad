"""
A cache of robots.txt rules by origin. Workers share it in Redis, and keep parsed rules in memory.

`robots_rules` defines what a response to /robots.txt means, and `robots_records` how long it is
valid.

Rules in use are refreshed in the background before they expire. Unused rules expire, so memory use
depends on the number of active origins. Times are in ms since the epoch: stored ones on the
server's clock, arguments and results on the caller's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from aragog.crawl.politeness.robots_memory import RobotsMemory
from aragog.crawl.politeness.robots_records import (
    HEAD,
    MAX_VALIDATORS_BYTES,
    MISSING,
    RECORD_ERRORS,
    CachedRules,
    RobotsRecord,
    RobotsResult,
    RulesState,
    Validators,
    current_state,
    is_error,
    pack_record,
    unpack_head,
    unpack_rules,
    unpack_validators,
)
from aragog.crawl.politeness.robots_refreshes import RobotsRefreshes, robots_errors
from aragog.crawl.politeness.robots_rules import RobotsRules, product_token, rules_for_status
from aragog.crawl.politeness.shared_clock import SharedClock
from aragog.crawl.shared_redis.leases import field
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import PolitenessSettings
from pinlater.redis.connect import connect
from pinlater.redis.scripts import load_script
from urlspelling.domain import registered_domain

log = logging.getLogger(__name__)

# How long a process uses its rules before it checks for changes.
RECHECK_S = 5.0
# A record's memory in Redis in addition to its bytes: key, expiry time and entry in the refresh
# index.
RECORD_OVERHEAD_BYTES = 300
_NO_VERSION = bytes(8)
# robots_put.lua packs a record's size into the low bits of its score.
_SIZE_FACTOR = 1 << 20


class RobotsCache:
    """
    Rules by origin (`https://example.com`, with a port only if it is not the default).

    Thread-safe; may be used after a fork. Every method raises `RobotsUnavailable` if Redis does not
    respond. Only the rules for `agent` and `*` are kept.

    Args:
        redis_url: URL of the shared Redis.
        settings: how long rules are valid, and how much memory one registered domain may use.
        prefix: the start of every key.
        clock: measures ages and the time between checks.
        agent: the User-Agent or product token whose rules are kept.
        memory: the in-process cache; by default, a new one.
        requires_tdm: only use rules that include the origin's tdmrep.json.
        server_ms: returns the server's time in ms since the epoch; by default, Redis' time.
    """

    def __init__(
        self,
        redis_url: str,
        settings: PolitenessSettings,
        prefix: str = "aragog:",
        clock: Clock | None = None,
        agent: str = "",
        memory: RobotsMemory | None = None,
        *,
        requires_tdm: bool = False,
        server_ms: Callable[[], int] | None = None,
    ) -> None:
        self._settings = settings
        self._agent = product_token(agent)
        self._requires_tdm = requires_tdm
        self._prefix = prefix
        self._clock = clock or SystemClock()
        self._redis = connect(redis_url, timeout_s=2.0, connect_timeout_s=2.0, attempts=2)
        self._server_clock = SharedClock(
            self._clock, server_ms or self._server_ms, "the robots cache"
        )
        self.refreshes = RobotsRefreshes(self._redis, prefix, self._server_clock)
        self._memory = memory or RobotsMemory()
        self._unusable: set[str] = set()
        """
        Origins whose records this process cannot use. If fetching their rules fails, the failure
        replaces the record.
        """

    def get_many(self, origins: Iterable[str]) -> dict[str, CachedRules]:
        """
        Return each origin's rules. Takes one round trip, or none if all are fresh and were checked
        in the last 5 s.
        """
        distinct = list(dict.fromkeys(origins))
        checked_s = self._clock.monotonic_s()
        ahead_ms = self._server_clock.ahead_ms()
        entries = {origin: self._get_from_memory(origin, checked_s) for origin in distinct}
        # Rules that are no longer fresh are read again: another process may have fetched new ones.
        origins_to_read = [
            origin
            for origin in distinct
            if self._current_state(entries[origin], ahead_ms).state is not RulesState.FRESH
        ]
        if origins_to_read:
            entries.update(self._read_redis(origins_to_read, checked_s))
        return {origin: self._current_state(entries[origin], ahead_ms) for origin in distinct}

    def get(self, origin: str) -> CachedRules:
        return self.get_many([origin])[origin]

    def rules_after_admission(self, origin: str) -> RobotsRules | None:
        """
        Return the rules by which a request was just admitted, even if they are due for a check.

        Needs no round trip, unless this process has dropped them. Returns None if they no longer
        exist.
        """
        cached = self._memory.get(origin)
        return cached[1] if cached is not None else self.get(origin).rules

    def mark_insufficient(self, origins: Iterable[str]) -> None:
        """
        Record that these origins' rules are not sufficient for a job. If fetching robots.txt then
        fails, the rules are not kept.
        """
        self._unusable.update(origins)

    def peek(self, origins: Sequence[str]) -> dict[str, CachedRules]:
        """
        Return each origin's rules as a crawl would get them, for reports. Takes one round trip.

        This does not count as use: rules that nothing else requests still expire.
        """
        if not origins:
            return {}
        ahead_ms = self._server_clock.ahead_ms()
        with robots_errors():
            replies: Any = self._redis.mget([self._key("robots", origin) for origin in origins])
        cached_rules = {}
        for origin, reply in zip(origins, replies, strict=True):
            cached = None
            if reply is not None:
                cached = self._parse_reply(reply)
            cached_rules[origin] = self._current_state(cached, ahead_ms)
        return cached_rules

    def last_stored_origins(self, domains: Sequence[str]) -> dict[str, str]:
        """
        Return, for each registered domain, the origin whose rules were stored last. Takes one round
        trip.
        """
        with robots_errors(), self._redis.pipeline(transaction=False) as pipe:
            for domain in domains:
                pipe.zrevrange(self._key("robots.domain", domain), 0, 0)
            replies = pipe.execute()
        return {
            domain: names[0].decode()
            for domain, names in zip(domains, replies, strict=True)
            if names and names[0]
        }

    def _get_from_memory(
        self, origin: str, checked_s: float
    ) -> tuple[RobotsRecord, RobotsRules] | None:
        cached = self._memory.get(origin)
        if cached is None or checked_s - cached[2] >= RECHECK_S:
            return None
        return cached[:2]

    def _read_redis(
        self, origins: Sequence[str], checked_s: float
    ) -> dict[str, tuple[RobotsRecord, RobotsRules] | None]:
        # Keep references to the rules: they may be evicted before Redis confirms that they are
        # current.
        cached_entries = [self._memory.get(origin) for origin in origins]
        versions = b"".join(entry[0].version if entry else _NO_VERSION for entry in cached_entries)
        keys = [self._key("robots", origin) for origin in origins]
        with robots_errors():
            replies = cast(
                "list[bytes | None]",
                load_script("aragog.crawl.politeness", "robots_get").run(
                    self._redis, records=keys, versions=versions, head_bytes=HEAD.size
                ),
            )
        entries: dict[str, tuple[RobotsRecord, RobotsRules] | None] = dict.fromkeys(origins)
        for origin, reply, cached in zip(origins, replies, cached_entries, strict=True):
            if reply is None:
                continue
            new_entry = self._parse_reply(reply, cached)
            if new_entry is None:
                self._unusable.add(origin)
            else:
                self._memory.keep(origin, *new_entry, checked_s)
                entries[origin] = new_entry
        return entries

    def _parse_reply(
        self, reply: bytes, cached_entry: tuple[RobotsRecord, RobotsRules, float] | None = None
    ) -> tuple[RobotsRecord, RobotsRules] | None:
        """
        Return a record's rules, or None if robots.txt must be fetched again.

        Rules are unusable if they were stored for another User-Agent, lack the tdmrep.json that
        this crawl needs, or were written by an incompatible version.
        """
        try:
            record = unpack_head(reply)
            is_current = cached_entry is not None and cached_entry[0].version == record.version
            rules = (
                cached_entry[1] if cached_entry and is_current else self._parse_rules(record, reply)
            )
        except RECORD_ERRORS as error:
            log.debug("cannot read stored rules, so they are fetched again: %s", error)
            return None
        return (record, rules) if self._is_for_this_crawl(record, rules) else None

    def _is_for_this_crawl(self, record: RobotsRecord, rules: RobotsRules) -> bool:
        is_complete = rules.tdm is not None or not self._requires_tdm or not record.is_good
        return is_complete and rules.agent in (None, self._agent)

    def _parse_rules(self, record: RobotsRecord, reply: bytes) -> RobotsRules:
        rules = self._memory.rules(record.version)
        if rules is not None:
            return rules
        packed = unpack_rules(reply)
        if 200 <= record.status < 300:
            return RobotsRules.unpack(packed)
        rules = rules_for_status(record.status if record.status > 0 else None)
        return rules.with_tdm(RobotsRules.unpack(packed).tdm) if packed else rules

    def _current_state(
        self, cached: tuple[RobotsRecord, RobotsRules] | None, ahead_ms: int
    ) -> CachedRules:
        if cached is None:
            return MISSING
        return current_state(
            *cached, self._settings, now_ms=self._clock.now_ms(), ahead_ms=ahead_ms
        )

    def put(self, origin: str, status: int | None, body: bytes, fetched_at_ms: int) -> None:
        """
        Store the result of fetching robots.txt, and release the claim on its refresh.

        Safe to repeat or to call late: an older result never replaces a newer one.

        Args:
            origin: see `get_many`.
            status: status of the last response, after redirects. None if the response was
                unreadable or there was none (DNS, connection, timeout). 304 if the stored rules
                have not changed.
            body: the file, of which only the first 500 KiB are read.
            fetched_at_ms: when the response arrived or the attempt ended.
        """
        self.put_many([RobotsResult(origin, status, body, fetched_at_ms)])

    def put_many(self, results: Sequence[RobotsResult]) -> None:
        """Store several results; see `put`. Takes one round trip in all."""
        script = load_script("aragog.crawl.politeness", "robots_put")
        with robots_errors(), self._redis.pipeline(transaction=False) as pipe:
            for result in results:
                script.queue(pipe, **self._put_values(result))
            pipe.execute()
        for result in results:
            self._memory.drop(result.origin)
            self._unusable.discard(result.origin)

    def _put_values(self, result: RobotsResult) -> dict[str, Any]:
        origin, status, settings = result.origin, result.status, self._settings
        has_failed = is_error(status)
        fetched_at_ms = result.fetched_at_ms + self._server_clock.ahead_ms()
        refresh_after_s = settings.robots_error_s if has_failed else settings.robots_fresh_s
        ttl_s = 2 * settings.robots_error_s if has_failed else settings.robots_usable_s
        usable_ms = settings.robots_usable_s * 1000
        can_keep_older = not has_failed or origin not in self._unusable
        packed = b""
        if status is not None and 200 <= status < 300:
            packed = RobotsRules.parse(result.body, self._agent).with_tdm(result.tdm).packed()
        elif result.tdm is not None and not has_failed:
            packed = RobotsRules(tdm=result.tdm).packed()
        return {
            "record": self._key("robots", origin),
            "claims": self.refreshes.claims.key,
            "due": self.refreshes.due_key,
            "domain": self._key("robots.domain", registered_domain(origin)),
            "packed": pack_record(status, packed, fetched_at_ms, result.validators, result.failure),
            "is_error": int(has_failed),
            "ttl_ms": int(ttl_s * 1000),
            "min_fetched_at_ms": fetched_at_ms - (usable_ms if can_keep_older else -usable_ms),
            "due_at_ms": fetched_at_ms + refresh_after_s * 1000,
            "origin": origin,
            "claim": field(origin),
            "forget_before_ms": fetched_at_ms - usable_ms,
            "record_prefix": self._key("robots", ""),
            "overhead_bytes": RECORD_OVERHEAD_BYTES,
            "domain_max_bytes": settings.robots_domain_max_bytes,
            "domain_ttl_ms": int(settings.robots_usable_s * 1000),
        }

    def validators(self, origins: Sequence[str]) -> dict[str, Validators]:
        """
        Return each robots.txt's validators (ETag, date) for a conditional request. Takes one round
        trip.

        There are none if the rules must be fetched in full, because they are not stored, an older
        parser read them, or the last full fetch was more than `politeness.robots_usable_s` ago.
        Call this only for origins whose rules `get_many` returned.
        """
        if not origins:
            return {}
        last_byte = HEAD.size + MAX_VALIDATORS_BYTES
        with robots_errors(), self._redis.pipeline(transaction=False) as pipe:
            for origin in origins:
                pipe.getrange(self._key("robots", origin), 0, last_byte)
            records = pipe.execute()
        usable_ms = self._settings.robots_usable_s * 1000
        since_ms = self._clock.now_ms() + self._server_clock.ahead_ms() - usable_ms
        return {
            origin: unpack_validators(record, since_ms=since_ms)
            for origin, record in zip(origins, records, strict=True)
        }

    def forget(self, find_refused: Callable[[Iterable[str]], set[str]]) -> int:
        """
        Delete the rules of the origins whose root URLs `find_refused` returns. Returns how many.

        Scans all keys of the server. Other processes may use their rules for up to 5 s more.
        """
        dropped_count = 0
        with robots_errors():
            for key in self._redis.scan_iter(match=self._key("robots.domain", "*"), count=1000):
                pairs: Any = self._redis.zrange(key, 0, -1, withscores=True)
                sizes = {name.decode(): int(score) % _SIZE_FACTOR for name, score in pairs if name}
                refused_urls = find_refused({f"{origin}/" for origin in sizes})
                for origin in [origin for origin in sizes if f"{origin}/" in refused_urls]:
                    self._drop(key, origin, sizes.pop(origin), last=not sizes)
                    dropped_count += 1
        return dropped_count

    def _drop(self, domain_key: bytes, origin: str, size: int, *, last: bool) -> None:
        with self._redis.pipeline() as pipe:
            pipe.delete(self._key("robots", origin))
            pipe.hdel(self.refreshes.claims.key, field(origin))
            pipe.zrem(self.refreshes.due_key, origin)
            if last:
                pipe.delete(domain_key)
            else:
                pipe.zrem(domain_key, origin)
                pipe.zincrby(domain_key, -size, "")
            pipe.execute()
        self._memory.drop(origin)

    def _server_ms(self) -> int:
        with robots_errors():
            seconds, micros = self._redis.time()
        return int(seconds * 1000 + micros // 1000)

    def close(self) -> None:
        self._redis.close()

    def _key(self, kind: str, origin: str) -> str:
        return f"{self._prefix}{kind}:{origin}"
