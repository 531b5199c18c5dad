"""How long a response stays fresh according to its headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.headers import freshness_s, http_date_ms
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.page_facts import make_seen
from aragog.crawl.stages.page_updates import PageUpdate, with_body
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import Settings
from aragog.urlstore.compression import body_hash, compress, content_hash
from aragog.urlstore.refresh_policy import Seen
from tests.support.fetch_results import fetch_result
from tests.support.stores import page

NOW_MS = 784_111_777_000
NOW, LATER = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 09:49:37 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": "public, Max-Age = 600, must-revalidate"}, 600),
        ({"cache-control": 'max-age="600"'}, 600),
        ({"cache-control": "max-age=600", "age": "100"}, 500),
        ({"cache-control": "max-age=600", "age": "700"}, None),
        ({"cache-control": "max-age=600", "expires": NOW}, 600),
        ({"cache-control": "s-maxage=600"}, None),
        ({"cache-control": "no-store, max-age=600"}, None),
        ({"cache-control": "no-cache"}, None),
        ({"cache-control": "max-age=-1"}, None),
        ({"expires": LATER}, 3600),
        ({"expires": LATER, "date": LATER}, None),
        ({"expires": "0"}, None),
        ({"expires": "-1"}, None),
        ({}, None),
    ],
)
def test_freshness_is_read_from_headers(headers, seconds):
    assert freshness_s(headers, NOW_MS) == seconds


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (("public", "max-age=600"), 600),
        (("max-age=600", "public"), 600),
        (("max-age=600", "no-cache"), None),
    ],
)
def test_cache_control_in_several_lines_counts_as_one(lines, seconds):
    # Regression: of two lines, as nginx sends for `expires` and `add_header`, only one counted.
    result = fetch_result(
        job=UrlJob(url="http://site.test/"),
        outcome=OutcomeKind.FETCHED,
        final_url="http://site.test/",
        headers=tuple(("Cache-Control", line) for line in lines),
        fetched_at_ms=NOW_MS,
    )

    assert make_seen(result, Settings()).fresh_s == seconds


def test_http_dates_are_parsed():
    assert http_date_ms(NOW) == NOW_MS
    assert http_date_ms("Sun, 06 Nov 1994 08:49:37") == NOW_MS
    assert http_date_ms(None) is http_date_ms("") is http_date_ms("yesterday") is None


@given(st.text(), st.text(), st.text(), st.text())
def test_any_headers_give_a_positive_lifetime_or_none(control, age, expires, date):
    headers = {"cache-control": control, "age": age, "expires": expires, "date": date}
    lifetime_s = freshness_s(headers, NOW_MS)

    assert lifetime_s is None or lifetime_s > 0


@given(st.text(), st.integers(0, 10**9))
def test_max_age_is_found_in_any_text(text, seconds):
    text = text.replace("no-", "")
    lifetime_s = freshness_s({"cache-control": f"{text}, max-age={seconds}"}, NOW_MS)

    assert lifetime_s is None or lifetime_s >= 0


def test_hash_computed_by_the_fetch_is_used():
    """Otherwise the store would decompress the body for it."""
    seen = Seen(outcome="Fetched", fetched_at_ms=1, body_hash="the hash")
    update = PageUpdate(page("http://a.example/", seen=seen), "token", 1)

    assert body_hash(with_body(update, b"not looked at").content) == "the hash"


@pytest.mark.parametrize("seen", [None, Seen(outcome="Fetched", fetched_at_ms=1)])
def test_hash_of_a_body_is_computed_if_the_fetch_sent_none(seen):
    update = PageUpdate(page("http://a.example/", seen=seen), "token", 1)

    assert body_hash(with_body(update, compress(b"x")).content) == content_hash(b"x")
