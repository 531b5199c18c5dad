"""
The rules of origins, shared by all workers in Redis, and kept parsed in each.

What an answer to /robots.txt means is `aragog.politeness.robots`; here is how long it holds (RFC
9309, sections 2.3.1 and 2.4):

    2xx, 4xx            good: fresh for `robots_fresh_s`, usable for `robots_usable_s`
    429, 5xx, no answer nothing may be fetched; asked for again after `robots_error_s`; older good
                        rules stay in use while they are usable

Rules that somebody uses are refreshed in the background before they expire; rules that nobody asks
for any more expire, so memory follows the origins that are active. Instants are ms since the epoch:
stored by the server's clock, outside by the caller's.
"""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar, cast

from redis.exceptions import RedisError

from aragog.clock import Clock, SystemClock
from aragog.errors import RobotsUnavailable
from aragog.politeness.node import connect
from aragog.politeness.robots import RobotsRules, rules_for_status
from aragog.politeness.robots_record import (
    HEAD,
    Record,
    is_error,
    pack_record,
    unpack_body,
    unpack_head,
)
from aragog.politeness.shared_clock import SharedClock
from aragog.settings import PolitenessSettings

# A process answers from its own memory this long before it looks whether the rules changed.
LOOK_AGAIN_S = 5.0
# Origins and parsed rules kept by a process; rules are some KB each.
MAX_ORIGINS = 50_000
MAX_RULES = 5_000
# A refresh that has not come to an end by then may be claimed again.
CLAIM_S = 60.0
_NO_VERSION = bytes(8)

K = TypeVar("K")
V = TypeVar("V")


class State(enum.Enum):
    """What to do about an origin's rules."""

    FRESH = "fresh"
    """Use them."""
    STALE = "stale"
    """Use them, and have them refreshed."""
    MISSING = "missing"
    """There are none: fetch robots.txt first."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one origin's rules."""

    state: State
    rules: RobotsRules | None = None
    """None when MISSING."""
    fetched_at_ms: int | None = None
    """When the answer came that the rules are from."""
    status: int | None = None
    """Of that answer; None: MISSING, or no answer."""
    unreachable: bool = False
    """Nothing may be fetched only because robots.txt could not be had: try after `retry_at_ms`."""
    retry_at_ms: int | None = None
    """When robots.txt will be asked for again after an error; None: the last answer was good."""


_MISSING = Found(State.MISSING)


class RobotsCache:
    """
    Rules by origin (`https://example.com`, port only when it is not the scheme's own).

    Thread-safe; may be carried over a fork. Every method raises `RobotsUnavailable` when Redis does
    not answer.
    """

    def __init__(
        self,
        redis_url: str,
        settings: PolitenessSettings,
        prefix: str = "aragog:",
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._prefix = prefix
        self._clock = clock or SystemClock()
        self._redis = connect(redis_url, setting="redis.url")
        self._get = self._redis.register_script(_source("robots_get"))
        self._put = self._redis.register_script(_source("robots_put"))
        self._shared = SharedClock(self._clock, self._server_ms)
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[Record, float]] = OrderedDict()
        self._rules: OrderedDict[bytes, RobotsRules] = OrderedDict()

    def get_many(self, origins: Iterable[str]) -> dict[str, Found]:
        """The rules of each origin; one round trip, none for those looked at within 5 s."""
        wanted = list(dict.fromkeys(origins))
        looked_s = self._clock.monotonic_s()
        ahead_ms = self._shared.ahead_ms()
        local = {origin: self._remembered(origin, looked_s) for origin in wanted}
        # Memory is trusted for good news alone. Rules that have just run out here may have been
        # fetched by another process meanwhile, and saying MISSING would send its caller round.
        unsure = [
            origin
            for origin in wanted
            if self._found(local[origin], ahead_ms).state is not State.FRESH
        ]
        if unsure:
            local.update(self._look(unsure, looked_s))
        return {origin: self._found(local[origin], ahead_ms) for origin in wanted}

    def get(self, origin: str) -> Found:
        """The rules of one origin."""
        return self.get_many([origin])[origin]

    def _remembered(self, origin: str, looked_s: float) -> tuple[Record, RobotsRules] | None:
        """What this process knows well enough, without asking."""
        with self._lock:
            record, seen_s = self._seen.get(origin, (None, 0.0))
            if record is None or looked_s - seen_s >= LOOK_AGAIN_S:
                return None
            rules = self._rules.get(record.version)
            return (record, rules) if rules is not None else None

    def _look(
        self, origins: Sequence[str], looked_s: float
    ) -> dict[str, tuple[Record, RobotsRules] | None]:
        """What Redis knows, and remember it."""
        with self._lock:
            known = [self._known(origin) for origin in origins]
        versions = b"".join(version for version, _ in known)
        keys = [self._key("robots", origin) for origin in origins]
        with _robots_errors():
            answers = cast("list[bytes | None]", self._get(keys=keys, args=[versions, HEAD.size]))
        found: dict[str, tuple[Record, RobotsRules] | None] = dict.fromkeys(origins)
        for origin, answer, (version, had) in zip(origins, answers, known, strict=True):
            if answer is None:
                continue
            record = unpack_head(answer)
            current = had if version == record.version else None
            rules = current if current is not None else self._parse(record, answer)
            self._remember(origin, record, rules, looked_s)
            found[origin] = record, rules
        return found

    def _known(self, origin: str) -> tuple[bytes, RobotsRules | None]:
        """
        The version that this process has, and its rules: held on to, since they may fall out of
        memory before Redis has answered that they are the ones.
        """
        record, _ = self._seen.get(origin, (None, 0.0))
        rules = self._rules.get(record.version) if record else None
        return (record.version, rules) if record and rules is not None else (_NO_VERSION, None)

    def _parse(self, record: Record, answer: bytes) -> RobotsRules:
        with self._lock:
            rules = self._rules.get(record.version)
        if rules is not None:
            return rules
        status = record.status if record.status > 0 else None
        return rules_for_status(status, unpack_body(answer))

    def _remember(self, origin: str, record: Record, rules: RobotsRules, looked_s: float) -> None:
        with self._lock:
            _keep(self._rules, record.version, rules, MAX_RULES)
            _keep(self._seen, origin, (record, looked_s), MAX_ORIGINS)

    def _found(self, known: tuple[Record, RobotsRules] | None, ahead_ms: int) -> Found:
        if known is None:
            return _MISSING
        record, rules = known
        now_ms = self._clock.now_ms() + ahead_ms
        age_s = (now_ms - record.fetched_at_ms) / 1000
        tried_ago_s = (now_ms - record.tried_at_ms) / 1000
        lately_failed = record.failing_since_ms > 0 and tried_ago_s < self._settings.robots_error_s
        if record.good:
            if age_s >= self._settings.robots_usable_s:
                return _MISSING
            fresh = lately_failed or age_s < self._settings.robots_fresh_s
        elif lately_failed:
            fresh = True
        else:
            return _MISSING
        retry_at_ms = record.tried_at_ms + self._settings.robots_error_s * 1000
        return Found(
            state=State.FRESH if fresh else State.STALE,
            rules=rules,
            fetched_at_ms=int(record.fetched_at_ms) - ahead_ms,
            status=record.status if record.status > 0 else None,
            unreachable=not record.good,
            retry_at_ms=int(retry_at_ms) - ahead_ms if record.failing_since_ms else None,
        )

    def put(self, origin: str, status: int | None, body: bytes, fetched_at_ms: int) -> None:
        """
        Keep what asking for robots.txt came to, and free the claim on its refresh.

        Safe to repeat, and late: an older answer never replaces a newer one.

        Args:
            origin: as for `get_many`.
            status: of the last answer, after redirects; None: there was none (DNS, connect,
                timeout), or none that can be read.
            body: its first 500 KiB count.
            fetched_at_ms: when the answer came, or when it was given up.
        """
        error, settings = is_error(status), self._settings
        fetched_at_ms += self._shared.ahead_ms()
        held_s = settings.robots_error_s if error else settings.robots_fresh_s
        life_s = 2 * settings.robots_error_s if error else settings.robots_usable_s
        usable_ms = settings.robots_usable_s * 1000
        keys = [
            self._key("robots", origin), self._key("robots.claim", origin),
            f"{self._prefix}robots.due",
        ]  # fmt: skip
        args: list[bytes | str | float] = [
            pack_record(status, body, fetched_at_ms), int(error), int(life_s * 1000),
            fetched_at_ms - usable_ms, fetched_at_ms + held_s * 1000, origin,
            fetched_at_ms - usable_ms,
        ]  # fmt: skip
        with _robots_errors():
            self._put(keys=keys, args=args)
        with self._lock:
            self._seen.pop(origin, None)

    def claim_refresh(self, origins: Iterable[str]) -> list[str]:
        """
        Those of `origins` whose robots.txt the caller is to fetch now; the rest is claimed already.

        One round trip. A claim ends with `put`, or after 60 s.
        """
        wanted = list(dict.fromkeys(origins))
        with _robots_errors(), self._redis.pipeline(transaction=False) as pipe:
            for origin in wanted:
                pipe.set(self._key("robots.claim", origin), 1, nx=True, px=int(CLAIM_S * 1000))
            claimed = pipe.execute()
        return [origin for origin, mine in zip(wanted, claimed, strict=True) if mine]

    def release_refresh(self, origins: Iterable[str]) -> None:
        """Give claims back without an answer: the slot to ask is too far away to hold them."""
        keys = [self._key("robots.claim", origin) for origin in origins]
        if keys:
            with _robots_errors():
                self._redis.delete(*keys)

    def expiring(self, before_ms: int, limit: int = 100) -> list[str]:
        """
        Up to `limit` origins in use whose rules want a refresh before `before_ms`, soonest first.

        Those returned are not returned again for 60 s. Rules that nobody used since they were
        fetched are left to expire. Two round trips for each `limit` origins looked at.
        """
        due, found = f"{self._prefix}robots.due", list[str]()
        before_ms += self._shared.ahead_ms()
        with _robots_errors():
            while len(found) < limit:
                names = cast(
                    "list[bytes]", self._redis.zrangebyscore(due, "-inf", before_ms, 0, limit)
                )
                origins = [name.decode() for name in names]
                with self._redis.pipeline(transaction=False) as pipe:
                    for origin in origins:
                        pipe.getrange(self._key("robots", origin), 0, 0)
                    used = [flag == b"\x01" for flag in pipe.execute()]
                in_use = [origin for origin, yes in zip(origins, used, strict=True) if yes]
                idle = [origin for origin, yes in zip(origins, used, strict=True) if not yes]
                again_ms = max(before_ms, self._server_ms()) + int(CLAIM_S * 1000)
                with self._redis.pipeline(transaction=False) as pipe:
                    if idle:
                        pipe.zrem(due, *idle)
                    if in_use:
                        pipe.zadd(due, dict.fromkeys(in_use, again_ms), xx=True)
                    pipe.execute()
                found += in_use
                if len(origins) < limit:
                    break
        return found

    def _server_ms(self) -> int:
        with _robots_errors():
            seconds, micros = self._redis.time()
        return int(seconds * 1000 + micros // 1000)

    def close(self) -> None:
        """Let go of the connections."""
        self._redis.close()

    def _key(self, kind: str, origin: str) -> str:
        return f"{self._prefix}{kind}:{origin}"


@contextmanager
def _robots_errors() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise RobotsUnavailable("robots cache", f"{type(error).__name__}: {error}") from error


def _source(name: str) -> str:
    return files("aragog.politeness").joinpath(f"lua/{name}.lua").read_text("utf-8")


def _keep(kept: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > limit:
        kept.popitem(last=False)
