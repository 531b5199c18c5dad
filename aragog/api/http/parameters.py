"""Parse and check query parameters and JSON bodies."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from aragog.api.problems import Problem
from aragog.errors import BadInput
from aragog.urlstore.field_formats import parse

MOST_PARAMETERS = 64
MOST_DIGITS = 9


class Query:
    """
    The query parameters of a request; of several with one name, the last counts.

    Raises:
        BadInput: there are too many, or they are not valid UTF-8.
    """

    def __init__(self, request: Request) -> None:
        try:
            raw: str = request.scope["query_string"].decode("ascii")
            pairs = parse_qsl(
                raw, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
            )
        except ValueError as error:
            raise BadInput(f"the query cannot be read: {error}") from error
        self._values: dict[str, str] = dict(pairs)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: str | None = None) -> str | None:
        """A parameter; `default` if it is missing or empty."""
        return self._values.get(name) or default

    def texts(self) -> dict[str, str]:
        """All parameters."""
        return dict(self._values)

    def required(self, name: str) -> str:
        """A required parameter; raises BadInput if it is missing or empty."""
        value: str | None = self._values.get(name)
        if not value:
            raise BadInput(f"{name}: is required")
        return value

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number, capped at `most`; raises BadInput for other text or below `least`."""
        text = self._values.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
            raise BadInput(f"{name}: must be a whole number from {least} to {most}")
        if int(text) < least:
            raise BadInput(f"{name}: must be {least} at least")
        return min(int(text), most)

    def names(self, name: str) -> list[str] | None:
        """A comma-separated list; None if the parameter is missing."""
        text = self._values.get(name)
        return None if text is None else [name for name in text.split(",") if name]


def refuse_cross_site(request: Request) -> None:
    """
    Refuse a request that a page of another site made a browser send.

    For requests that cause something although no preflight request asked for permission: reads
    that fetch, and forms. Browsers send these headers themselves; other clients send neither.

    Raises:
        Problem: 403, the request comes from another site.
    """
    site, source = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    same = site in (None, "same-origin", "none")
    if source is not None and site is None:
        same = source.partition("://")[2] == request.headers.get("host")
    if not same:
        raise Problem(403, "requests from pages of other sites are refused")


async def json_object(request: Request, *, exact: bool = False) -> dict[str, Any]:
    """
    The JSON object in a request's body.

    A browser sends `application/json` to another origin only after a preflight request, which this
    server refuses. A page of another origin therefore cannot write.

    Args:
        request: its whole body is read; the middleware has limited its size.
        exact: keep the digits of numbers (`field_formats.parse`).

    Raises:
        Problem: 415, the Content-Type is not JSON.
        BadInput: the body is not a JSON object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/merge-patch+json"):
        raise Problem(415, "the body must be JSON: send Content-Type: application/json")
    body = await request.body()
    try:
        value = parse(body) if exact else orjson.loads(body)
    except ValueError as error:
        raise BadInput(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object")
    return value
