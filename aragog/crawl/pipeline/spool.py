"""
The spool keeps bodies in Redis between two stages, each under a token.

Its size is limited (`SpoolBounds`). It accepts bodies from fetches while there is space, and always
accepts bodies from later stages, because only those stages free space again. A body stays until it
is freed. If a worker is killed or a queue is purged, bodies without a message are left over;
`aragog.crawl.pipeline.spool_reclaim` frees them.

Tokens are random, so a stage that runs twice never overwrites a body of its first run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import redis

from aragog.crawl.pipeline.ports import SpoolState
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.errors import SpoolUnavailable
from aragog.runtime.clock import Clock, SystemClock
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import LuaScript, load_script

# Memory that a body takes in addition to its bytes: its part of a message, index entry and key.
OVERHEAD_BYTES = 1024
# The spool may use 1/4 of `maxmemory`. Without `maxmemory`, it may use 1/64 of the Redis machine's
# memory.
MAXMEMORY_DIVISOR = 4
MACHINE_MEMORY_DIVISOR = 64
# About 10,000 pages of 50 KB, which keep one core busy for a minute. With more, bodies would only
# wait longer.
MAX_DEFAULT_BYTES = 128 * 2**20


@dataclass(frozen=True, slots=True)
class SpoolBounds:
    """A spool's limits. Each body counts `OVERHEAD_BYTES` extra."""

    max_bytes: int

    @property
    def high_bytes(self) -> int:
        """Workers stop claiming fetches at this fill level."""
        return self.max_bytes * 3 // 8

    @property
    def low_bytes(self) -> int:
        """
        Workers resume at this fill level. It is only a few batches below `high_bytes`; otherwise,
        fetching and the later stages would alternate instead of sharing the processors.
        """
        return self.high_bytes - self.max_bytes // 32

    @property
    def max_claimed_bytes(self) -> int:
        """
        Claimed batches may fill the spool up to this level.

        With less space they would be split, and the remaining URLs would need new slots (request
        times).
        """
        return self.max_bytes // 2

    @property
    def max_fetch_bytes(self) -> int:
        """Urgent fetches may fill the spool up to this level. Later stages get the rest."""
        return self.max_bytes * 3 // 4


def spool_bounds(max_bytes: int | None, memory: Mapping[str, Any]) -> SpoolBounds:
    """
    Return the limits of a spool.

    Args:
        max_bytes: `pipeline.spool_max_bytes`. None means a quarter of `maxmemory`, or 1/64 of the
            machine's memory if Redis has no `maxmemory`, but at most 128 MiB.
        memory: Redis' reply to `INFO memory`.
    """
    if max_bytes is None:
        maxmemory = int(memory.get("maxmemory", 0))
        machine = int(memory.get("total_system_memory", 0))
        share = maxmemory // MAXMEMORY_DIVISOR or machine // MACHINE_MEMORY_DIVISOR
        max_bytes = min(share or MAX_DEFAULT_BYTES, MAX_DEFAULT_BYTES)
    return SpoolBounds(max_bytes)


# `maxmemory` may change while the process runs.
BOUNDS_TTL_S = 60.0
# Assumed size of a compressed body until the first one is measured.
INITIAL_MEAN_BYTES = 16_384.0
# A token consists of a random part for the batch, the body's index in the batch, and the bytes that
# the body counts for.
BATCH_ID_BYTES, BATCH_ID_CHARS = 12, 16
RESERVATION_MARK = "r"


class Spool:
    """
    Stores blobs under tokens. Each call takes up to two round trips per server, and may raise
    `SpoolUnavailable`.

    Args:
        nodes: the servers that share the bodies, or the only server's client. Clients must return
            bytes.
        prefix: the start of every key.
        max_bytes: `pipeline.spool_max_bytes` for each server; None for a fraction of its memory.
        clock: only its monotonic time is used.
    """

    def __init__(
        self,
        nodes: redis.Redis | RedisNodes,
        *,
        prefix: str,
        max_bytes: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._nodes = RedisNodes.wrap(nodes)
        self._prefix = f"{prefix}spool:"
        self._spool_key = f"{prefix}spool"
        self._index_key = f"{prefix}spool.index"
        self._packed_key = f"{prefix}spool.packed"
        self._max_bytes = max_bytes
        self._clock = clock or SystemClock()
        self._bounds: dict[redis.Redis, tuple[float, SpoolBounds]] = {}
        self._mean_bytes = INITIAL_MEAN_BYTES

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        """Store the blobs of a later stage even if the spool is full; returns their tokens."""
        return self._put_up_to_limit(blobs, lambda _: 0)

    def reserve(self, count: int, *, urgent: bool) -> str | None:
        """
        Reserve space for `count` bodies of the recent mean size. Returns None if the spool is full.

        Without `urgent`, the bodies may exceed `max_claimed_bytes` by one body. The reservation
        counts as used until it is passed to `offer_many` or `free`.
        """
        size = int(self._mean_bytes)

        def limit(bounds: SpoolBounds) -> int:
            max_bytes = bounds.max_fetch_bytes
            return max_bytes if urgent else min(max_bytes, bounds.max_claimed_bytes + size)

        tokens = self._put_up_to_limit([b""], limit, sizes=[count * size])
        return tokens[0] if tokens else None

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        """
        Store the bodies of a fetch, using a reservation if there is one.

        Returns their tokens in order. If there is not enough space for all of them, stores nothing
        and returns None.
        """
        for blob in blobs:
            self._mean_bytes += (len(blob) + OVERHEAD_BYTES - self._mean_bytes) / 100
        tokens = self._put_up_to_limit(
            blobs, lambda bounds: bounds.max_fetch_bytes, reservation=reservation
        )
        return None if blobs and not tokens else tokens

    def _put_up_to_limit(
        self,
        blobs: Sequence[bytes],
        limit: Callable[[SpoolBounds], int],
        *,
        sizes: Sequence[int] | None = None,
        reservation: str = "",
    ) -> list[str]:
        if not blobs:
            return []
        sizes = sizes or [len(blob) + OVERHEAD_BYTES for blob in blobs]
        # A reservation and its bodies are on the same server.
        batch = _batch_id(reservation) or secrets.token_urlsafe(BATCH_ID_BYTES)
        client = self._nodes.client(batch)
        marks = [RESERVATION_MARK if not blob else f"{n:x}" for n, blob in enumerate(blobs)]
        tokens = [f"{batch}{mark}.{size}" for mark, size in zip(marks, sizes, strict=True)]
        keys, limit_bytes = self._body_keys(tokens), limit(self._server_bounds(client))
        values = {
            "spool": self._spool_key,
            "index": self._index_key,
            "bodies": keys,
            "limit_bytes": limit_bytes,
            "prefix_bytes": len(self._prefix.encode()),
            "reservation": reservation,
        }
        with _translate_errors():
            if not limit_bytes:
                is_stored = _script("put").run(client, **values, blobs=blobs)
            else:
                # This saves two copies of each body in Redis, but fails while its memory is full.
                with client.pipeline(transaction=True) as pipe:
                    if any(blobs):
                        pipe.mset(dict(zip(keys, blobs, strict=True)))
                    _script("put").queue(pipe, **values, blobs=())
                    is_stored = pipe.execute()[-1]
        return tokens if is_stored else []

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        """Return the blobs in order, None for freed ones. Reading resets a blob's idle time."""
        result: list[bytes | None] = [None] * len(tokens)
        tokens_by_batch = ((_batch_id(token), (index, token)) for index, token in enumerate(tokens))
        with _translate_errors():
            for client, pairs in self._nodes.group(tokens_by_batch):
                server_tokens = [token for _, token in pairs]
                with client.pipeline(transaction=False) as pipe:
                    pipe.mget(self._body_keys(server_tokens))
                    _script("touch").queue(
                        pipe, spool=self._spool_key, index=self._index_key, tokens=server_tokens
                    )
                    blobs, _ = pipe.execute()
                for (index, _), blob in zip(pairs, blobs, strict=True):
                    result[index] = blob
        return result

    def free(self, tokens: Sequence[str]) -> None:
        self._delete(tokens, 0)

    def state(self) -> SpoolState:
        """
        Return how full the spool is. Also closes or opens it for all processes accordingly.

        With several servers, it is closed or full if any of them is.
        """
        states = [self._read_state(client) for client in self._nodes.clients]
        return SpoolState(
            sum(state.used_bytes for state in states),
            any(state.closed for state in states),
            any(state.full for state in states),
            max(state.share for state in states),
        )

    def _read_state(self, client: redis.Redis) -> SpoolState:
        bounds = self._server_bounds(client)
        with _translate_errors():
            used_bytes, closed = _script("state").run(
                client,
                spool=self._spool_key,
                high_bytes=bounds.high_bytes,
                low_bytes=bounds.low_bytes,
            )
        share = used_bytes / bounds.high_bytes
        return SpoolState(used_bytes, bool(closed), used_bytes >= bounds.max_fetch_bytes, share)

    def idle_tokens(self, min_idle_s: float, limit: int) -> list[str]:
        """
        Return the tokens of up to `limit` bodies not written or read for `min_idle_s` seconds, each
        server's oldest first.
        """
        result: list[bytes] = []
        with _translate_errors():
            for client in self._nodes.clients:
                result += _script("idle").run(
                    client,
                    index=self._index_key,
                    idle_ms=int(min_idle_s * 1000),
                    limit=limit - len(result),
                )
                if len(result) >= limit:
                    break
        return [token.decode() for token in result]

    def touch(self, tokens: Sequence[str]) -> None:
        with _translate_errors():
            for client, server_tokens in self._group_by_server(tokens):
                _script("touch").run(
                    client, spool=self._spool_key, index=self._index_key, tokens=server_tokens
                )

    def free_idle(self, tokens: Sequence[str], min_idle_s: float) -> int:
        """Delete the bodies that were not written or read for `min_idle_s` s. Returns how many."""
        return self._delete(tokens, int(min_idle_s * 1000))

    def _delete(self, tokens: Sequence[str], idle_ms: int) -> int:
        freed = 0
        with _translate_errors():
            for client, server_tokens in self._group_by_server(tokens):
                freed += _script("free").run(
                    client,
                    spool=self._spool_key,
                    packed=self._packed_key,
                    index=self._index_key,
                    bodies=self._body_keys(server_tokens),
                    prefix_bytes=len(self._prefix.encode()),
                    idle_ms=idle_ms,
                )
        return freed

    def mark_packed(self, tokens: Sequence[str]) -> None:
        """
        Stop counting these bodies toward the limit, because a process has copies in an open pack (a
        file of many bodies). They stay in the spool until they are freed.
        """
        with _translate_errors():
            for client, server_tokens in self._group_by_server(tokens):
                _script("pack").run(
                    client,
                    spool=self._spool_key,
                    packed=self._packed_key,
                    index=self._index_key,
                    bodies=self._body_keys(server_tokens),
                    prefix_bytes=len(self._prefix.encode()),
                )

    def bounds(self) -> SpoolBounds:
        """
        Return the limits for all servers together.

        Unless `pipeline.spool_max_bytes` is set, they depend on the servers' memory.
        """
        return SpoolBounds(
            sum(self._server_bounds(client).max_bytes for client in self._nodes.clients)
        )

    def _server_bounds(self, client: redis.Redis) -> SpoolBounds:
        now_s, cached = self._clock.monotonic_s(), self._bounds.get(client)
        if cached is None or now_s - cached[0] > BOUNDS_TTL_S:
            with _translate_errors():
                memory: Any = {} if self._max_bytes else client.info("memory")
            cached = self._bounds[client] = now_s, spool_bounds(self._max_bytes, memory)
        return cached[1]

    def _group_by_server(self, tokens: Sequence[str]) -> list[tuple[redis.Redis, list[str]]]:
        return self._nodes.group((_batch_id(token), token) for token in tokens)

    def _body_keys(self, tokens: Sequence[str]) -> list[str]:
        return [self._prefix + token for token in tokens]


def _batch_id(token: str) -> str:
    """Return the part of a token that selects its server; bodies stored together share it."""
    return token[:BATCH_ID_CHARS]


def _script(verb: str) -> LuaScript:
    return load_script("aragog.crawl.pipeline", f"spool_{verb}")


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("spool", SpoolUnavailable)
