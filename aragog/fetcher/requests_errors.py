"""Conversion of faults into the exceptions of requests."""

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
from aragog.fetcher.outcome import UnreachableKind


@contextlib.contextmanager
def faults_as_requests_errors(request: requests.PreparedRequest | None) -> Iterator[None]:
    """Convert a `Fault` raised inside into the closest exception of requests."""
    try:
        yield
    except Fault as fault:
        raise _requests_error(fault)(fault.reason, request=request) from fault


def _requests_error(fault: Fault) -> type[requests.RequestException]:
    if isinstance(fault, TargetBlocked):
        return requests.exceptions.InvalidURL
    if isinstance(fault, LimitExceeded):
        return requests.exceptions.InvalidHeader
    if isinstance(fault, UnsupportedContent):
        return requests.exceptions.ContentDecodingError
    kind = fault.kind if isinstance(fault, TransportError) else None
    if kind is UnreachableKind.TIMEOUT:
        return requests.exceptions.Timeout
    if kind is UnreachableKind.TLS:
        return requests.exceptions.SSLError
    return requests.exceptions.ConnectionError
