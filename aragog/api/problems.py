"""HTTP error responses: problem details in JSON (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson

from aragog.api.operations.scopes import LacksScope
from aragog.errors import (
    ALL,
    BAD_INPUT,
    TRANSIENT,
    AccessDenied,
    NotUnique,
    SizeExceeded,
    SlowDown,
    TakenDown,
    Unsupported,
    VersionConflict,
)

if TYPE_CHECKING:
    from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
TAKEN_DOWN = "taken_down"
"""The member `code` of the problem of a URL that was taken down."""


class Problem(Exception):
    """
    An error response to a request.

    Args:
        status: the HTTP status code.
        detail: what is wrong with this request, and what to do.
        headers: further headers of the response.
        members: further members of the problem (RFC 9457, 3.2).
    """

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail)
        self.members = dict(members or {})
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """The members of RFC 9457; with type about:blank, the status identifies the problem."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> Response:
        """The problem as a response."""
        from starlette.responses import Response  # noqa: PLC0415 - clients need none

        headers = {"Cache-Control": "no-store", **self.headers}  # caches may store a 404 without it
        return Response(orjson.dumps(self.as_dict()), self.status, headers, media_type=MEDIA_TYPE)


class Overloaded(Exception):
    """More store calls at once than `serving.max_in_flight`."""


def problem_of(error: Exception) -> Problem:
    """The problem for an error of a route; 500 for an unexpected error."""
    match error:
        case Problem():
            return error
        case Overloaded():
            return unavailable("too many requests at once")
        case VersionConflict():
            return Problem(412, str(error), members={"found_version": error.found})
        case TakenDown():
            return Problem(403, str(error), members={"code": TAKEN_DOWN, "url": error.url})
        case LacksScope():
            challenge = f'Bearer realm="aragog", error="insufficient_scope", scope="{error.scope}"'
            return Problem(403, str(error), {"WWW-Authenticate": challenge})
        case AccessDenied():
            return Problem(403, str(error))
        case NotUnique():
            return Problem(409, str(error))
        case Unsupported():
            return Problem(501, str(error))
        case SizeExceeded():
            return Problem(413, str(error))
        case _ if isinstance(error, BAD_INPUT):
            return Problem(400, str(error))
        case SlowDown():
            return Problem(503, str(error), {"Retry-After": str(round(error.retry_after_s))})
        case _ if isinstance(error, TRANSIENT):
            return unavailable(str(error))
        case TimeoutError():
            return Problem(504, "not answered within the deadline", {"Retry-After": "1"})
        case _ if isinstance(error, ALL):
            return Problem(500, str(error))
        case _:
            return Problem(500, "internal error; the server's log has the details")


def unknown_url() -> Problem:
    """404: there is no record of the URL."""
    return Problem(404, "there is no record of this URL")


def unavailable(detail: str) -> Problem:
    """503: the same request may succeed a second later."""
    return Problem(503, detail, {"Retry-After": "1"})
