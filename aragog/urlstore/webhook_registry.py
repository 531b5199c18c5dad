"""
The webhook registry: the addresses that receive changes, and their positions in the feed.

A webhook's cursor is a separate cell, advanced by check-and-put, so that only one of two concurrent
deliverers advances it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import orjson

from aragog.errors import CorruptRow
from aragog.fetch_record.known_fields import known_fields
from zengraph import MultiGraph
from zengraph.records import Row

# The rows are next to those of crawl budgets. No graph property has a name with this prefix.
_PREFIX = b"\0hook\0"
_WEBHOOK = b"i:v"
_CURSOR = b"i:c"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that receives changes."""

    name: str
    """Derived from the other attributes, so adding a webhook twice changes nothing."""
    url: str
    secret: str
    """The key that signs its deliveries."""
    owner: str | None = None
    """Deliver only changes to pages that this owner watches; None for all pages."""
    host: str | None = None
    """Deliver only changes on this host; None for all hosts."""
    purpose: str | None = None
    """Deliver fields only of pages whose sites do not refuse this use; None for all pages."""

    def __repr__(self) -> str:
        filters = f"owner={self.owner}, host={self.host}, purpose={self.purpose}"
        return f"Webhook({self.name}, {self.url}, {filters})"


def webhook_name(url: str, owner: str | None, host: str | None, purpose: str | None = None) -> str:
    """Return a webhook's name: twelve hex digits."""
    parts = [url, owner, host, *([purpose] if purpose else [])]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:12]


class WebhookRegistry:
    """Adds, lists and removes webhooks."""

    def __init__(self, zen: MultiGraph) -> None:
        self._registry = zen.registry

    def add(
        self,
        url: str,
        secret: str,
        *,
        owner: str | None,
        host: str | None,
        cursor: str,
        now_ms: int,
        purpose: str | None = None,
    ) -> Webhook:
        """Deliver changes after the cursor to this address. A known webhook keeps its cursor."""
        name = webhook_name(url, owner, host, purpose)
        webhook = Webhook(name, url, secret, owner, host, purpose)
        row = _PREFIX + webhook.name.encode()
        self._registry.check_and_put(row, _CURSOR, None, cursor.encode())
        self._registry.put(row, {_WEBHOOK: orjson.dumps(asdict(webhook))}, at_ms=now_ms)
        return webhook

    def remove(self, name: str, now_ms: int) -> bool:
        """Remove a webhook. Returns False if the name is unknown."""
        row = _PREFIX + name.encode()
        rows = self._registry.get(row)
        if rows:
            self._registry.delete(row, at_ms=max(now_ms, *(cell.at_ms for cell in rows.values())))
        return _WEBHOOK in rows

    def get(self, name: str) -> Webhook | None:
        row = self._registry.get(_PREFIX + name.encode())
        return _read_webhook(row) if _WEBHOOK in row else None

    def all(self) -> Iterator[tuple[Webhook, str]]:
        for _, row in self._registry.beginning_with(_PREFIX):
            if _WEBHOOK in row and _CURSOR in row:
                yield _read_webhook(row), row[_CURSOR].value.decode()

    def move(self, name: str, cursor: str, to: str) -> bool:
        """Advance the cursor. Returns False if another process has already advanced it."""
        row = _PREFIX + name.encode()
        return self._registry.check_and_put(row, _CURSOR, cursor.encode(), to.encode())


def _read_webhook(row: Row) -> Webhook:
    try:
        return Webhook(**known_fields(Webhook, orjson.loads(row[_WEBHOOK].value)))
    except (ValueError, TypeError) as error:
        raise CorruptRow("u", "webhook", str(error)) from error
