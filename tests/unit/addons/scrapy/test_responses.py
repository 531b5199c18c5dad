"""Outcomes as Scrapy responses and exceptions."""

import pytest
from scrapy import Request
from scrapy import exceptions as scrapy_errors
from scrapy.http import HtmlResponse

from aragog.addons.scrapy.responses import build_response
from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.fetch_record.outcome import (
    Blocked,
    Busy,
    Deferred,
    Fetched,
    Gone,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
    Withheld,
)
from aragog.fetch_record.outcome import OutcomeKind as Kind

URL = "http://a.test/"
REQUEST = Request(URL)


def test_page_becomes_a_response_of_its_type_with_a_decoded_body():
    headers = (("Content-Type", "text/html"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
               ("Content-Encoding", "gzip"), ("Content-Length", "9"))  # fmt: skip

    response = build_response(
        REQUEST, Fetched(url=URL, status=200, headers=headers, body=b"<p>hi", truncated=True)
    )

    assert isinstance(response, HtmlResponse)
    assert (response.url, response.status, response.body) == (URL, 200, b"<p>hi")
    assert response.headers.getlist("Set-Cookie") == [b"a=1", b"b=2"]
    assert "Content-Encoding" not in response.headers
    assert response.flags == ["truncated"]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Gone(url=URL, status=404), 404),
        (Busy(url=URL, status=503), 503),
        (Withheld(url=URL, status=403, outcome=Kind.FORBIDDEN, reason="403"), 403),
        (Unreachable(url=URL, status=500, kind=UnreachableKind.STATUS, reason="500"), 500),
        (Unreachable(url=URL, status=302, kind=UnreachableKind.REDIRECT, reason="0"), 302),
    ],
)
def test_error_or_redirect_becomes_a_response(outcome, status):
    response = build_response(REQUEST, outcome)

    assert (response.status, response.body) == (status, b"")


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (
            Refused(url=URL, cause=RefusalCause.ROBOTS, reason="robots.txt"),
            scrapy_errors.IgnoreRequest,
        ),
        (
            Blocked(url=URL, cause=RefusalCause.ADDRESS, reason="private"),
            scrapy_errors.IgnoreRequest,
        ),
        (Deferred(url=URL, cause=DeferralCause.SLOT), scrapy_errors.DownloadTimeoutError),
        (TooLarge(url=URL, status=200, reason="1 TB"), scrapy_errors.DownloadCancelledError),
        *[
            (Unreachable(url=URL, kind=kind, reason="x"), error)
            for kind, error in {
                UnreachableKind.DNS: scrapy_errors.CannotResolveHostError,
                UnreachableKind.CONNECT: scrapy_errors.DownloadConnectionRefusedError,
                UnreachableKind.TIMEOUT: scrapy_errors.DownloadTimeoutError,
                UnreachableKind.RESET: scrapy_errors.DownloadFailedError,
            }.items()
        ],
    ],
)
def test_outcome_without_a_response_raises_a_scrapy_exception(outcome, error):
    with pytest.raises(error):
        build_response(REQUEST, outcome)
