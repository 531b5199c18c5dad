"""Which response headers are stored: all, up to a size limit, without cookie values."""

from aragog.crawl.pipeline.fetch_results import select_headers, trim_hops
from aragog.fetch_record.outcome import Hop


def test_all_headers_are_kept_in_order_including_repeated_ones():
    headers = (("Server", "x"), ("Via", "1.1 a"), ("via", "1.1 b"), ("Content-Type", "text/html"))

    assert select_headers(headers) == headers


def test_cookie_keeps_its_name_and_attributes_but_not_its_value():
    headers = (("Set-Cookie", "sid=S3CRET=; Path=/; HttpOnly"), ("set-cookie", "flag"))

    assert select_headers(headers) == (
        ("Set-Cookie", "sid=; Path=/; HttpOnly"),
        ("set-cookie", "flag="),
    )


def test_size_limit_never_drops_headers_used_by_later_stages():
    headers = (("X-Big", "x" * 90), ("ETag", '"1"'), ("X-Small", "y"), ("Link", "z" * 200))

    kept = select_headers(headers, 300)

    assert kept == (("ETag", '"1"'), ("X-Small", "y"), ("Link", "z" * 200))


def test_headers_of_redirects_are_limited_too():
    hop = Hop(
        "http://a.test/", 301, "http://b.test/", 1.26, (("X", "x" * 5000), ("Location", "/b"))
    )

    [kept] = trim_hops([hop])

    assert kept.headers == (("Location", "/b"),)
    assert kept.latency_ms == 1.3
    assert trim_hops([kept]) == (kept,)
