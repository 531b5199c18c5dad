"""Parse and validate query parameters and JSON bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from aragog.api.problems import Problem
from aragog.errors import BadInput
from aragog.urlstore.field_formats import parse

T = TypeVar("T")

MAX_PARAMETERS = 64
MAX_DIGITS = 9


class Query:
    """
    The query parameters of a request.

    Raises:
        BadInput: there are too many parameters, one is repeated, or they are not valid UTF-8.
    """

    def __init__(self, request: Request) -> None:
        try:
            raw: str = request.scope["query_string"].decode("ascii")
            pairs = parse_qsl(
                raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
            )
        except ValueError as error:
            raise BadInput(f"the query cannot be read: {error}") from error
        self._values: dict[str, str] = to_distinct_dict(pairs)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return a parameter, or `default` if it is missing or empty."""
        return self._values.get(name) or default

    def values(self) -> dict[str, str]:
        return dict(self._values)

    def required(self, name: str) -> str:
        """Return a required parameter. Raises BadInput if it is missing or empty."""
        value: str | None = self._values.get(name)
        if not value:
            raise BadInput(f"{name}: is required")
        return value

    def number(self, name: str, default: int, *, minimum: int, maximum: int) -> int:
        """
        Return a whole number, capped at `maximum`.

        Raises:
            BadInput: this is not a whole number, or it is below `minimum`.
        """
        text = self._values.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
            raise BadInput(f"{name}: must be a whole number from {minimum} to {maximum}")
        if int(text) < minimum:
            raise BadInput(f"{name}: must be at least {minimum}")
        return min(int(text), maximum)

    def names(self, name: str) -> list[str] | None:
        """Return a comma-separated list, or None if the parameter is missing."""
        text = self._values.get(name)
        return None if text is None else [name for name in text.split(",") if name]


def refuse_cross_site(request: Request) -> None:
    """
    Refuse a request that a browser sends for another site's page. Call this for requests that have
    side effects but need no preflight request: forms, and reads that fetch. Only browsers set the
    headers that are checked.

    Raises:
        Problem: 403, the request comes from another site.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_same_site = site in (None, "same-origin", "none")
    if origin is not None and site is None:
        is_same_site = origin.partition("://")[2] == request.headers.get("host")
    if not is_same_site:
        raise Problem(403, "requests from other sites' pages are refused")


def to_distinct_dict(pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
    """
    Return the values by name.

    Raises:
        BadInput: a name is repeated. Choosing one value would be unsafe, for example for the
            parameter `for`, which limits the returned data.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"{repeated[:100]}: is given more than once")
    return values


def _check_not_repeated(body: bytes, members: Mapping[str, Any]) -> None:
    """Check that no member is repeated. Parsers would silently use the last one."""
    is_flat = b"\\" not in body and body.count(b"{") == 1
    if is_flat and all(body.count(f'"{name}"'.encode()) == 1 for name in members):
        return
    try:
        # Numbers stay strings, which is fast and allows any number of digits.
        json.loads(body, object_pairs_hook=to_distinct_dict, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise BadInput("the body is nested too deeply") from error


async def json_object(request: Request, *, exact: bool = False) -> dict[str, Any]:
    """
    Return the JSON object in a request's body.

    Pages from other origins cannot write, because browsers send `application/json` to another
    origin only after a preflight request. This server refuses preflight requests, except from
    `serving.cors_origins`.

    Args:
        request: the request, whose body the middleware limits.
        exact: True to keep the digits of numbers (`field_formats.parse`).

    Raises:
        Problem: 415, the Content-Type is not JSON.
        BadInput: the body is not a JSON object, or an object in it repeats a member.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in ("application/json", "application/merge-patch+json"):
        raise Problem(415, "the body must be JSON: send Content-Type: application/json")
    body = await request.body()
    try:
        value = parse(body) if exact else orjson.loads(body)
    except ValueError as error:
        raise BadInput(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object")
    _check_not_repeated(body, value)
    return value
