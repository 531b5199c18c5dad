"""Reads the bodies of responses, as fields of `aragog.fetch_record.outcome.FetchRecord`."""

from __future__ import annotations

from typing import Any

from aragog.crawl.fetcher.body_limits import Bounds
from aragog.crawl.fetcher.content_types import (
    content_refusal,
    effective_content_type,
    type_refusal,
)
from aragog.crawl.fetcher.faults import Fault, LimitExceeded, UnsupportedContent
from aragog.crawl.fetcher.http1.head import Delimiter
from aragog.crawl.fetcher.http1.response import HttpResponse
from aragog.crawl.fetcher.request_defaults import RequestDefaults


def read_error_body(response: HttpResponse, max_bounds: Bounds, max_bytes: int) -> dict[str, Any]:
    """Return the body of an error response. If `max_bytes` is 0, the body is discarded."""
    if not max_bytes:
        response.discard()
        return {}
    bounds = Bounds(
        min(max_bytes, max_bounds.max_wire_bytes), min(max_bytes, max_bounds.max_body_bytes)
    )
    try:
        body = response.read_body(bounds)
    except Fault:  # the status alone is enough
        return {"truncated": True}
    return {"error_body": body.data, "truncated": body.truncated_why is not None}


def read_page_body(
    response: HttpResponse, defaults: RequestDefaults, missing: str | None
) -> dict[str, Any]:
    """
    Return the body of a page. `missing` says which part of the page is missing.

    Raises:
        UnsupportedContent: the body has a type that is not fetched, or cannot be decoded.
        LimitExceeded: the body is too large.
        TransportError: the body cannot be read.
    """
    head, settings = response.head, defaults.settings
    content_type = effective_content_type(head.values("content-type"))
    framing = response.framing
    has_length = framing.delimiter is Delimiter.LENGTH
    is_empty = framing.delimiter is Delimiter.NO_BODY or (has_length and framing.length == 0)
    if not is_empty and (reason := type_refusal(content_type, settings.content_types)):
        raise UnsupportedContent(reason)
    bounds = defaults.bounds
    if has_length and framing.length > bounds.max_wire_bytes and not bounds.truncate_oversized:
        raise LimitExceeded(
            f"Content-Length {framing.length} exceeds {settings.max_wire_bytes} bytes"
        )

    def sniff(first_bytes: bytes) -> None:
        if defaults.trust_declared_types and content_type is not None:
            return
        if reason := content_refusal(first_bytes, content_type, settings.content_types):
            raise UnsupportedContent(reason)

    body = response.read_body(bounds, sniff)
    incomplete = body.truncated_why or missing
    return {
        "body": body.data,
        "content_type": content_type,
        "truncated": incomplete is not None,
        "reason": incomplete,
        "truncated_why": incomplete,
        "wire_bytes": body.wire_bytes,
    }
