"""Which response headers are kept: all, within a bound, without the values of cookies."""

from aragog.crawl.pipeline.fetch_results import kept_headers, kept_hops
from aragog.fetch_record.outcome import Hop


def test_all_headers_are_kept_in_order_with_repeated_ones():
    headers = (("Server", "x"), ("Via", "1.1 a"), ("via", "1.1 b"), ("Content-Type", "text/html"))

    assert kept_headers(headers) == headers


def test_a_cookie_keeps_its_name_and_attributes_and_loses_its_value():
    headers = (("Set-Cookie", "sid=S3CRET=; Path=/; HttpOnly"), ("set-cookie", "flag"))

    assert kept_headers(headers) == (
        ("Set-Cookie", "sid=; Path=/; HttpOnly"),
        ("set-cookie", "flag="),
    )


def test_what_exceeds_the_bound_is_left_out_but_never_what_later_stages_read():
    headers = (("X-Big", "x" * 90), ("ETag", '"1"'), ("X-Small", "y"), ("Link", "z" * 200))

    kept = kept_headers(headers, 300)

    assert kept == (("ETag", '"1"'), ("X-Small", "y"), ("Link", "z" * 200))


def test_hops_are_bounded_too():
    hop = Hop(
        "http://a.test/", 301, "http://b.test/", 1.26, (("X", "x" * 5000), ("Location", "/b"))
    )

    [kept] = kept_hops([hop])

    assert kept.headers == (("Location", "/b"),)
    assert kept.latency_ms == 1.3
    assert kept_hops([kept]) == (kept,)
