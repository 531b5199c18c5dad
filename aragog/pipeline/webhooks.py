"""
Webhooks: changes posted to whoever asked, signed, again and again until they are taken.

`deal` reads what is behind each hook's cursor, sends it as a message and moves the cursor, in that
order: killed between the two, the same changes are sent once more, with the same delivery id.
`deliver` posts one message. What is not taken (any answer but 2xx) comes back by ETA, later each
time, and is dropped, with a line in the log, after `webhooks.max_attempts`.

The address is the operator's word, yet it is connected to like any stranger's: the guard vets
it, the connection goes to the vetted address, redirects are not followed. Hosts named in
`webhooks.allowed_hosts` are not vetted.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import logging
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from aragog.errors import InvalidMessage
from aragog.fetcher.guard import Vetted
from aragog.fetcher.ports import Guard
from aragog.pipeline.changes import plain
from aragog.pipeline.sending import WEBHOOK, Send
from aragog.pipeline.services import Services
from aragog.settings import WebhookSettings

log = logging.getLogger(__name__)

VERSION = 1
TICK = "webhooks"
_TICK_S = 1.0
# Changes of one delivery, and deliveries of one hook and tick.
MOST_CHANGES = 100
_MOST_DELIVERIES = 10
_LONGEST_WAIT_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """Changes on their way to one hook."""

    hook: str
    """Its name."""
    cursor: str
    """Where the changes begin; with the hook's name it makes the delivery's id."""
    changes: tuple[Mapping[str, Any], ...]
    attempt: int = 0

    @property
    def id(self) -> str:
        """The same for every attempt, and for a delivery that is made twice."""
        return hashlib.sha256(f"{self.hook} {self.cursor}".encode()).hexdigest()[:32]

    def wire(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "v": VERSION,
            "hook": self.hook,
            "cursor": self.cursor,
            "changes": list(self.changes),
            "attempt": self.attempt,
        }

    @classmethod
    def read(cls, wire: Any) -> Self:
        """The delivery of its JSON; InvalidMessage when it is none."""
        if not isinstance(wire, Mapping) or wire.get("v") != VERSION:
            raise InvalidMessage("delivery", f"is not of version {VERSION}")
        try:
            return cls(wire["hook"], wire["cursor"], tuple(wire["changes"]), int(wire["attempt"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidMessage("delivery", str(error)) from error


def deal(services: Services) -> int:
    """Send what hooks have not been told yet; how many deliveries. One caller at a time."""
    store, sent = services.store, 0
    if store.take_tick(TICK, services.clock.now_ms(), _TICK_S) is None:
        return 0
    for hook, told in store.hooks.all():
        cursor = told
        for _ in range(_MOST_DELIVERIES):
            page = store.changes(cursor, MOST_CHANGES, owner=hook.owner, host=hook.host)
            following = page.cursor or cursor
            if following == cursor:
                break
            if page.items:
                changes = tuple(plain(change) for change in page.items)
                services.sender.send(Send(WEBHOOK, Delivery(hook.name, cursor, changes)))
                sent += 1
            if not store.hooks.move(hook.name, cursor, following):
                break
            cursor = following
    return sent


def deliver(delivery: Delivery, services: Services) -> list[Send]:
    """Post it; the message for another attempt where it was not taken. May post twice."""
    hook = services.store.hooks.get(delivery.hook)
    if hook is None:
        return []
    settings = services.settings.webhooks
    now_ms = services.clock.now_ms()
    body = orjson.dumps({"id": delivery.id, "changes": list(delivery.changes)})
    headers = {
        "Content-Type": "application/json",
        "User-Agent": services.settings.fetch.user_agent or "aragog",
        "Aragog-Delivery": delivery.id,
        "Aragog-Signature": signature(hook.secret, now_ms // 1000, body),
    }
    why = post(hook.url, body, headers, settings, services.fetcher.guard)
    if why is None:
        return []
    if delivery.attempt + 1 >= settings.max_attempts:
        log.warning(
            "webhook %s: %s; given up after %d attempts", hook.url, why, delivery.attempt + 1
        )
        return []
    wait_s = min(settings.first_retry_s * 2.0**delivery.attempt, _LONGEST_WAIT_S)
    following = replace(delivery, attempt=delivery.attempt + 1)
    return [Send(WEBHOOK, following, int(wait_s * 1000))]


def signature(secret: str, at_s: int, body: bytes) -> str:
    """`t=<seconds>,v1=<hex>`: HMAC-SHA256 by the secret over the seconds, a full stop, the body."""
    signed = hmac.new(secret.encode(), b"%d." % at_s + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


def is_signed(
    secret: str, header: str, body: bytes, *, now_s: float, within_s: float = 300
) -> bool:
    """For receivers: whether a signature is ours, and made within the last minutes."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    at = parts.get("t", "")
    if not at.isdigit() or abs(now_s - int(at)) > within_s:
        return False
    return hmac.compare_digest(signature(secret, int(at), body), f"t={at},v1={parts.get('v1')}")


def post(
    url: str, body: bytes, headers: Mapping[str, str], settings: WebhookSettings, guard: Guard
) -> str | None:
    """Why it was not taken; None: it was, with a 2xx. Blocks for `webhooks.timeout_s` a step."""
    parts = urlsplit(url)
    host, tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if tls else 80)
    address: tuple[str, int] = (host, port)
    if host not in settings.allowed_hosts:
        refused = guard.vet_url(url)
        if refused:
            return f"forbidden: {refused}"
        found = guard.resolve(host, port)
        if not isinstance(found, Vetted):
            return found.why
        address = found.addresses[0]
    connection = _Pinned(host, port, address, tls=tls, timeout_s=settings.timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", path, body, dict(headers))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return None if 200 <= status < 300 else f"status {status}"


class _Pinned(http.client.HTTPConnection):
    """A connection to the address that was vetted, whatever the name leads to meanwhile."""

    def __init__(
        self, host: str, port: int, address: tuple[str, int], *, tls: bool, timeout_s: float
    ) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self._address = address
        self._tls = tls
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to the address; the certificate must be the host's."""
        self.sock = socket.create_connection(self._address, self._timeout_s)
        if self._tls:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
