"""
aragog's exceptions, grouped by who must act and whether a retry can help.

An origin's failures are outcomes (`aragog.fetch_record.outcome`), not exceptions.

Each library has its own exceptions. `TRANSIENT`, `BAD_INPUT`, `CONFIG` and `PERMANENT` each contain
the classes of all libraries that need the same remedy, and `ALL` contains the base classes. To
handle temporary failures, write `except TRANSIENT`, not `except TransientError`.

    AragogError
    ├── ConfigError                 fix the settings; the process must not start
    ├── BadInput                    fix the call; a retry cannot help
    │   ├── InvalidField            name or size of a field
    │   ├── TakenDown               the URL was taken down
    │   ├── ValueTaken              another record has this value of a unique property
    │   └── Unsupported             this server does not support the call
    ├── VersionConflict             read the record again, then retry
    ├── AccessDenied                the server requires another token
    ├── TransientError              our infrastructure; tasks retry, the same call may work later
    │   ├── ContentUnavailable      S3 or the folder
    │   │   └── ContentReplaced     a writer has stored the new object, but not its record yet
    │   ├── LimiterUnavailable      the limiter's Redis
    │   ├── RobotsUnavailable       the robots cache's Redis
    │   ├── SpoolUnavailable        the spool's Redis
    │   ├── BrowserUnavailable      the browser that renders pages
    │   ├── SlowDown                too many new URLs for the available memory
    │   ├── QuotaExceeded           a token has used up its quota
    │   └── ServiceUnavailable      the server that a client calls does not respond in time
    └── PermanentError              our data is damaged; an operator must act
        └── CorruptContent

urlspelling raises `InvalidUrl`. pinlater raises `BrokerUnavailable` (for the job layer's servers,
or any Celery broker), `BrokerFull` and `InvalidMessage` (no version can read the task message).

zengraph raises `StoreUnavailable` (the tables on SQLite, PostgreSQL or HBase), `StoreDamaged` (one
SQLite file; the others work), `Unfinished`, `NotUnique` (another node has this value),
`SizeExceeded` (written or requested data exceeds a limit) and `CorruptRow`.

An error's fields are also its `args`, so that Celery can pickle it. Its text is `MESSAGE` with the
fields filled in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pinlater.errors import (
    BrokerFull,
    BrokerUnavailable,
    InvalidArgument,
    InvalidConfig,
    InvalidMessage,
    PinlaterError,
)
from richpins.errors import InvalidKind, MissingExtra, RichpinsError
from urlspelling.errors import InvalidSiteRules, InvalidUrl, UrlSpellingError
from zengraph.errors import (
    CorruptRow,
    NotUnique,
    SizeExceeded,
    StoreDamaged,
    StoreUnavailable,
    Unfinished,
    ZengraphError,
)
from zengraph.errors import InvalidArgument as InvalidGraphArgument
from zengraph.errors import InvalidConfig as InvalidGraphConfig

__all__ = [
    "ALL",
    "BAD_INPUT",
    "CONFIG",
    "PERMANENT",
    "REMEDIES",
    "TRANSIENT",
    "AccessDenied",
    "AragogError",
    "BadInput",
    "BrokerFull",
    "BrokerUnavailable",
    "BrowserUnavailable",
    "ConfigError",
    "ContentReplaced",
    "ContentUnavailable",
    "CorruptContent",
    "CorruptRow",
    "InvalidConfig",
    "InvalidField",
    "InvalidGraphArgument",
    "InvalidGraphConfig",
    "InvalidMessage",
    "InvalidUrl",
    "LimiterUnavailable",
    "NewerMessage",
    "NotUnique",
    "PermanentError",
    "QuotaExceeded",
    "RobotsUnavailable",
    "ServiceUnavailable",
    "SizeExceeded",
    "SlowDown",
    "SpoolUnavailable",
    "StoreDamaged",
    "StoreUnavailable",
    "TakenDown",
    "TransientError",
    "Unfinished",
    "Unsupported",
    "ValueTaken",
    "VersionConflict",
]


class AragogError(Exception):
    """The base class of aragog's exceptions."""

    MESSAGE: ClassVar[str] = ""

    def __post_init__(self) -> None:
        # Pickle passes these to the copy's `__init__`.
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self)) or super().__str__()


class ConfigError(AragogError):
    """
    The configuration is invalid: a typo, a wrong type, a port in use, a read-only folder.

    `problems` has one line per problem, with the setting or file, the value and the remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class BadInput(AragogError):
    """The caller passed an invalid argument. A retry cannot help."""


@dataclass(eq=False, repr=False)
class InvalidField(BadInput):
    """The store rejects the name or value of a field. `reason` includes the remedy."""

    MESSAGE = "field {field!r:.202}: {reason}"
    field: str
    reason: str


@dataclass(eq=False, repr=False)
class TakenDown(BadInput):
    """The URL was taken down. Writes are rejected until `UrlStore.takedowns.lift`."""

    MESSAGE = "{url}: was taken down"
    url: str


@dataclass(eq=False, repr=False)
class ValueTaken(BadInput):
    """Another record has this value of a unique property. Nothing changed."""

    MESSAGE = "property {name!r}: its value belongs to {url}"
    name: str
    url: str
    """The URL of the record with the value, or the hexadecimal ID of a node other than a page."""


class Unsupported(BadInput):
    """The server does not support the call, for example because it has no broker."""


class NewerMessage(InvalidMessage):
    """A newer version of aragog wrote the message. Only a worker of that version can run it."""


@dataclass(eq=False, repr=False)
class VersionConflict(AragogError):
    """A conditional write found a different version than expected. Nothing changed."""

    MESSAGE = "{url}: expected version {expected}, found {found}"
    url: str
    expected: str
    found: str


class AccessDenied(AragogError):
    """The token is missing, unknown, or lacks the required scope."""


@dataclass(eq=False, repr=False)
class TransientError(AragogError):
    """A component of our own infrastructure is unavailable. The same call may work later."""

    MESSAGE = "{where}: {reason}"
    where: str
    reason: str


class ContentUnavailable(TransientError):
    """The content store (folder, S3) is unavailable."""


class ContentReplaced(ContentUnavailable):
    """The page's content is being replaced: its object is newer than its record."""


class LimiterUnavailable(TransientError):
    """The rate limiter's Redis is unavailable. No slot was reserved."""


class RobotsUnavailable(TransientError):
    """The robots cache's Redis is unavailable. No rules are known."""


class SpoolUnavailable(TransientError):
    """The spool's Redis is unavailable or full."""


class BrowserUnavailable(TransientError):
    """The browser that renders pages is not installed or does not start."""


@dataclass(eq=False, repr=False)
class SlowDown(TransientError):
    """New URLs were refused because the server is nearly full. Retry after `retry_after_s`."""

    retry_after_s: float


@dataclass(eq=False, repr=False)
class QuotaExceeded(TransientError):
    """A token has used up a quota in `serving.quotas`. `reason` contains the numbers."""

    limit: str = ""
    """`urls_a_day`, `waiting_urls` or `bytes_a_day`."""
    most: int = 0
    used: int = 0
    retry_after_s: float = 0.0


@dataclass(eq=False, repr=False)
class ServiceUnavailable(TransientError):
    """The server that a client calls is full or does not respond. Retry after `retry_after_s`."""

    retry_after_s: float = 0.0


class PermanentError(AragogError):
    """Our own data is damaged. An operator must act."""


@dataclass(eq=False, repr=False)
class CorruptContent(PermanentError):
    """Stored content does not match the hash in its pointer."""

    MESSAGE = "content {key}: {reason}"
    key: str
    reason: str


TRANSIENT = (TransientError, BrokerUnavailable, StoreUnavailable, Unfinished)
"""A component of our own infrastructure is unavailable. The same call may work later."""
BAD_INPUT = (BadInput, InvalidArgument, InvalidMessage, InvalidUrl, InvalidGraphArgument)
"""The caller must change the call."""
CONFIG = (
    ConfigError,
    InvalidConfig,
    InvalidSiteRules,
    InvalidGraphConfig,
    InvalidKind,
    MissingExtra,
)
"""The operator must change the settings. Each has `problems`, with one line per problem."""
PERMANENT = (PermanentError, CorruptRow)
"""Our own data is damaged. An operator must act."""
ALL = (AragogError, PinlaterError, RichpinsError, UrlSpellingError, ZengraphError)
"""The base class of each library: all exceptions that aragog raises on purpose."""

REMEDIES = {
    "retry": TRANSIENT,
    "fix the call": BAD_INPUT,
    "fix the settings": CONFIG,
    "repair the data": PERMANENT,
}
"""The remedies, and the errors that each one fixes. No error has two remedies."""
