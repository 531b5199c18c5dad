"""
Stores the hosts' budgets in Redis, for all processes of a cluster.

    traps:<host>         string  a mark of 8 bytes, and the budget (`codec`), for 7 days
    traps.decisions      hash    `<host> <template>` -> `open` or `closed`: operators' decisions
    traps.closed         hash    `<host> <template>` -> why it is closed; for 7 days

A host's key is on one of the `redis.nodes`. The host's name determines which one. The decisions and
the list of closed templates are on `redis.url`. If budgets are lost, templates are learned again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.crawl.traps.codec import from_bytes, to_bytes
from aragog.crawl.traps.host_budget import HostBudget, TemplateDecision
from aragog.errors import BadInput
from aragog.runtime.clock import Clock, SystemClock
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

KEPT_S = 7 * 86_400
FRESH_S = 1.0
MAX_DECISIONS = MAX_CLOSED = 10_000
_MARK = 8


@dataclass(frozen=True, slots=True, order=True)
class ClosedTemplate:
    """A template whose pages turned out to be useless, so that its links are not followed."""

    host: str
    template: str
    reason: str


class StoredBudget(NamedTuple):
    """A host's budget as read from Redis."""

    budget: HostBudget
    mark: bytes = b""
    """Identifies the version that was read; empty if there was no budget."""


class TrapStore:
    """
    The budgets of all hosts. Thread-safe. Every call may raise `BrokerUnavailable`.

    Args:
        nodes: the Redis servers that share the hosts.
        prefix: prefix of all keys.
        clock: measures how long ago the decisions were read.
    """

    def __init__(self, nodes: RedisNodes, *, prefix: str, clock: Clock | None = None) -> None:
        self._nodes = nodes
        self._clock = clock or SystemClock()
        self._budgets, self._said = f"{prefix}traps:", f"{prefix}traps.decisions"
        self._closed = f"{prefix}traps.closed"
        self._lock = threading.Lock()
        self._seen: tuple[float, dict[str, dict[str, TemplateDecision]]] | None = None

    def known(self, hosts: Iterable[str]) -> set[str]:
        """Return the hosts that have budgets. Takes one round trip per server."""
        found = set()
        with _our_errors():
            for client, names in self._nodes.group((name, name) for name in hosts):
                with client.pipeline(transaction=False) as pipe:
                    for name in names:
                        pipe.exists(self._budgets + name)
                    found |= {
                        n for n, is_there in zip(names, pipe.execute(), strict=True) if is_there
                    }
        return found

    def read(self, hosts: Iterable[str]) -> dict[str, StoredBudget]:
        """Return each host's budget; a new one for a host without any."""
        found: dict[str, StoredBudget] = {}
        with _our_errors():
            for client, names in self._nodes.group((name, name) for name in hosts):
                blobs = cast("list[Any]", client.mget([self._budgets + name for name in names]))
                for name, blob in zip(names, blobs, strict=True):
                    found[name] = _stored(blob)
        return found

    def save(self, host: str, stored: StoredBudget) -> bool:
        """Write a host's budget. Returns False if another process changed it in the meantime."""
        with _our_errors():
            return bool(
                load_script("aragog.crawl.traps", "traps_save").run(
                    self._nodes.client(host),
                    budgets=self._budgets + host,
                    mark=stored.mark,
                    new_mark=secrets.token_bytes(_MARK),
                    kept_s=KEPT_S,
                    state=to_bytes(stored.budget),
                )
            )

    def decisions(self) -> dict[str, dict[str, TemplateDecision]]:
        """Return operators' decisions by host and template, from a copy at most a second old."""
        now_s, seen = self._clock.monotonic_s(), self._seen
        if seen is not None and now_s - seen[0] < FRESH_S:
            return seen[1]
        with self._lock, _our_errors():
            fields: Any = self._nodes.first.hgetall(self._said)
        said: dict[str, dict[str, TemplateDecision]] = {}
        for field, value in fields.items():
            host, _, template = field.decode().partition(" ")
            said.setdefault(host, {})[template] = TemplateDecision(value.decode())
        self._seen = now_s, said
        return said

    def decide(self, host: str, template: str, decision: TemplateDecision | None) -> None:
        """
        Open or close a template regardless of what its pages brought. None withdraws the decision.

        Raises:
            BadInput: there are already `MAX_DECISIONS` decisions.
        """
        field = f"{host} {template}"
        with _our_errors():
            first = self._nodes.first
            if decision is None:
                first.hdel(self._said, field)
            elif first.hlen(self._said) >= MAX_DECISIONS:
                raise BadInput(f"template: there are {MAX_DECISIONS} decisions; forget some first")
            else:
                first.hset(self._said, field, decision.value)
        self._seen = None

    def note_closed(self, templates: Iterable[ClosedTemplate]) -> None:
        """Add templates to the list of closed ones, unless the list is full."""
        found = {f"{one.host} {one.template}": one.reason for one in templates}
        if not found:
            return
        with _our_errors():
            first = self._nodes.first
            if first.hlen(self._closed) >= MAX_CLOSED:
                return
            with first.pipeline() as pipe:
                pipe.hset(self._closed, mapping=cast("Any", found))
                pipe.expire(self._closed, KEPT_S)
                pipe.execute()

    def closed(self) -> list[ClosedTemplate]:
        """Return the closed templates by host, without those that operators opened."""
        with _our_errors():
            fields: Any = self._nodes.first.hgetall(self._closed)
        decided = self.decisions()
        found = []
        for field, reason in fields.items():
            host, _, template = field.decode().partition(" ")
            if decided.get(host, {}).get(template) is not TemplateDecision.OPEN:
                found.append(ClosedTemplate(host, template, reason.decode()))
        return sorted(found)

    def forget(self, host: str) -> None:
        """Forget what was learned about a host's templates. Held links stay held."""
        with _our_errors():
            self._nodes.client(host).delete(self._budgets + host)
            gone = [one for one in self.closed() if one.host == host]
            if gone:
                self._nodes.first.hdel(self._closed, *(f"{host} {one.template}" for one in gone))


def _stored(blob: bytes | None) -> StoredBudget:
    budget = from_bytes(blob[_MARK:]) if blob else None
    return StoredBudget(budget or HostBudget(), blob[:_MARK] if blob else b"")


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URL templates of hosts")
