"""
A job's body: opaque bytes with a content type, the same for programs in every language.

The first byte of a stored body says what follows:

    1    a plain body: its content type in ASCII, a line feed, and the bytes of the producer
    `{`  a task message of Celery as JSON (envelope.py), which only the transport reads and writes

A plain body names no function: that is the job type, the field `name` of the job's record. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pinlater.errors import InvalidArgument, InvalidMessage

OCTETS = "application/octet-stream"
JSON = "application/json"
MOST_TYPE_CHARACTERS = 200
_PLAIN = b"\x01"
_TYPE = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
"""Visible ASCII, with spaces inside: a media type and its parameters (RFC 9110, 8.3.1)."""


class JobBody(NamedTuple):
    """A job's body."""

    data: bytes
    content_type: str = OCTETS


def encode(body: JobBody) -> bytes:
    """
    Return a body as it is stored.

    Raises:
        InvalidArgument: the content type is empty, longer than 200 characters, or not ASCII.
    """
    if not _TYPE.fullmatch(body.content_type):
        raise InvalidArgument(
            f"content_type: must have 1 to {MOST_TYPE_CHARACTERS} printable ASCII characters, "
            f"got {body.content_type[:80]!r}"
        )
    return b"%b%b\n%b" % (_PLAIN, body.content_type.encode(), body.data)


def is_plain(stored: bytes) -> bool:
    """Return whether a stored body is a plain one."""
    return stored[:1] == _PLAIN


def decode(stored: bytes) -> JobBody:
    """
    Return a plain body.

    Raises:
        InvalidMessage: it is a task message of Celery, or of a newer version.
    """
    head, found, data = stored[: MOST_TYPE_CHARACTERS + 2].partition(b"\n")
    content_type = head[1:].decode("ascii", "replace")
    if not is_plain(stored) or not found or not _TYPE.fullmatch(content_type):
        raise InvalidMessage("job body", f"is not of a version known here: {stored[:20]!r}")
    return JobBody(data + stored[MOST_TYPE_CHARACTERS + 2 :], content_type)


def of_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> JobBody:
    """
    Return the body that carries the arguments of a function.

    A single argument of bytes is the body itself. Other arguments are a JSON array if they are
    positional, and a JSON object if they have names.

    Raises:
        InvalidArgument: they are both, or a value is none of JSON's.
    """
    if args and kwargs:
        raise InvalidArgument("job: pass its arguments by position or by name, not both")
    if len(args) == 1 and isinstance(args[0], bytes):
        return JobBody(args[0])
    try:
        text = json.dumps(kwargs or list(args), ensure_ascii=False, allow_nan=False)
        return JobBody(text.encode(), JSON)
    except (TypeError, ValueError) as error:
        # A date, say, would come back as a text: other languages do not know it by a mark.
        raise InvalidArgument(f"job: its arguments must be values of JSON, {error}") from error


def arguments(body: JobBody) -> tuple[list[Any], dict[str, Any]]:
    """
    Return the positional and the named arguments in a body; the inverse of `of_arguments`.

    JSON that is neither an array nor an object, and a body of any other content type, is the only
    argument.

    Raises:
        InvalidMessage: the content type says JSON, and the data is none.
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
