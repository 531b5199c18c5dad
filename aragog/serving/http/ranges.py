"""The Range header (RFC 9110, section 14): one range of bytes. Pure."""

from __future__ import annotations

import re

from aragog.serving.http.problems import Problem

_ONE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", re.ASCII)


def byte_range(header: str | None, length: int) -> tuple[int, int] | None:
    """
    Where the range that was asked for begins and ends (exclusive) in a body of `length` bytes.

    None where the whole body is to be sent: no header, another unit, several ranges, nonsense.

    Raises:
        Problem: 416, the range begins behind the end.
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
