"""
A job's body: opaque bytes with a content type, for programs in any language.

The first byte of a stored body gives its format:

    1    a plain body: its content type in ASCII, a line feed, and the producer's bytes
    {    a Celery task message as JSON (envelope.py), which only the transport reads and writes

A plain body does not contain the function to run. The field `name` of the job's record names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pinlater.errors import InvalidArgument, InvalidMessage

OCTETS = "application/octet-stream"
JSON = "application/json"
MAX_TYPE_CHARACTERS = 200
_PLAIN_FORMAT = b"\x01"
_CONTENT_TYPE = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
"""Visible ASCII, with spaces inside: a media type and its parameters (RFC 9110, 8.3.1)."""


class JobBody(NamedTuple):
    """A job's body."""

    data: bytes
    content_type: str = OCTETS


def encode(body: JobBody) -> bytes:
    """
    Encode a body for storage.

    Raises:
        InvalidArgument: the content type is empty, longer than 200 characters, or not ASCII.
    """
    if not _CONTENT_TYPE.fullmatch(body.content_type):
        raise InvalidArgument(
            f"content_type: must have 1 to {MAX_TYPE_CHARACTERS} printable ASCII characters, "
            f"got {body.content_type[:80]!r}"
        )
    return b"%b%b\n%b" % (_PLAIN_FORMAT, body.content_type.encode(), body.data)


def is_plain(stored: bytes) -> bool:
    """Return whether a stored body is a plain body."""
    return stored[:1] == _PLAIN_FORMAT


def decode(stored: bytes) -> JobBody:
    """
    Decode a stored plain body.

    Raises:
        InvalidMessage: the body is a Celery task message or has a newer version.
    """
    header, newline, data = stored[: MAX_TYPE_CHARACTERS + 2].partition(b"\n")
    content_type = header[1:].decode("ascii", "replace")
    if not is_plain(stored) or not newline or not _CONTENT_TYPE.fullmatch(content_type):
        raise InvalidMessage("job body", f"has an unknown version: {stored[:20]!r}")
    return JobBody(data + stored[MAX_TYPE_CHARACTERS + 2 :], content_type)


def of_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> JobBody:
    """
    Return the body for a function's arguments.

    A single argument of type bytes is the body itself. Other positional arguments become a JSON
    array, named ones a JSON object.

    Raises:
        InvalidArgument: some arguments are positional and some named, or a value is not JSON.
    """
    if args and kwargs:
        raise InvalidArgument("job: pass its arguments by position or by name, not both")
    if len(args) == 1 and isinstance(args[0], bytes):
        return JobBody(args[0])
    try:
        text = json.dumps(kwargs or list(args), ensure_ascii=False, allow_nan=False)
        return JobBody(text.encode(), JSON)
    except (TypeError, ValueError) as error:
        # A date, for example, would arrive as a string in other languages.
        raise InvalidArgument(f"job: its arguments must be JSON values, {error}") from error


def arguments(body: JobBody) -> tuple[list[Any], dict[str, Any]]:
    """
    Return a body's positional and named arguments; the inverse of `of_arguments`.

    Any other JSON value becomes the only argument, and so does data of another content type.

    Raises:
        InvalidMessage: the content type is JSON, but the data is not.
    """
    media_type = body.content_type.partition(";")[0].strip().lower()
    if media_type != JSON and not media_type.endswith("+json"):
        return [body.data], {}
    try:
        value = json.loads(body.data)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage("job body", f"is not JSON: {error}") from error
    if isinstance(value, dict):
        return [], value
    return (value if isinstance(value, list) else [value]), {}
