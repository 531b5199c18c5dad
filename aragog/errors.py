"""
The exceptions of aragog, grouped by remedy: who must act, and whether a retry can help.

Failures of the web are no exceptions: they are outcomes (`aragog.fetcher.outcome`).

    AragogError
    ├── ConfigError                 fix the settings; the process must not start
    ├── BadInput                    fix the call; a retry cannot help
    │   ├── InvalidUrl
    │   ├── InvalidField            name or size of a field
    │   ├── NotUnique               another node has this value of a unique property
    │   ├── TakenDown               the URL was taken down
    │   └── InvalidMessage          a task message that this version cannot read
    ├── VersionConflict             read again and decide again
    ├── AccessDenied                the server requires another token
    ├── TransientError              our infrastructure; tasks retry, the same call may work later
    │   ├── StoreUnavailable        HBase, SQLite
    │   │   └── StoreDamaged        one SQLite file; the others work
    │   ├── ContentUnavailable      S3, the folder
    │   ├── LimiterUnavailable      the limiter's Redis
    │   ├── RobotsUnavailable       the robots cache's Redis
    │   ├── SpoolUnavailable        the spool's Redis
    │   ├── BrokerUnavailable       the job layer's Redis, or any Celery broker
    │   │   └── BrokerFull          the broker works, but its memory is full
    │   ├── SlowDown                too many new URLs for the available memory
    │   └── ServiceUnavailable      the server of a client does not answer, or not in time
    └── PermanentError              our data is damaged; an operator must act
        ├── CorruptRow
        └── CorruptContent

Every field is an argument of `__init__` and is passed to `Exception`, so that Celery can pickle the
error. `__str__` builds the message.
"""

from __future__ import annotations


class AragogError(Exception):
    """The base class of all exceptions that aragog raises."""


class ConfigError(AragogError):
    """
    The configuration is invalid: a typo, a wrong type, a port in use, a read-only folder.

    `problems` has one line for each problem, with the setting or file, the value and the remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class BadInput(AragogError):
    """An argument of the caller is invalid; a retry cannot help."""


class InvalidUrl(BadInput, ValueError):
    """The string is not an http(s) URL. The message shows at most 200 characters of it."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        shown = self.url if len(self.url) <= 200 else f"{self.url[:200]}…"
        return f"{self.reason}: {shown!r}"


class InvalidField(BadInput):
    """The store rejects the name or value of a field; `reason` includes the remedy."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        return f"field {self.field[:200]!r}: {self.reason}"


class NotUnique(BadInput):
    """Another node has, or is being given, this value of a unique property; nothing changed."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(name, holder)
        self.name = name
        self.holder = holder

    def __str__(self) -> str:
        return f"property {self.name!r}: its value belongs to node {self.holder}"


class TakenDown(BadInput):
    """The URL was taken down; writes are rejected until `UrlStore.takedowns.lift`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        return f"{self.url}: was taken down"


class InvalidMessage(BadInput):
    """A task message is invalid; `where` is the path of the invalid value."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class VersionConflict(AragogError):
    """A conditional write found another version than expected; nothing changed."""

    def __init__(self, url: str, expected: str, found: str) -> None:
        super().__init__(url, expected, found)
        self.url = url
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.url}: expected version {self.expected}, found {self.found}"


class AccessDenied(AragogError):
    """The token is missing or unknown, or has not the scope that the call requires."""


class TransientError(AragogError):
    """A part of our own infrastructure is unavailable; the same call may work later."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class StoreUnavailable(TransientError):
    """The tables (SQLite, HBase) are unavailable; an unacknowledged write may be partial."""


class StoreDamaged(StoreUnavailable):
    """
    A row is in a damaged SQLite file, which `aragog store repair` repairs.

    Reads and writes of rows in other files work.
    """


class ContentUnavailable(TransientError):
    """The content store (folder, S3) is unavailable."""


class LimiterUnavailable(TransientError):
    """The Redis of the rate limiter is unavailable; no slot was reserved."""


class RobotsUnavailable(TransientError):
    """The Redis of the robots cache is unavailable; no rules are known."""


class SpoolUnavailable(TransientError):
    """The Redis of the spool is unavailable or full."""


class BrokerUnavailable(TransientError):
    """The broker is unavailable; jobs without an acknowledgement were not enqueued."""


class BrokerFull(BrokerUnavailable):
    """The broker has no memory for new jobs; existing jobs continue."""


class SlowDown(TransientError):
    """New URLs were refused because the server is nearly full; retry after `retry_after_s`."""

    def __init__(self, where: str, reason: str, retry_after_s: float) -> None:
        super().__init__(where, reason)
        self.args = (where, reason, retry_after_s)
        self.retry_after_s = retry_after_s


class ServiceUnavailable(TransientError):
    """A client's server is full or does not answer; retry after `retry_after_s`, 0: at once."""

    def __init__(self, where: str, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(where, reason)
        self.args = (where, reason, retry_after_s)
        self.retry_after_s = retry_after_s


class PermanentError(AragogError):
    """Our own data is damaged; an operator must act."""


class CorruptRow(PermanentError):
    """A stored row cannot be decoded."""

    def __init__(self, table: str, row: str, reason: str) -> None:
        super().__init__(table, row, reason)
        self.table = table
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return f"table {self.table}, row {self.row}: {self.reason}"


class CorruptContent(PermanentError):
    """Stored content does not match the hash in its pointer."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        return f"content {self.key}: {self.reason}"
