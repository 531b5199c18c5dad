"""Map aragog's errors to Thrift exceptions."""

from __future__ import annotations

import logging
import math
from typing import Any, NamedTuple

from aragog.api import error_table
from aragog.api.error_table import ErrorKind, error_kind
from aragog.api.problems import Problem
from aragog.api.server.thrift.contract import idl
from aragog.api.server.tokens import TokenRateExceeded
from aragog.errors import ALL, QuotaExceeded, SlowDown, TakenDown, ValueTaken, VersionConflict

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 1000
THROWS_POSITIONS = {
    "BadInput": 1, "NotFound": 2, "Conflict": 3, "Unauthorized": 4, "Unavailable": 5,
    "DeadlineExceeded": 6, "InternalError": 7, "TakenDown": 8,
}  # fmt: skip
"""Each exception's position in every `throws` in the contract."""


class Missing(Exception):
    """Nothing is stored for the URL."""


class WireException(NamedTuple):
    """A Thrift exception, and its position in the contract's `throws`."""

    field: int
    error: Any


def wire_exception(error: BaseException) -> WireException:
    """Return the exception that a client receives for a call's error."""
    match error:
        case Missing():
            return _build_exception(error_table.NOT_FOUND, "there is no record of this URL")
        case TokenRateExceeded():
            wait_ms = math.ceil(error.wait_s * 1000)
            return _build_exception(error_table.TOO_MANY, error.detail, retry_after_ms=wait_ms)
        case Problem():
            kind = error_table.kind_for_status(error.status) or error_table.INTERNAL
            return _build_exception(kind, error.detail, **_retry_after(error, kind))
        case _ if isinstance(error, ALL):
            kind = error_kind(error)
            return _build_exception(
                kind, str(error), **_members(error), **_retry_after(error, kind)
            )
        case TimeoutError():
            return deadline_exceeded()
        case _:
            log.error("a Thrift call raised", exc_info=error)
            message = "internal error; the server's log has the details"
            return _build_exception(error_table.INTERNAL, message)


def _build_exception(kind: ErrorKind, message: str, **members: Any) -> WireException:
    exception = getattr(idl, kind.exception)
    return WireException(
        THROWS_POSITIONS[kind.exception], exception(message=message, code=kind.code, **members)
    )


def _members(error: BaseException) -> dict[str, Any]:
    match error:
        case VersionConflict():
            return {"found_version": error.found}
        case ValueTaken():
            return {"found_version": "", "url": error.url, "property": error.name}
        case TakenDown():
            return {"url": error.url}
        case QuotaExceeded():
            return {"limit": error.limit, "most": error.most, "used": error.used}
        case _:
            return {}


def _retry_after(error: BaseException, kind: ErrorKind) -> dict[str, int]:
    """Return the member that says when the client should retry, if the exception has it."""
    if kind.exception != "Unavailable":
        return {}
    if isinstance(error, SlowDown | QuotaExceeded):
        return {"retry_after_ms": round(error.retry_after_s * 1000)}
    return {"retry_after_ms": RETRY_AFTER_MS}


def unavailable(message: str, retry_after_ms: int = RETRY_AFTER_MS) -> WireException:
    """Return the exception for a call that the server cannot handle now."""
    return _build_exception(error_table.BUSY, message, retry_after_ms=retry_after_ms)


def deadline_exceeded() -> WireException:
    """Return the exception for a call that missed its deadline."""
    return _build_exception(error_table.LATE, "no response within the deadline")
