"""Return content as a response, complete or as one byte range (RFC 9110, section 14)."""

from __future__ import annotations

import hashlib
import re

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.operations.values import ContentPart
from aragog.api.problems import Problem
from aragog.api.server.http.etags import current_tag

# To a browser, fetched HTML has this server's origin, so the browser must not run its scripts.
_SANDBOX = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
_SINGLE_RANGE = re.compile(
    r"[ \t]*bytes[ \t]*=[ \t,]*"
    r"(?:([0-9]{1,18})[ \t]*-(?:[ \t]*([0-9]{1,18}))?|-[ \t]*([0-9]{1,18}))[ \t,]*",
    re.ASCII | re.IGNORECASE,
)
"""Allows spaces between parts, and empty list elements (RFC 9110, 5.6.1.2)."""


def content_response(request: Request, content: ContentPart) -> Response:
    """Return the content, or the requested range of it."""
    tag = f'"{hashlib.blake2b(content.body, digest_size=16).hexdigest()}"'
    matching_tag = current_tag(request, tag)
    # RFC 9110, 13.2.2 and 14.2: ranges only apply to GET, and 304 takes precedence.
    may_be_range = request.method == "GET" and matching_tag is None
    range_applies = may_be_range and request.headers.get("if-range", tag) == tag
    part = byte_range(request.headers.get("range") if range_applies else None, len(content.body))
    stored_type = content.meta.get("content_type") or "application/octet-stream"
    content_type = "".join(c for c in stored_type if c.isprintable() and c.isascii())
    headers = {**_SANDBOX, "Content-Type": content_type, "Accept-Ranges": "bytes", "ETag": tag}
    headers |= {"Cache-Control": "private, no-cache", "Content-Location": content.url}
    if matching_tag is not None:
        return Response(b"", 304, headers | {"ETag": matching_tag})
    if part is None:
        return Response(content.body, 200, headers)
    begin, end = part
    headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(content.body)}"
    return Response(content.body[begin:end], 206, headers)


def byte_range(header: str | None, length: int) -> tuple[int, int] | None:
    """
    Return the start and end (exclusive) of the requested range in a body of `length` bytes.

    Returns None if the complete body must be sent, because there is no header, or it is invalid,
    uses another unit, or has several ranges.

    Raises:
        Problem: 416, the range starts after the end of the body.
    """
    match = _SINGLE_RANGE.fullmatch(header or "")
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
