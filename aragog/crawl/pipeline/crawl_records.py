"""
A crawl's record: its name, what it may fetch, its bounds and its state.

A crawl has a number, which its URLs carry. Starting it again after it was cancelled gives it a new
one: what waits under the old number stays cancelled. Numbers are never used twice.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

import orjson

from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.errors import BadInput, InvalidMessage, InvalidUrl
from aragog.settings.token_quotas import LEAST_WEIGHT, MOST_WEIGHT
from urlspelling import normalize

VERSION = 1
ENQUEUED, REFRESHED = 0, 1
"""The crawls that always exist: URLs that were enqueued without a name, and refreshes."""
FIRST_NUMBER = 2
OWN_NAMES = {ENQUEUED: "enqueued", REFRESHED: "refresh"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class CrawlPhase(StrEnum):
    """A crawl's state."""

    RUNNING = "running"
    PAUSED = "paused"
    """Nothing new is requested; its URLs wait until it is resumed."""
    CANCELLED = "cancelled"
    """Somebody ended it: what waited is not fetched."""
    ENDED = "ended"
    """A bound ended it: `until` or `max_bytes`."""


ENDS = (CrawlPhase.CANCELLED, CrawlPhase.ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTerms:
    """The options of a crawl that its creator chooses, besides its scope."""

    depth: int = 0
    """Link hops that are followed from its seeds."""
    nofollow: bool = False
    """Follow links that are marked `nofollow` too."""
    priority: int = PRIORITY_DEFAULT
    purposes: str | None = None
    """Its purposes, separated by spaces; None: those of the settings."""
    max_urls: int | None = None
    max_urls_per_host: int | None = None
    max_bytes: int | None = None
    """Bytes of pages, as they came over the wire; then it ends."""
    until_ms: int | None = None
    """When it ends, by the clock of `redis.url`."""
    rate: float | None = None
    """Requests a second to one domain, if that is fewer than the domain allows."""
    weight: float = 1.0
    """Its share of a domain's slots beside other crawls of its token that wait for them."""
    max_open_hosts: int | None = None
    """Hosts of which URLs are fetched at once; the others wait for their turn."""
    every_s: int | None = None
    """The time between two rounds (`crawl_rounds`); 0 or None: it runs once."""
    notify: str = ""
    """The address that is told when it is done, has ended, or fails too often; "": none."""
    notify_error_rate: float | None = None
    """It fails too often when this share of its URLs has failed; None: nobody is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRecord(CrawlTerms):
    """One crawl."""

    name: str
    number: int
    """The number that its URLs carry now."""
    past: tuple[int, ...] = ()
    """The numbers that it had before it was started again, oldest first."""
    state: CrawlPhase = CrawlPhase.RUNNING
    reason: str = ""
    """Why it is in that state."""
    scope: Scope = field(default_factory=Scope)
    token: str = ""
    """The name of the token that started it; "": a command on this machine."""
    created_at_ms: int = 0
    changed_at_ms: int = 0
    round: int = 0
    """How often it has begun again by its schedule."""
    next_round_ms: int = 0
    """When it begins again, by the clock of `redis.url`; 0: by no schedule."""
    is_seeding: bool = False
    """A round has begun, and not all of its seeds are enqueued yet."""
    round_urls: int = 0
    """URLs that its number had counted when the round began; `max_urls` is about those since."""
    round_bytes: int = 0
    """The same for `max_bytes`."""
    told_ms: int = 0
    """
    Up to when a run has said what became of its pages, by the clock of `redis.url`; the next one
    says what changed since. 0: no run has begun.
    """
    notify_secret: str = ""
    """The key that signs what is sent to `notify`."""
    notified: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By event, the last of the kind that was reported (`crawl_notices`)."""
    unknown: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """Fields that a newer version wrote, which are kept."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """All numbers that it has or had."""
        return (*self.past, self.number)

    @property
    def has_ended(self) -> bool:
        """True if nothing is fetched for it until it is started again."""
        return self.state in ENDS

    def plain(self) -> dict[str, Any]:
        """The record as JSON values."""
        values = {name: getattr(self, name) for name in _NAMES}
        return {**self.unknown, **values, "scope": list(self.scope.rules), "v": VERSION}

    def wire(self) -> bytes:
        """The record as JSON."""
        return orjson.dumps(self.plain())

    @classmethod
    def read(cls, wire: bytes) -> Self:
        """
        The record of its JSON.

        Raises:
            InvalidMessage: it is not a crawl's record.
        """
        try:
            values = dict(orjson.loads(wire))
            values.pop("v", None)
            own = {name: values.pop(name) for name in _NAMES if name in values}
            own["scope"] = Scope(tuple(values.pop("scope", ())))
            own["state"] = CrawlPhase(own.get("state", CrawlPhase.RUNNING))
            own["past"] = tuple(own.get("past", ()))
            return cls(**own, unknown=values)
        except (TypeError, ValueError, BadInput) as error:
            raise InvalidMessage("crawl", f"{error}: {wire[:200]!r}") from error


_TERMS = tuple(f.name for f in fields(CrawlTerms))
_OWN = tuple(f.name for f in fields(CrawlRecord) if f.name not in {*_TERMS, "unknown", "scope"})
_NAMES = (*_OWN, *_TERMS)
OPTIONS = ("scope", *_TERMS, "notify_secret")
"""The fields that who starts a crawl chooses."""
MOST_NOTIFY_CHARS = 2_000


def checked(record: CrawlRecord) -> CrawlRecord:
    """
    The record, if its name and bounds can be used.

    Raises:
        BadInput: one of them cannot; the text names it.
    """
    check_name(record.name)
    least = {
        "depth": 0, "priority": 0, "max_urls": 1, "max_urls_per_host": 1, "max_bytes": 1,
        "until_ms": 1, "rate": 0.0001, "weight": LEAST_WEIGHT,
        "max_open_hosts": 0, "every_s": 0, "notify_error_rate": 0,
    }  # fmt: skip
    for name, bound in least.items():
        value = getattr(record, name)
        if value is not None and value < bound:
            raise BadInput(f"{name}: must be at least {bound}, got {value}")
    if record.weight > MOST_WEIGHT:
        raise BadInput(f"weight: must be at most {MOST_WEIGHT}, got {record.weight}")
    if record.priority > 9:
        raise BadInput(f"priority: must be at most 9, got {record.priority}")
    if record.notify:
        _check_address(record.notify)
        if not record.notify_secret:
            raise BadInput(
                "notify: give a secret as well (notify_secret), which signs what is sent"
            )
    return record


def _check_address(url: str) -> None:
    try:
        normalize(url)
    except InvalidUrl as error:
        raise BadInput(f"notify: {url[:80]!r} is no address: {error.reason}") from error
    if len(url) > MOST_NOTIFY_CHARS:
        raise BadInput(f"notify: at most {MOST_NOTIFY_CHARS} characters, got {len(url)}")


def check_name(name: str) -> None:
    """
    Return if a crawl can have this name.

    Raises:
        BadInput: it cannot.
    """
    if not NAME.fullmatch(name):
        raise BadInput(
            f"crawl: {name[:80]!r} is no name; use 1 to 64 letters, digits, '.', '-' and '_'"
        )
    if name in OWN_NAMES.values():
        raise BadInput(f"crawl: {name!r} always exists; choose another name")


def own_record(number: int) -> CrawlRecord:
    """The record of a crawl that always exists."""
    return CrawlRecord(name=OWN_NAMES[number], number=number)


def changed(record: CrawlRecord, now_ms: int, **values: Any) -> CrawlRecord:
    """The record with other values, as of `now_ms`."""
    return dataclasses.replace(record, changed_at_ms=now_ms, **values)


def numbered(record: CrawlRecord, now_ms: int, number: int) -> CrawlRecord:
    """The record with another number; what waits under the one before is cancelled. Pure."""
    return changed(
        record, now_ms, past=record.numbers, number=number,
        is_seeding=False, round_urls=0, round_bytes=0,
    )  # fmt: skip


def scheduled(record: CrawlRecord, now_ms: int) -> CrawlRecord:
    """The record with its next round a whole interval from now. Pure."""
    next_ms = now_ms + record.every_s * 1000 if record.every_s else 0
    return dataclasses.replace(record, next_round_ms=next_ms)
