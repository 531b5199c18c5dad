"""Everything an origin can do becomes an outcome, in bounded time."""

from __future__ import annotations

import gzip
import random

import pytest

from aragog.fetch_record import outcome as o
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.clock import ManualClock
from tests.support.cases import cases
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import answer

pytestmark = BOTH_VERSIONS


@pytest.mark.parametrize("path", ["/silent", "/stall", "/drip", "/slow-headers"])
def test_slow_origin_is_unreachable(origin, fetcher_with, path):
    outcome = fetcher_with(deadline_s=1.0).fetch(origin.url(path))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, outcome.status) == ("timeout", None), outcome.reason


def test_pause_between_reads_is_limited(origin, fetcher_with):
    outcome = fetcher_with(read_timeout_s=0.3).fetch(origin.url("/stall"))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, "timed out" in outcome.reason) == ("timeout", True)


def test_body_below_the_minimum_rate_is_given_up(origin, fetcher_with):
    clock = ManualClock()

    def slow(_, wire):
        wire.send(answer(length=False))
        while wire.send(b"x" * 100) and wire.pause(0.01):
            clock.advance_ms(200)  # 500 bytes/s by the fetcher's clock

    origin.handlers["/slow"] = slow
    fetcher = fetcher_with(clock=clock, deadline_s=1000, min_bytes_per_s=10_000)

    outcome = fetcher.fetch(origin.url("/slow"))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, outcome.reason) == ("timeout", "slower than 10000 bytes/s")


def test_decompressed_body_is_truncated_at_the_cap(origin, fetcher_with):
    packed = gzip.compress(random.Random(7).randbytes(30_000).hex().encode())
    origin.handlers["/large"] = answer(body=packed, headers={"Content-Encoding": "gzip"})

    outcome = fetcher_with(max_body_bytes=50_000).fetch(origin.url("/large"))

    assert isinstance(outcome, o.Fetched)
    assert (len(outcome.body), outcome.truncated_why) == (50_000, "truncated at 50000 bytes")


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    cases("""
        /reset-at-once          reset     reset by peer|without a response
        /close-at-once          reset     without a response
        /endless-interim        protocol  interim
        /loop                   redirect  loop
        /loop/a                 redirect  loop
        /chain/11               redirect  more than 10 redirects
        /to?ftp://example.com/  redirect  not an http(s) URL
        /to?http://[::1         redirect  not an http(s) URL
        /status/500             status    500
        /status/999             status    999
    """),
)
def test_unusable_response_is_unreachable_with_its_reason(origin, fetcher_with, path, kind, reason):
    outcome = fetcher_with(deadline_s=30).fetch(origin.url(path))

    assert isinstance(outcome, o.Unreachable)
    assert outcome.kind == kind
    assert any(part in outcome.reason for part in reason.split("|")), outcome.reason
    assert (outcome.status is None) == (kind not in ("redirect", "status"))


@pytest.mark.parametrize(
    ("path", "kind", "reasons"),
    [
        ("/half-headers", ("protocol", "reset"), ("inside the headers", "without a response")),
        ("/garbage", ("protocol", "protocol"), ("not HTTP/1", "not valid HTTP/2")),
        ("/http09", ("protocol", "protocol"), ("not HTTP/1", "not valid HTTP/2")),
    ],
)
def test_invalid_http_is_refused(origin, fetcher, version, path, kind, reasons):
    outcome = fetcher.fetch(origin.url(path))

    at = ("1.1", "2").index(version)
    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, outcome.status) == (kind[at], None), outcome.reason
    assert reasons[at] in outcome.reason


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/cut", "bytes that|before the end"),
        ("/cut-chunk", "bytes that|before the"),
        (
            "/reset",
            "reset by peer|before the end",
        ),  # a write notices a reset first, without a reason
        ("/endless", "truncated at 200000 bytes"),
        ("/endless-chunks", "truncated at 200000 bytes"),
    ],
)
def test_received_part_of_a_broken_body_is_kept_and_marked(origin, fetcher_with, path, reason):
    outcome = fetcher_with(max_wire_bytes=200_000).fetch(origin.url(path))

    assert isinstance(outcome, o.Fetched)
    assert outcome.truncated
    assert any(part in (outcome.truncated_why or "") for part in reason.split("|"))
    assert len(outcome.body) > 10


def test_chunk_extensions_and_padding_count_as_bytes_on_the_wire(origin, fetcher_with, version):
    outcome = fetcher_with(max_wire_bytes=200_000).fetch(origin.url("/padded-chunks"))

    assert isinstance(outcome, o.Fetched)
    assert outcome.truncated_why == "truncated at 200000 bytes on the wire"
    # 32 of every 4,041 bytes of chunks, of every 265 bytes of a padded frame.
    assert 1_000 < len(outcome.body) < (2_000 if version == "1.1" else 30_000)


@pytest.mark.parametrize(
    "path", ["/bomb/gzip", "/bomb/deflate", "/bomb/br", "/bomb/zstd", "/bomb/nested"]
)
def test_decompression_bomb_is_too_large_in_every_coding(origin, fetcher, path):
    outcome = fetcher.fetch(origin.url(path))

    assert isinstance(outcome, o.TooLarge), outcome
    assert "bomb" in outcome.reason


@pytest.mark.parametrize("path", ["/huge-length", "/endless-headers"])
def test_response_over_a_cap_is_too_large(origin, fetcher, path):
    assert isinstance(fetcher.fetch(origin.url(path)), o.TooLarge)


@pytest.mark.parametrize("path", ["/pdf", "/binary"])
def test_response_that_is_not_a_page_is_unreadable(origin, fetcher, path):
    assert isinstance(fetcher.fetch(origin.url(path)), o.Unreadable)


def test_body_longer_than_its_length_is_truncated(origin, fetcher, version):
    """In HTTP/2, such a response is malformed (RFC 9113, 8.1.1), and none of it is used."""
    outcome = fetcher.fetch(origin.url("/lies-short"))

    if version == "1.1":
        assert isinstance(outcome, o.Fetched)
        assert (outcome.body, outcome.truncated) == (b"<!doc", False)
    else:
        assert isinstance(outcome, o.Unreachable)
        assert outcome.kind is UnreachableKind.PROTOCOL


def test_empty_page_is_fetched_with_an_empty_body(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/empty"))

    assert isinstance(outcome, o.Fetched)
    assert outcome.body == b""


def test_missing_content_type_is_sniffed(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/untyped"))

    assert isinstance(outcome, o.Fetched)
    assert outcome.content_type is None


@pytest.mark.parametrize("path", ["/busy", "/busy-date"])
def test_retry_after_is_read_in_both_forms(origin, fetcher, path):
    outcome = fetcher.fetch(origin.url(path))

    assert isinstance(outcome, o.Busy)
    assert outcome.retry_at_ms is not None
    assert 100_000 < outcome.retry_at_ms - outcome.fetched_at_ms < 130_000


def test_busy_without_retry_after_has_no_retry_time(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/unavailable"))

    assert isinstance(outcome, o.Busy)
    assert outcome.retry_at_ms is None


@pytest.mark.parametrize("status", [400, 404, 407, 410, 418])
def test_client_error_is_gone_and_keeps_its_status(origin, fetcher, status):
    outcome = fetcher.fetch(origin.url(f"/status/{status}"))

    assert isinstance(outcome, o.Gone)
    assert outcome.status == status


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (401, "Unauthorized"),
        (402, "PaymentRequired"),
        (403, "Forbidden"),
        (451, "UnavailableLegally"),
    ],
)
def test_withheld_page_is_not_gone(origin, fetcher, status, name):
    outcome = fetcher.fetch(origin.url(f"/status/{status}"))

    assert isinstance(outcome, o.Withheld)
    assert (outcome.outcome, outcome.status) == (name, status)
    assert outcome.crawler_price is None


def test_fetch_records_the_price_of_a_402(origin, fetcher):
    origin.handlers["/sold"] = answer(402, headers=(("crawler-price", "USD 0.01"),))

    outcome = fetcher.fetch(origin.url("/sold"))

    assert (outcome.outcome, outcome.crawler_price) == ("PaymentRequired", "USD 0.01")


def test_closed_port_is_unreachable(origin, fetcher):
    origin.stop()

    outcome = fetcher.fetch(origin.url("/"))

    assert isinstance(outcome, o.Unreachable)
    assert outcome.kind is UnreachableKind.CONNECT
