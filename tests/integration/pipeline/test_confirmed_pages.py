"""A 304 whose headers differ from those of the stored page, and the consequences."""

import pytest

from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.urlstore.records import get_permission
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

URL = "http://site.test/page"
ETAG = ("ETag", '"one"')
HTML = b"<title>title</title><link rel=icon href=/i>" + b"<p>some words of this page " * 40


class Site:
    """A page that never changes; only its response headers do."""

    def __init__(self, html=HTML, headers=()):
        self.html = html
        self.headers = headers

    def answer(self, request, _wire):
        if request.header("If-None-Match"):
            return answer(304, content_type=None, headers=(ETAG, *self.headers), length=False)
        return page(self.html, headers=(ETAG, *self.headers))


@pytest.fixture
def harness_of(crawl_harness):
    def crawled(site, **settings):
        routes = {"/page": site.answer, "/other": page(site.html)}
        return crawl_harness(routes, qps=1000, agent="testbot/1.0 (+http://bot.test/)", **settings)

    return crawled


def fetch(harness, site, *headers):
    """Fetch the page again while the site sends these headers; returns its record."""
    site.headers = headers
    harness.crawl([URL], EnqueueOptions(refresh=True))
    return harness.urls.get(URL)


WITHDRAWN = [
    (("Content-Usage", "train-ai=n"), "ai-train"),
    (("Content-Signal", "ai-input=no"), "ai-input"),
    (("TDM-Reservation", "1"), "ai-train"),
    (("X-Robots-Tag", "noindex"), "search"),
    (("X-Robots-Tag", "testbot: noai"), "ai-train"),
]


@pytest.mark.parametrize(("header", "purpose"), WITHDRAWN)
def test_304_can_withdraw_a_page_for_a_purpose(harness_of, header, purpose):
    site = Site()
    harness = harness_of(site)
    assert get_permission(fetch(harness, site).facts, purpose)[0] is None

    record = fetch(harness, site, header)

    assert (record.facts["outcome"], record.facts["status"]) == ("NotModified", 304)
    assert get_permission(record.facts, purpose)[0] is False
    assert record.fields["page.title"] == b'"title"'
    assert harness.urls.content(URL).body == HTML
    report = harness.urls.pages.fetch_report(URL)
    assert (report.outcome, report.header(header[0])) == ("NotModified", header[1])


@pytest.mark.parametrize(("header", "purpose"), WITHDRAWN)
def test_crawl_for_a_withdrawn_purpose_deletes_the_page(harness_of, header, purpose):
    site = Site()
    harness = harness_of(site, preferences={"purposes": (purpose,)})
    assert fetch(harness, site).content_key

    record = fetch(harness, site, header)

    assert record.facts["outcome"] == "Reserved"
    assert (record.content_key, record.fields, harness.urls.content(URL)) == (None, {}, None)


def test_header_changed_by_a_304_stays_until_another_response_changes_it(harness_of):
    site = Site(headers=(("X-Robots-Tag", "noai"),))
    harness = harness_of(site)
    assert (
        get_permission(fetch(harness, site, ("X-Robots-Tag", "noai")).facts, "ai-train")[0] is False
    )

    fetch(harness, site, ("Content-Usage", "train-ai=n, search=y"), ("X-Robots-Tag", "all"))
    silent = fetch(harness, site)

    assert get_permission(silent.facts, "ai-train")[0] is False
    assert get_permission(silent.facts, "ai-input")[0] is None
    assert dict(fetch(harness, site).facts)["page_preferences"] == silent.facts["page_preferences"]

    allowed = fetch(harness, site, ("Content-Usage", "train-ai=y"))
    assert get_permission(allowed.facts, "ai-train")[0] is True


def test_304_does_not_override_a_meta_element_of_the_page(harness_of):
    site = Site(HTML + b'<meta name="robots" content="noai">')
    harness = harness_of(site)
    fetch(harness, site, ("X-Robots-Tag", "noai"))

    record = fetch(harness, site, ("X-Robots-Tag", "all"))

    assert get_permission(record.facts, "ai-train") == (False, "ai-train=n (meta robots: noai)")


def test_canonical_url_in_a_304_is_followed(harness_of):
    site = Site()
    harness = harness_of(site)
    other = "http://site.test/other"
    harness.crawl([other], EnqueueOptions())
    assert fetch(harness, site).canonical_url == URL

    record = fetch(harness, site, ("Link", f'<{other}>; rel="canonical"'))

    assert record.canonical_url == other


def test_304_can_end_the_availability_of_a_page(harness_of):
    site = Site()
    harness = harness_of(site)
    assert fetch(harness, site).content_key

    record = fetch(harness, site, ("X-Robots-Tag", "unavailable_after: 2010-06-25"))

    assert record.facts["outcome"] == "Reserved"
    assert harness.urls.content(URL) is None


def test_nofollow_in_a_304_applies_to_the_links_of_the_page(harness_of):
    site = Site()
    harness = harness_of(site)
    assert fetch(harness, site).facts["nofollow"] == 0

    assert fetch(harness, site, ("X-Robots-Tag", "nofollow")).facts["nofollow"] == 1


def test_page_with_a_new_noindex_loses_its_content_if_noindex_is_obeyed(harness_of):
    site = Site()
    harness = harness_of(site, obey_noindex=True)
    assert fetch(harness, site).content_key

    record = fetch(harness, site, ("X-Robots-Tag", "noindex"))

    assert (record.content_key, harness.urls.content(URL)) == (None, None)
    assert record.facts["noindex"] == 1


def test_stored_response_takes_over_the_headers_of_the_304(harness_of):
    site = Site()
    harness = harness_of(site)
    fetch(harness, site, ("Cache-Control", "max-age=60"), ("X-Kept", "1"))

    fetch(harness, site, ("Cache-Control", "max-age=9000"))

    headers = harness.urls.content(URL).meta["headers"]
    assert ("max-age=9000" in headers, "max-age=60" in headers, "X-Kept" in headers) == (
        True, False, True,
    )  # fmt: skip
    assert "text/html" in headers
