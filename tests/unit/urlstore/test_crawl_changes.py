"""What happened to the pages of a crawl since a given time, from their nodes."""

from collections import Counter

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.crawl_changes import CrawlPages, PageNews, as_text
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, SAME, body, page
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/a", "http://a.example/b"
ELSEWHERE = "http://other.example/b"
DAY_MS = 86_400_000


class Fetches:
    """A store and its fetches for the crawl `docs`, each a day after the previous one."""

    def __init__(self):
        self.clock = ManualClock(NOW_MS)
        self.store = UrlStore(
            MemoryTables(), MemoryContent(), StoreSettings(), self.clock, RefreshSettings()
        )

    def __call__(self, url, outcome="Fetched", *, text="x", crawl="docs", **parts):
        self.clock.advance_ms(DAY_MS)
        at_ms = self.clock.now_ms()
        seen = Seen(outcome=outcome, fetched_at_ms=at_ms, body_hash=text.ljust(16, "0"))
        if outcome == "Fetched":
            parts |= {"fields": {"page.title": b'"%s"' % text.encode()}, "content": body(text)}
        status = {"Fetched": 200, "NotModified": 304, "Gone": 404}.get(outcome, 0)
        facts = {"outcome": outcome, "status": status}
        write = page(
            url, at_ms, seen=seen, gone=outcome == "Gone", facts=facts, complete=True, **parts
        )
        (written,) = self.store.write_pages([write])
        if outcome in ("Fetched", "NotModified"):
            add = self.store.crawls.add_stored if written.existed else self.store.crawls.add
            add(crawl, {written.canonical_url: at_ms})

    def now_ms(self):
        return self.clock.now_ms()

    def since(self, at_ms, domains=("a.example",), **bounds):
        pages = CrawlPages(self.store.zen, "docs", domains, **bounds).since(at_ms)
        return {one.url: one.news for one in pages}


@pytest.fixture
def fetch():
    return Fetches()


@pytest.mark.parametrize(
    ("later", "news"),
    [
        ([], PageNews.NOT_REACHED),
        ([("Unreachable", "")], PageNews.NOT_REACHED),
        ([("Fetched", "x")], PageNews.UNCHANGED),
        ([("NotModified", "")], PageNews.UNCHANGED),
        ([("Fetched", "y")], PageNews.CHANGED),
        ([("Fetched", "y"), ("NotModified", "")], PageNews.CHANGED),
        ([("Gone", "")], PageNews.GONE),
        ([("Gone", "")] * 3, PageNews.GONE),
        ([("Gone", ""), ("Unreachable", "")], PageNews.GONE),
        ([("Gone", ""), ("NotModified", "")], PageNews.BACK),
        ([("Gone", ""), ("Fetched", "y")], PageNews.CHANGED),
        ([("PaymentRequired", "")], PageNews.WITHHELD),
    ],
)
def test_news_of_a_page_covers_all_fetches_since_the_time(fetch, later, news):
    fetch(A)
    moment = fetch.now_ms()

    for outcome, text in later:
        fetch(A, outcome, text=text)

    assert fetch.since(moment) == {A: news}


def test_page_is_reported_as_new_and_as_gone_once(fetch):
    begin = fetch.now_ms()
    fetch(A)
    fetch(A, text="y")
    assert fetch.since(begin) == {A: PageNews.NEW}

    for _ in range(4):  # the last fetches give it up
        fetch(A, "Gone")
        moment = fetch.now_ms()
    fetch(A, "Gone")

    assert fetch.since(moment) == {A: PageNews.STILL_ABSENT}


def test_page_of_another_crawl_is_new_to_this_one(fetch):
    fetch(A, crawl="other")
    assert fetch.since(0) == {}
    moment = fetch.now_ms()

    fetch(A)

    assert fetch.since(moment) == {A: PageNews.NEW}


def test_page_that_leads_to_another_is_reported_as_redirected_once(fetch):
    begin = fetch.now_ms()
    fetch(A)
    fetch(B)
    moment = fetch.now_ms()

    fetch(A, final_url=B, canonical_url=B)

    assert fetch.since(moment) == {A: PageNews.REDIRECTED, B: PageNews.UNCHANGED}
    assert fetch.since(begin) == {B: PageNews.NEW}, "A was added and redirected in between"
    moment = fetch.now_ms()
    fetch(A, final_url=B, canonical_url=B)
    assert fetch.since(moment) == {B: PageNews.UNCHANGED}


def test_page_that_declares_another_url_is_also_redirected(fetch):
    for url in (A, B):
        fetch(url, likeness=SAME)
    moment = fetch.now_ms()

    fetch(A, likeness=SAME, canonical_url=B)

    assert fetch.since(moment)[A] == PageNews.REDIRECTED


def test_page_on_another_domain_is_found_by_the_urls_leading_to_it(fetch):
    begin = fetch.now_ms()
    for url in (A, B):
        fetch(url, final_url=ELSEWHERE, canonical_url=ELSEWHERE)

    assert fetch.since(begin) == {ELSEWHERE: PageNews.NEW}
    assert fetch.since(begin, None) == {ELSEWHERE: PageNews.NEW}
    assert fetch.since(begin, max_domains=0) == {ELSEWHERE: PageNews.NEW}


def test_many_pages_are_read_in_parts_and_reported_once(fetch):
    urls = [f"http://www.a.example/{n}" for n in range(10)]
    for url in urls:
        fetch(url)

    pages = CrawlPages(fetch.store.zen, "docs", ["a.example"], at_once=3).since(fetch.now_ms())

    assert Counter(one.url for one in pages) == Counter(urls)


def test_given_up_page_is_marked(fetch):
    fetch(A)
    for _ in range(3):
        fetch(A, "Gone")

    (one,) = CrawlPages(fetch.store.zen, "docs", ["a.example"]).since(0)

    assert (one.is_given_up, one.checked_at_ms) == (True, fetch.now_ms())


def test_summary_has_the_four_usual_counts_and_others_if_nonzero():
    assert as_text({PageNews.UNCHANGED: 1_310, PageNews.NEW: 3}) == (
        "1,310 unchanged, 0 changed, 3 new, 0 gone"
    )
    assert as_text({PageNews.WITHHELD: 2}).endswith("0 gone, 2 withheld")
