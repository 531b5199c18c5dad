"""How the outcome of a fetch determines the rules of its origin."""

import pytest

from aragog.crawl.stages.robots_outcomes import UNAVAILABLE, get_status_to_cache
from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.fetch_record.outcome import (
    Blocked,
    Fetched,
    Redirected,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
)

CODED_UTF8 = (("Content-Encoding", "UTF-8"),)
COMPRESS = (("content-encoding", "Compress"),)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Blocked(url="", cause=RefusalCause.ADDRESS, reason="private"), UNAVAILABLE),
        (Unreachable(url="", kind=UnreachableKind.REDIRECT, reason="six hops"), UNAVAILABLE),
        (Unreachable(url="", kind=UnreachableKind.DNS, reason="no such host"), None),
        (Unreachable(url="", kind=UnreachableKind.STATUS, reason="500", status=500), 500),
        (TooLarge(url="", reason="headers", status=200), None),
        (Redirected(url="", target="", cause=DeferralCause.SLOT, status=301), None),
        (Refused(url="", cause=RefusalCause.BLOCKED_HOST, reason="b.example", status=301), None),
        (Blocked(url="", cause=RefusalCause.NO_CONTACT, reason="no contact"), None),
        (Fetched(url="", status=200, body=b"x" * 512_000, truncated=True), 200),
        (Fetched(url="", status=200, body=b"Allow: /", truncated=True), None),
        (Fetched(url="", status=206, body=b"Allow: /", truncated=True), None),
        (Unreachable(url="", kind=UnreachableKind.STATUS, reason="part", status=206), None),
        (Unreachable(url="", kind=UnreachableKind.STATUS, reason="304", status=304), None),
        (Fetched(url="", status=200, body=b"Allow: /", headers=CODED_UTF8), 200),
        (Fetched(url="", status=200, body=b"Allow: /", headers=COMPRESS), 200),
        (Fetched(url="", status=200, body=b"\x1f\x9d\x90\0\1", headers=COMPRESS), None),
    ],
)
def test_cache_stores_the_status_that_determines_the_rules(outcome, status):
    assert get_status_to_cache(outcome) == status
