"""HTTP error responses as JSON problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson

from aragog.api.error_table import BUSY, LATE, ErrorKind, error_kind, kind_for_status
from aragog.api.operations.scopes import LacksScope
from aragog.errors import ALL, QuotaExceeded, SlowDown, TakenDown, ValueTaken, VersionConflict

if TYPE_CHECKING:
    from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """
    An error response.

    Args:
        status: the HTTP status code.
        detail: what is wrong with this request, and how to fix it.
        headers: additional headers of the response.
        members: additional members of the problem (RFC 9457, 3.2).
    """

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail)
        kind = kind_for_status(status)
        self.members = {**({"code": kind.code} if kind else {}), **(members or {})}
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON members. With type about:blank, the status says what the problem is."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> Response:
        from starlette.responses import Response  # noqa: PLC0415 - clients do not need it

        # Without this header, caches may store a 404.
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(orjson.dumps(self.as_dict()), self.status, headers, media_type=MEDIA_TYPE)


class Overloaded(Exception):
    """There are already `serving.max_in_flight` store calls."""


def to_problem(error: Exception) -> Problem:
    """Return the problem for a route's error, with status 500 if the error is unexpected."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Overloaded):
        return unavailable("too many concurrent requests")
    kind = error_kind(error)
    return Problem(
        kind.status, _detail(error), _headers(error, kind), {"code": kind.code, **_members(error)}
    )


def _detail(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no response within the deadline"
    is_known = isinstance(error, ALL)
    return str(error) if is_known else "internal error; the server's log has the details"


def _headers(error: Exception, kind: ErrorKind) -> dict[str, str]:
    match error:
        case LacksScope():
            challenge = f'Bearer realm="aragog", error="insufficient_scope", scope="{error.scope}"'
            return {"WWW-Authenticate": challenge}
        case SlowDown() | QuotaExceeded():
            return {"Retry-After": str(round(error.retry_after_s))}
        case _ if kind in (BUSY, LATE):
            return {"Retry-After": "1"}
        case _:
            return {}


def _members(error: Exception) -> dict[str, Any]:
    match error:
        case VersionConflict():
            return {"found_version": error.found}
        case TakenDown():
            return {"url": error.url}
        case ValueTaken():
            return {"url": error.url, "property": error.name}
        case QuotaExceeded():
            return {"limit": error.limit, "most": error.most, "used": error.used}
        case _:
            return {}


def unknown_url() -> Problem:
    """Return a 404 for a URL without a record."""
    return Problem(404, "there is no record of this URL")


def unavailable(detail: str) -> Problem:
    """Return a 503 that asks the client to retry a second later."""
    return Problem(503, detail, {"Retry-After": "1"})
