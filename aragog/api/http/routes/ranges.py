"""Parse the Range header with one range of bytes (RFC 9110, section 14). Pure."""

from __future__ import annotations

import re

from aragog.api.problems import Problem

_ONE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", re.ASCII | re.IGNORECASE)


def byte_range(header: str | None, length: int) -> tuple[int, int] | None:
    """
    The begin and end (exclusive) of the requested range in a body of `length` bytes.

    Returns None if the whole body must be sent: there is no header, it uses another unit, it has
    several ranges, or it is invalid.

    Raises:
        Problem: 416, the range begins after the end of the body.
    """
    match = _ONE.fullmatch((header or "").replace(" ", ""))
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        begin, end = max(0, length - int(suffix)), length
    else:
        begin, end = int(first), length if not last else min(int(last) + 1, length)
        if last and int(last) < begin:
            return None
    if begin >= length:
        raise Problem(
            416, f"the content has {length} bytes", {"Content-Range": f"bytes */{length}"}
        )
    return begin, end
