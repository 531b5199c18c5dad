"""
Delivers page changes and crawl notices to webhooks, signed, with retries.

`send_changes` reads the changes after each webhook's cursor, sends them as a message, and then
moves the cursor. If the process is killed in between, the same changes are sent again with the same
delivery ID.

`deliver` posts one message. If the receiver does not accept it with a 2xx, it is retried with
increasing delays. After `webhooks.max_attempts` it is dropped and logged.

Deliveries have their own queue and threads, so slow receivers delay nothing else.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from aragog.crawl.fetcher.ssrf import AddressPolicy
from aragog.crawl.fetcher.user_agent import user_agent
from aragog.crawl.pipeline.change_json import change_to_json
from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.pipeline.messages import VERSION, message_errors
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, Sender
from aragog.crawl.pipeline.url_traces import TRACING_OFF, UrlTraces
from aragog.crawl.pipeline.webhook_signatures import Verifier, signature
from aragog.crawl.stages.webhook_post import post
from aragog.observability.tracing.context import HEADER
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import usable_urls
from aragog.urlstore.webhook_registry import Webhook

__all__ = ["Delivery", "Verifier", "WebhookStage", "signature"]

log = logging.getLogger(__name__)

TICK_NAME = "webhooks"
_TICK_S = 1.0
# Limits: changes per delivery, and deliveries to a webhook per tick.
MAX_CHANGES = 100
_MAX_DELIVERIES = 10
_MAX_WAIT_S = 6 * 3600.0


_WIRE_NAMES = ("v", "webhook", "cursor", "changes", "attempt", HEADER)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Changes on their way to one webhook."""

    webhook: str
    """The webhook's name, or a crawl's `crawl_receiver`."""
    cursor: str
    """The position of the first change. It and the webhook's name determine the delivery's ID."""
    changes: tuple[Mapping[str, Any], ...]
    attempt: int = 0
    traceparent: str = ""
    """The span context of its first attempt. Empty if not traced."""
    unknown: Mapping[str, Any] = field(default_factory=dict)
    """Fields from a newer version, kept for further attempts."""

    @property
    def id(self) -> str:
        """The delivery's ID, the same for each attempt, even if the delivery is created twice."""
        return hashlib.sha256(f"{self.webhook} {self.cursor}".encode()).hexdigest()[:32]

    def wire(self) -> dict[str, Any]:
        return {
            **self.unknown,
            "v": VERSION,
            "webhook": self.webhook,
            "cursor": self.cursor,
            "changes": list(self.changes),
            "attempt": self.attempt,
            **({HEADER: self.traceparent} if self.traceparent else {}),
        }

    @classmethod
    def read(cls, wire: Any) -> Self:
        """Parse a delivery from JSON. Raises InvalidMessage if it cannot be read."""
        with message_errors(wire, "delivery"):
            return cls(
                wire["webhook"],
                wire["cursor"],
                tuple(wire["changes"]),
                int(wire["attempt"]),
                str(wire.get(HEADER, "")),
                {name: value for name, value in wire.items() if name not in _WIRE_NAMES},
            )


_CRAWL_PREFIX = "crawl:"


def crawl_receiver(name: str) -> str:
    """Return the name in deliveries that stands for a crawl's notification URL."""
    return _CRAWL_PREFIX + name


class CrawlProvider(Protocol):
    """Provides the crawls (`aragog.crawl.pipeline.crawl_registry.CrawlRegistry`)."""

    def crawls(self) -> Crawls:
        """Return all crawls, from a copy that is at most one second old."""


@dataclass(frozen=True, slots=True)
class WebhookStage:
    """Creates and posts deliveries."""

    store: UrlStore
    sender: Sender
    ssrf_filter: AddressPolicy
    clock: Clock
    settings: Settings
    traces: UrlTraces = TRACING_OFF
    crawls: CrawlProvider | None = None
    """Provides the URLs to which crawls send notices."""

    def send_changes(self) -> int:
        """
        Send the changes after the cursors. Returns the number of deliveries; 0 if another caller
        has just done so.
        """
        if self.store.schedule.take_tick(TICK_NAME, self.clock.now_ms(), _TICK_S) is None:
            return 0
        cursors = self.store.feed.webhooks.all()
        return sum(self._send_to(webhook, cursor) for webhook, cursor in cursors)

    def _send_to(self, webhook: Webhook, cursor: str) -> int:
        store, sent_count = self.store, 0
        for _ in range(_MAX_DELIVERIES):
            page = store.feed.changes(cursor, MAX_CHANGES, owner=webhook.owner, host=webhook.host)
            next_cursor = page.cursor or cursor
            if next_cursor == cursor:
                break
            if page.items:
                changes = tuple(
                    change_to_json(change, store.formats.to_value) for change in page.items
                )
                delivery = Delivery(webhook.name, cursor, changes)
                self.sender.send(OutgoingMessage(Destination.WEBHOOK, delivery))
                sent_count += 1
            if not store.feed.webhooks.move(webhook.name, cursor, next_cursor):
                break
            cursor = next_cursor
        return sent_count

    def deliver(self, delivery: Delivery) -> list[OutgoingMessage]:
        """
        Post a delivery, possibly more than once. After a failure, returns the message for the next
        attempt.
        """
        webhook = self._find_receiver(delivery.webhook)
        changes = self._drop_taken_down(delivery)
        if webhook is None or not changes:
            return []
        changes = self._drop_withheld_fields(changes, webhook.purpose)
        delivery = replace(delivery, changes=changes)
        settings = self.settings.webhooks
        now_ms = self.clock.now_ms()
        # Not orjson: integers may have more than 64 bits.
        is_crawl_webhook = delivery.webhook.startswith(_CRAWL_PREFIX)
        content = {"crawl": changes[0]} if is_crawl_webhook else {"changes": list(changes)}
        body = json.dumps({"id": delivery.id, **content}).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": user_agent(self.settings.fetch),
            "Aragog-Delivery": delivery.id,
            "Aragog-Signature": signature(webhook.secret, now_ms // 1000, body),
        }
        span = self.traces.start_delivery(delivery.traceparent, webhook.url, len(changes))
        if span is not None:
            headers[HEADER] = span.traceparent
            delivery = replace(delivery, traceparent=delivery.traceparent or span.traceparent)
        reason = post(webhook.url, body, headers, settings, self.ssrf_filter)
        if span is not None:
            span.end(error=reason or "")
        if reason is None:
            return []
        if delivery.attempt + 1 >= settings.max_attempts:
            log.warning(
                "webhook %s: %s; given up after %d attempts",
                webhook.url,
                reason,
                delivery.attempt + 1,
            )
            return []
        wait_s = min(settings.first_retry_s * 2.0**delivery.attempt, _MAX_WAIT_S)
        retry = replace(delivery, attempt=delivery.attempt + 1)
        return [OutgoingMessage(Destination.WEBHOOK, retry, int(wait_s * 1000))]

    def _find_receiver(self, name: str) -> Webhook | None:
        if not name.startswith(_CRAWL_PREFIX):
            return self.store.feed.webhooks.get(name)
        records = self.crawls.crawls().records if self.crawls else {}
        record = records.get(name.removeprefix(_CRAWL_PREFIX))
        if record is None or not record.notify:
            return None
        return Webhook(name, record.notify, record.notify_secret)

    def _drop_taken_down(self, delivery: Delivery) -> tuple[Mapping[str, Any], ...]:
        """Return a delivery's changes, without pages that were taken down in the meantime."""
        urls = {str(change.get("url")) for change in delivery.changes}
        taken_down = self.store.takedowns.refused(urls)
        return tuple(change for change in delivery.changes if change.get("url") not in taken_down)

    def _drop_withheld_fields(
        self, changes: tuple[Mapping[str, Any], ...], purpose: str | None
    ) -> tuple[Mapping[str, Any], ...]:
        if purpose is None:
            return changes
        urls = usable_urls(self.store, (str(change.get("url")) for change in changes), purpose)
        return tuple(
            change if change.get("url") in urls else {**change, "fields": {}} for change in changes
        )
