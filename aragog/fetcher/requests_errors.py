"""Faults as the exceptions that users of requests expect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import requests

from aragog.fetcher.faults import (
    Fault,
    LimitExceeded,
    TargetBlocked,
    TransportError,
    UnsupportedContent,
)


@contextlib.contextmanager
def as_requests_says(request: requests.PreparedRequest | None) -> Iterator[None]:
    """Inside, a `Fault` becomes the exception that tells most of it."""
    try:
        yield
    except Fault as fault:
        raise _their_error(fault)(fault.why, request=request) from fault


def _their_error(fault: Fault) -> type[requests.RequestException]:
    if isinstance(fault, TargetBlocked):
        return requests.exceptions.InvalidURL
    if isinstance(fault, LimitExceeded):
        return requests.exceptions.InvalidHeader
    if isinstance(fault, UnsupportedContent):
        return requests.exceptions.ContentDecodingError
    kind = fault.kind if isinstance(fault, TransportError) else ""
    if kind == "timeout":
        return requests.exceptions.Timeout
    return requests.exceptions.SSLError if kind == "tls" else requests.exceptions.ConnectionError
