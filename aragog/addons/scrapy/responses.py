"""Convert a fetch's outcome to a Scrapy response or exception."""

from __future__ import annotations

from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
)
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from aragog.fetch_record.outcome import (
    Blocked,
    Deferred,
    Fetched,
    Outcome,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
    WithoutPage,
)

# These describe the body as the server sent it, but a Scrapy response has the decoded body.
WIRE_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_ERRORS: dict[UnreachableKind, type[Exception]] = {
    UnreachableKind.DNS: CannotResolveHostError,
    UnreachableKind.CONNECT: DownloadConnectionRefusedError,
    UnreachableKind.TIMEOUT: DownloadTimeoutError,
}


def build_response(request: Request, outcome: Outcome) -> Response:
    """
    Return an outcome as a response.

    The body of an error response is truncated after 1 MB (`ERROR_BODY_BYTES`); the body of a
    redirect is empty.

    Raises:
        IgnoreRequest: robots.txt, a takedown, an operator or the SSRF filter forbids the URL.
        DownloadCancelledError: the response is larger than the settings allow.
        CannotResolveHostError, DownloadConnectionRefusedError, DownloadTimeoutError,
            DownloadFailedError: there is no usable response. Scrapy may retry.
    """
    match outcome:
        case Refused() | Blocked():
            raise IgnoreRequest(f"{outcome.outcome}: {outcome.reason}")
        case Deferred():
            raise DownloadTimeoutError(outcome.reason)
        case TooLarge():
            raise DownloadCancelledError(outcome.reason)
        case Unreachable(status=None):
            raise _ERRORS.get(outcome.kind, DownloadFailedError)(outcome.reason)
    if outcome.status is None:
        raise DownloadFailedError(outcome.reason or outcome.outcome)
    headers = Headers()
    for name, value in outcome.headers:
        if name.lower() not in WIRE_HEADERS:
            headers.appendlist(name, value.encode("latin-1", "replace"))
    body = _body(outcome)
    response_class = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return response_class(
        url=request.url,
        status=outcome.status,
        headers=headers,
        body=body,
        flags=["truncated"] if outcome.truncated else None,
        request=request,
        protocol="HTTP/1.1",
    )


def _body(outcome: Outcome) -> bytes:
    match outcome:
        case Fetched():
            return outcome.body
        case WithoutPage():
            return outcome.error_body
        case _:
            return b""
