"""The exceptions of the contract for the errors of aragog."""

from __future__ import annotations

import logging
import math
from typing import Any, NamedTuple

from aragog.api.problems import Problem
from aragog.api.server.thrift.contract import idl
from aragog.api.server.tokens import TokenRateExceeded
from aragog.errors import (
    ALL,
    BAD_INPUT,
    TRANSIENT,
    AccessDenied,
    SlowDown,
    TakenDown,
    VersionConflict,
)

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 1000


class Missing(Exception):
    """Nothing is stored under the URL."""


class Raised(NamedTuple):
    """An exception of the contract, and its place in every `throws`."""

    field: int
    error: Any


def raised_for(error: BaseException) -> Raised:
    """The exception that a client gets for an error of a call."""
    match error:
        case Missing():
            return Raised(2, idl.NotFound(message="there is no record of this URL"))
        case TakenDown():
            return Raised(8, idl.TakenDown(message=str(error), url=error.url))
        case _ if isinstance(error, BAD_INPUT):
            return Raised(1, idl.BadInput(message=str(error)))
        case VersionConflict():
            return Raised(3, idl.Conflict(message=str(error), found_version=error.found))
        case TokenRateExceeded():
            return unavailable(error.detail, math.ceil(error.wait_s * 1000))
        case Problem():
            return Raised(4, idl.Unauthorized(message=error.detail))
        case AccessDenied():
            return Raised(4, idl.Unauthorized(message=str(error)))
        case SlowDown():
            return unavailable(str(error), round(error.retry_after_s * 1000))
        case _ if isinstance(error, TRANSIENT):
            return unavailable(str(error))
        case _ if isinstance(error, ALL):
            return Raised(7, idl.InternalError(message=str(error)))
        case _:
            log.error("a Thrift call raised", exc_info=error)
            message = "internal error; the server's log has the details"
            return Raised(7, idl.InternalError(message=message))


def unavailable(message: str, retry_after_ms: int = RETRY_AFTER_MS) -> Raised:
    """The server cannot do it now."""
    return Raised(5, idl.Unavailable(message=message, retry_after_ms=retry_after_ms))


def too_late() -> Raised:
    """The call missed its deadline."""
    return Raised(6, idl.DeadlineExceeded(message="not answered within the deadline"))
