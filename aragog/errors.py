"""
The errors of aragog, cut by remedy: who must act, and does trying again help?

The web's misbehaviour is never an error here: it is an outcome (`aragog.fetcher.outcome`).

    AragogError
    ├── ConfigError                 the operator's; the process must not start
    ├── BadInput                    the caller's; trying again cannot help
    │   ├── InvalidUrl
    │   ├── InvalidField            a field's name or size
    │   ├── NotUnique               a unique property's value that another node has
    │   ├── TakenDown               a URL that must not be stored again
    │   └── InvalidMessage          a task message that this version cannot read
    ├── VersionConflict             nobody's; read again and decide anew
    ├── TransientError              our infrastructure; the same call may work later: tasks retry
    │   ├── StoreUnavailable        HBase, SQLite
    │   │   └── StoreDamaged        one of the SQLite files; the others go on
    │   ├── ContentUnavailable      S3, the folder
    │   ├── LimiterUnavailable      the limiter's Redis
    │   ├── RobotsUnavailable       the robots cache's Redis
    │   ├── SpoolUnavailable        the spool's Redis
    │   ├── BrokerUnavailable       the job layer's Redis, or any Celery broker
    │   │   └── BrokerFull          it answers, and its memory is full
    │   └── SlowDown                new URLs come in faster than there is room for them
    └── PermanentError              our data; a human must look
        ├── CorruptRow
        └── CorruptContent

Every field is an argument of `__init__` and handed on to `Exception`, so an error survives
pickling on its way through Celery. Messages are built in `__str__`.
"""

from __future__ import annotations


class AragogError(Exception):
    """The root of everything aragog raises on purpose."""


class ConfigError(AragogError):
    """
    Settings that cannot be used: a typo, a wrong type, a port in use, a folder that is read-only.

    Each problem names the setting or file, the value and the remedy, and all are told at once.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class BadInput(AragogError):
    """What the caller gave cannot be used; trying again cannot help."""


class InvalidUrl(BadInput, ValueError):
    """A string that is no http(s) URL, and why. `url` is cut to 200 characters in the message."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(url, why)
        self.url = url
        self.why = why

    def __str__(self) -> str:
        shown = self.url if len(self.url) <= 200 else f"{self.url[:200]}…"
        return f"{self.why}: {shown!r}"


class InvalidField(BadInput):
    """A field whose name or value the store refuses; the remedy is part of the reason."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(field, why)
        self.field = field
        self.why = why

    def __str__(self) -> str:
        return f"field {self.field[:200]!r}: {self.why}"


class NotUnique(BadInput):
    """A unique property's value that another node has, or is just being given; nothing changed."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(name, holder)
        self.name = name
        self.holder = holder

    def __str__(self) -> str:
        return f"property {self.name!r}: its value belongs to node {self.holder}"


class TakenDown(BadInput):
    """A write to a URL that was taken down; only `UrlStore.takedowns.lift` opens it again."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        return f"{self.url}: was taken down"


class InvalidMessage(BadInput):
    """A task message that cannot be read, and where in it."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class VersionConflict(AragogError):
    """A conditional write found another version than the one it was meant for; nothing changed."""

    def __init__(self, url: str, expected: str, found: str) -> None:
        super().__init__(url, expected, found)
        self.url = url
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.url}: expected version {self.expected}, found {self.found}"


class TransientError(AragogError):
    """Part of our own infrastructure did not answer; the same call may work later."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class StoreUnavailable(TransientError):
    """The cell tables (SQLite, HBase) did not answer; an unacknowledged write may be partial."""


class StoreDamaged(StoreUnavailable):
    """
    A row lies in an SQLite file that is damaged, which `aragog store repair` mends.

    Rows of other files are read and written as before.
    """


class ContentUnavailable(TransientError):
    """The content store (folder, S3) could not be reached."""


class LimiterUnavailable(TransientError):
    """The limiter's Redis could not be reached; no slot was promised."""


class RobotsUnavailable(TransientError):
    """The Redis of the robots cache could not be reached; nothing is known of any rules."""


class SpoolUnavailable(TransientError):
    """The spool's Redis could not be reached, or is full."""


class BrokerUnavailable(TransientError):
    """The broker could not be reached; what was not acknowledged was not enqueued."""


class BrokerFull(BrokerUnavailable):
    """It answers, and has no memory left for what is new; what is there goes on."""


class SlowDown(TransientError):
    """New URLs were refused, since the server is nearly full; try again after `retry_after_s`."""

    def __init__(self, where: str, why: str, retry_after_s: float) -> None:
        super().__init__(where, why)
        self.args = (where, why, retry_after_s)
        self.retry_after_s = retry_after_s


class PermanentError(AragogError):
    """Our own data is wrong; a human must look."""


class CorruptRow(PermanentError):
    """A stored row that cannot be decoded."""

    def __init__(self, table: str, row: str, why: str) -> None:
        super().__init__(table, row, why)
        self.table = table
        self.row = row
        self.why = why

    def __str__(self) -> str:
        return f"table {self.table}, row {self.row}: {self.why}"


class CorruptContent(PermanentError):
    """Stored content that does not match the hash its pointer carries."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(key, why)
        self.key = key
        self.why = why

    def __str__(self) -> str:
        return f"content {self.key}: {self.why}"
