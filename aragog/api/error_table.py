"""
The API's error codes, with their HTTP statuses and Thrift exceptions.

`code` is a member of each HTTP problem and a field of each Thrift exception. Statuses and
exceptions group the codes by how a client should react. The OpenAPI document, docs/http.md and
docs/thrift.md are generated from this table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from aragog.errors import (
    BAD_INPUT,
    TRANSIENT,
    AccessDenied,
    NotUnique,
    QuotaExceeded,
    SizeExceeded,
    TakenDown,
    Unsupported,
    ValueTaken,
    VersionConflict,
)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One row of the table."""

    code: str
    status: int
    """The HTTP status."""
    exception: str
    """The name of the Thrift exception, or "" if the error only occurs over HTTP."""
    meaning: str
    remedy: str


INVALID = ErrorKind(
    "invalid",
    400,
    "BadInput",
    "the request cannot be read, or an argument is invalid or unknown",
    "fix the call",
)
UNAUTHENTICATED = ErrorKind(
    "unauthenticated", 401, "Unauthorized", "the token is missing or unknown", "send a token"
)
FORBIDDEN = ErrorKind(
    "forbidden", 403, "Unauthorized",
    "the token lacks the scope, the caller may not use a field or queue, or a page on another "
    "site sent the request", "use another token",
)  # fmt: skip
TAKEN_DOWN = ErrorKind(
    "taken_down",
    403,
    "TakenDown",
    "the URL was taken down; `url` names it",
    "do not request it again",
)
NOT_FOUND = ErrorKind(
    "not_found", 404, "NotFound",
    "nothing is stored under this name, or the page's site does not allow this use", "enqueue it",
)  # fmt: skip
VALUE_TAKEN = ErrorKind(
    "value_taken", 409, "Conflict",
    "another record has this value of a unique property; `url` names it", "use another value",
)  # fmt: skip
CONFLICT = ErrorKind(
    "conflict",
    412,
    "Conflict",
    "the version of a conditional write does not match",
    "read it again",
)
TOO_LARGE = ErrorKind(
    "too_large", 413, "BadInput",
    "a body above `serving.max_body_bytes`, a record above `store.max_record_bytes` or "
    "`store.max_record_fields`, or a read of more than 32 MiB at once", "send or request less",
)  # fmt: skip
TOO_MANY = ErrorKind(
    "too_many",
    429,
    "Unavailable",
    "the token exceeds its rate",
    "wait as long as the response says",
)
OVER_QUOTA = ErrorKind(
    "over_quota", 429, "Unavailable",
    "the token's quota in `serving.quotas` is used up: `limit` is its name, `most` is "
    "its size, and `used` is how much of it is used",
    "wait as long as the response says, or ask for a larger quota",
)  # fmt: skip
INTERNAL = ErrorKind(
    "internal", 500, "InternalError", "damaged data or a bug in aragog", "see the server's log"
)
UNSUPPORTED = ErrorKind(
    "unsupported", 501, "BadInput", "this server does not support the call",
    "ask the server's operator",
)  # fmt: skip
BUSY = ErrorKind(
    "busy", 503, "Unavailable",
    "too many concurrent calls, a component does not respond, or the server is stopping",
    "wait as long as the response says",
)  # fmt: skip
LATE = ErrorKind(
    "late", 504, "DeadlineExceeded", "the deadline passed; a write may have happened",
    "retry the call",
)  # fmt: skip

ERROR_KINDS = (
    INVALID, UNAUTHENTICATED, FORBIDDEN, TAKEN_DOWN, NOT_FOUND, VALUE_TAKEN, CONFLICT, TOO_LARGE,
    TOO_MANY, OVER_QUOTA, INTERNAL, UNSUPPORTED, BUSY, LATE,
    ErrorKind("wrong_method", 405, "", "the path does not support this method", "see `Allow`"),
    ErrorKind("slow_request", 408, "", "the request arrived too slowly", "send it faster"),
    ErrorKind("not_json", 415, "", "the body's content type is not JSON",
              "send `Content-Type: application/json`"),
    ErrorKind("outside", 416, "", "the range begins after the end of the content",
              "request an earlier range"),
    ErrorKind("wrong_host", 421, "", "the server does not accept this Host header", "use its name"),
    ErrorKind("long_head", 431, "", "the request line and headers are too long", "send less"),
)  # fmt: skip
"""All rows of the table."""


def error_kind(error: BaseException) -> ErrorKind:
    """Return the row for an error of an operation."""
    match error:
        case VersionConflict():
            return CONFLICT
        case TakenDown():
            return TAKEN_DOWN
        case AccessDenied():
            return FORBIDDEN
        case ValueTaken() | NotUnique():
            return VALUE_TAKEN
        case Unsupported():
            return UNSUPPORTED
        case SizeExceeded():
            return TOO_LARGE
        case QuotaExceeded():
            return OVER_QUOTA
        case _ if isinstance(error, BAD_INPUT):
            return INVALID
        case _ if isinstance(error, TRANSIENT):
            return BUSY
        case TimeoutError():
            return LATE
        case _:
            return INTERNAL


def kind_for_status(status: int) -> ErrorKind | None:
    """Return the first row with an HTTP status, or None."""
    return next((kind for kind in ERROR_KINDS if kind.status == status), None)


def statuses() -> Iterator[tuple[str, str]]:
    """Yield every HTTP status, sorted, with its meaning."""
    for status in sorted({kind.status for kind in ERROR_KINDS}):
        rows = [kind for kind in ERROR_KINDS if kind.status == status]
        descriptions = [f"`{row.code}`: {row.meaning}" for row in rows]
        yield str(status), f"{HTTPStatus(status).phrase}. {'; '.join(descriptions)}."


def http_table() -> str:
    """Return the table in docs/http.md."""
    rows = sorted(ERROR_KINDS, key=lambda kind: kind.status)
    lines = [f"| {k.status} | `{k.code}` | {k.meaning} | {k.remedy} |" for k in rows]
    return "\n".join(
        ["| status | code | meaning | what to do |", "| --- | --- | --- | --- |", *lines]
    )


def thrift_table() -> str:
    """Return the table in docs/thrift.md."""
    rows = sorted((k for k in ERROR_KINDS if k.exception), key=lambda kind: kind.status)
    lines = [
        f"| {k.exception} | `{k.code}` | {k.meaning} | {k.remedy} | {k.status} |" for k in rows
    ]
    header_lines = [
        "| exception | code | meaning | what to do | HTTP |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*header_lines, *lines])
