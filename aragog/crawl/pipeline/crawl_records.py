"""
The records of crawls: name, scope, limits and state.

Each URL carries its crawl's number. A crawl that is restarted after a cancellation gets a new
number, so URLs with the old number stay cancelled. Numbers are never reused.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, Self

import orjson

from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.errors import BadInput, InvalidMessage, InvalidUrl
from aragog.settings.token_quotas import MAX_WEIGHT, MIN_WEIGHT
from urlspelling import normalize

VERSION = 1
ENQUEUED, REFRESHED = 0, 1
"""The built-in crawls: one for URLs enqueued without a crawl's name, and one for refreshes."""
FIRST_NUMBER = 2
BUILT_IN_NAMES = {ENQUEUED: "enqueued", REFRESHED: "refresh"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class CrawlPhase(StrEnum):
    """The state of a crawl."""

    RUNNING = "running"
    PAUSED = "paused"
    """No new requests are sent. The URLs wait until the crawl is resumed."""
    CANCELLED = "cancelled"
    """Someone ended the crawl. Its waiting URLs are not fetched."""
    ENDED = "ended"
    """The crawl reached its limit `until` or `max_bytes`."""


ENDED_STATES = (CrawlPhase.CANCELLED, CrawlPhase.ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """A crawl's options, apart from its scope."""

    depth: int = 0
    """Levels of links to follow from the seeds."""
    nofollow: bool = False
    """True to also follow links marked `nofollow`."""
    priority: int = PRIORITY_DEFAULT
    purposes: str | None = None
    """The crawl's purposes, separated by spaces. None means the purposes in the settings."""
    max_urls: int | None = None
    max_urls_per_host: int | None = None
    max_bytes: int | None = None
    """Limit on the total bytes of pages, as received. The crawl ends when it is reached."""
    until_ms: int | None = None
    """When the crawl ends, by the Redis server's clock."""
    rate: float | None = None
    """Limit on requests per second to one domain, if lower than the domain's own limit."""
    weight: float = 1.0
    """The crawl's share of a domain's slots (request times), relative to other crawls that the same
    API token started."""
    max_open_hosts: int | None = None
    """Maximum number of hosts fetched at the same time. The others wait their turn."""
    every_s: int | None = None
    """The time between the starts of two rounds (`crawl_rounds`); 0 or None to run once."""
    notify: str = ""
    """The URL for notices that the crawl is done, has ended, or fails too often; empty for none."""
    notify_error_rate: float | None = None
    """The fraction of failed URLs that triggers a notice; None for no notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRecord(CrawlOptions):
    """One crawl."""

    name: str
    number: int
    past: tuple[int, ...] = ()
    """The crawl's earlier numbers, oldest first."""
    state: CrawlPhase = CrawlPhase.RUNNING
    reason: str = ""
    scope: Scope = field(default_factory=Scope)
    token: str = ""
    """The name of the API token that started the crawl; empty for a command on this machine."""
    created_at_ms: int = 0
    changed_at_ms: int = 0
    round: int = 0
    """How many rounds its schedule has started."""
    next_round_ms: int = 0
    """When the next round is due, by the Redis server's clock; 0 without a schedule."""
    is_seeding: bool = False
    """True if some seeds of a started round are not enqueued yet."""
    round_urls: int = 0
    """The number of URLs counted before the round started. They do not count toward `max_urls`."""
    round_bytes: int = 0
    """The bytes counted before the round started. They do not count toward `max_bytes`."""
    told_ms: int = 0
    """`aragog run` has reported changes to the crawl's pages up to this time, by the Redis server's
    clock. The next run reports later changes. 0 before the first run."""
    notify_secret: str = ""
    """The key for signing notices sent to `notify`."""
    notified: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The most recently reported event of each kind (`crawl_notices`)."""
    unknown_fields: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """Fields that a newer version of aragog wrote. They are kept."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return (*self.past, self.number)

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES

    def to_json_values(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _FIELD_NAMES}
        return {**self.unknown_fields, **values, "scope": list(self.scope.rules), "v": VERSION}

    def wire(self) -> bytes:
        return orjson.dumps(self.to_json_values())

    @classmethod
    def read(cls, wire: bytes) -> Self:
        """
        Parse a record from JSON.

        Raises:
            InvalidMessage: the JSON is not a crawl's record.
        """
        try:
            values = dict(orjson.loads(wire))
            values.pop("v", None)
            known_values = {name: values.pop(name) for name in _FIELD_NAMES if name in values}
            known_values["scope"] = Scope(tuple(values.pop("scope", ())))
            known_values["state"] = CrawlPhase(known_values.get("state", CrawlPhase.RUNNING))
            known_values["past"] = tuple(known_values.get("past", ()))
            return cls(**known_values, unknown_fields=values)
        except (TypeError, ValueError, BadInput) as error:
            raise InvalidMessage("crawl", f"{error}: {wire[:200]!r}") from error


_TERM_NAMES = tuple(f.name for f in fields(CrawlOptions))
_RECORD_NAMES = tuple(
    f.name for f in fields(CrawlRecord) if f.name not in {*_TERM_NAMES, "unknown_fields", "scope"}
)
_FIELD_NAMES = (*_RECORD_NAMES, *_TERM_NAMES)
OPTIONS = ("scope", *_TERM_NAMES, "notify_secret")
MAX_NOTIFY_CHARS = 2_000


def validate(record: CrawlRecord) -> CrawlRecord:
    """
    Return the record if its name and limits are valid.

    Raises:
        BadInput: a value is invalid. The message names it.
    """
    check_name(record.name)
    minimums = {
        "depth": 0, "priority": 0, "max_urls": 1, "max_urls_per_host": 1, "max_bytes": 1,
        "until_ms": 1, "rate": 0.0001, "weight": MIN_WEIGHT,
        "max_open_hosts": 0, "every_s": 0, "notify_error_rate": 0,
    }  # fmt: skip
    for name, minimum in minimums.items():
        value = getattr(record, name)
        if value is not None and value < minimum:
            raise BadInput(f"{name}: must be at least {minimum}, got {value}")
    if record.weight > MAX_WEIGHT:
        raise BadInput(f"weight: must be at most {MAX_WEIGHT}, got {record.weight}")
    if record.priority > 9:
        raise BadInput(f"priority: must be at most 9, got {record.priority}")
    if record.notify:
        _check_notify_url(record.notify)
        if not record.notify_secret:
            raise BadInput("notify: also needs notify_secret, the key for signing notices")
    return record


def _check_notify_url(url: str) -> None:
    try:
        normalize(url)
    except InvalidUrl as error:
        raise BadInput(f"notify: {url[:80]!r} is not a URL: {error.reason}") from error
    if len(url) > MAX_NOTIFY_CHARS:
        raise BadInput(f"notify: at most {MAX_NOTIFY_CHARS} characters, got {len(url)}")


def check_name(name: str) -> None:
    """
    Check a crawl's name.

    Raises:
        BadInput: the name is not allowed.
    """
    if not NAME.fullmatch(name):
        raise BadInput(
            f"crawl: {name[:80]!r} is not a name; use 1 to 64 letters, digits, '.', '-' and '_'"
        )
    if name in BUILT_IN_NAMES.values():
        raise BadInput(f"crawl: {name!r} is a built-in crawl; choose another name")


@cache
def built_in_record(number: int) -> CrawlRecord:
    """Return the record of a built-in crawl. Cached, because it is needed twice per page."""
    return CrawlRecord(name=BUILT_IN_NAMES[number], number=number)


def with_changes(record: CrawlRecord, now_ms: int, **values: Any) -> CrawlRecord:
    """Return a changed copy of the record. `now_ms` is the time of the change."""
    return dataclasses.replace(record, changed_at_ms=now_ms, **values)


def with_new_number(record: CrawlRecord, now_ms: int, number: int) -> CrawlRecord:
    """Return a copy with a new number. URLs with the old one are then cancelled."""
    return with_changes(
        record, now_ms, past=record.numbers, number=number,
        is_seeding=False, round_urls=0, round_bytes=0,
    )  # fmt: skip


def with_next_round(record: CrawlRecord, now_ms: int) -> CrawlRecord:
    """Return a copy whose next round is one interval from now."""
    next_ms = now_ms + record.every_s * 1000 if record.every_s else 0
    return dataclasses.replace(record, next_round_ms=next_ms)
