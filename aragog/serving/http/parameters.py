"""What a request asks for: query parameters and JSON bodies, checked."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from aragog.errors import BadInput
from aragog.serving.http.problems import Problem
from aragog.urlstore.pages.field_formats import parse

MOST_PARAMETERS = 64
MOST_URLS = 1000
MOST_DIGITS = 9


class Query:
    """
    The query parameters of a request; the last of a name counts.

    Raises:
        BadInput: they are not UTF-8, or too many.
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

    def get(self, name: str, default: str | None = None) -> str | None:
        """A parameter; `default` where it is missing or empty."""
        return self._values.get(name) or default

    def required(self, name: str) -> str:
        """A parameter that must be given; raises BadInput."""
        value: str | None = self._values.get(name)
        if not value:
            raise BadInput(f"{name}: is required")
        return value

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number, cut to `most`; raises BadInput for any other text or below `least`."""
        text = self._values.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
            raise BadInput(f"{name}: must be a whole number from {least} to {most}")
        if int(text) < least:
            raise BadInput(f"{name}: must be {least} at least")
        return min(int(text), most)

    def names(self, name: str) -> list[str] | None:
        """A list separated by commas; None where the parameter is missing."""
        text = self._values.get(name)
        return None if text is None else [one for one in text.split(",") if one]


async def json_object(request: Request, *, exact: bool = False) -> dict[str, Any]:
    """
    The JSON object in a request's body.

    A browser sends `application/json` to another origin only after a preflight, which this server
    refuses; so a page of a stranger cannot write.

    Args:
        request: its body is read whole; its size is bounded already.
        exact: keep the digits of numbers (`field_formats.parse`).

    Raises:
        Problem: 415, the body is declared to be something else.
        BadInput: it is no JSON object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/merge-patch+json"):
        raise Problem(415, "the body must be JSON: send Content-Type: application/json")
    body = await request.body()
    try:
        value = parse(body) if exact else orjson.loads(body)
    except ValueError as error:
        raise BadInput(f"the body is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object")
    return value


def strings(body: dict[str, Any], name: str, most: int) -> list[str]:
    """A list of strings of the body; raises BadInput."""
    value = body.get(name)
    if not isinstance(value, list) or len(value) > most:
        raise BadInput(f"{name}: must be a list of {most} strings at most")
    if not all(isinstance(one, str) for one in value):
        raise BadInput(f"{name}: must hold nothing but strings")
    return value


def optional_strings(body: dict[str, Any], name: str, most: int) -> list[str] | None:
    """The same; None where it is missing or null."""
    return None if body.get(name) is None else strings(body, name, most)
