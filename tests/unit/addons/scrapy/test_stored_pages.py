"""Pages of the UrlStore as Scrapy responses."""

import pytest
from scrapy import FormRequest, Request
from scrapy.http import HtmlResponse, TextResponse
from scrapy.settings import Settings

from aragog.addons.scrapy.stored_pages import StoredPages
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

URL = "http://shop.test/lamp"
HTML = "<title>Lämp</title><a href='next'>n</a>".encode("latin-1")


@pytest.fixture
def stored():
    """Stores a page; returns a function that retrieves the response to a request."""
    harness = store_harness(MemoryTables())

    def write(url=URL, body=HTML, meta=None, **parts):
        fetch_metadata = {
            "url": parts.get("final_url", url), "status": "200", "fetched_at_ms": str(NOW_MS),
            "content_type": "text/html; charset=latin-1",
        }  # fmt: skip
        content = ContentWrite(
            compress(body), "zstd", len(body), fetch_metadata if meta is None else meta
        )
        harness.store.write_pages([page(url, content=content, **parts)])

    def retrieve(request, expiration_s=0):
        settings = Settings({"HTTPCACHE_EXPIRATION_SECS": expiration_s})
        storage = StoredPages(settings, harness.clock)
        storage._store = harness.store
        return storage.retrieve_response(None, request)

    retrieve.write, retrieve.harness = write, harness
    return retrieve


def test_page_becomes_a_response_with_its_text(stored):
    stored.write()
    request = Request(f"{URL}?utm_source=a#top")

    response = stored(request)

    assert type(response) is HtmlResponse
    assert (response.url, response.status, response.flags) == (request.url, 200, [])
    assert response.css("title::text").get() == "Lämp"
    assert response.body == HTML
    assert request.meta["cache_timestamp"] == NOW_MS / 1000


def test_links_of_a_redirected_page_are_relative_to_the_final_url(stored):
    stored.write(final_url="http://shop.test/lamps/1")

    assert stored(Request(URL)).urljoin("next") == "http://shop.test/lamps/next"


def test_headers_are_those_of_the_fetch_without_the_encoding(stored):
    headers = b'[["Content-Type","text/html"],["Content-Encoding","br"],["X-A","1"],["X-A","2"]]'
    stored.write(meta={"headers": headers.decode(), "fetched_at_ms": str(NOW_MS), "status": "203"})

    response = stored(Request(URL))

    assert response.status == 203
    assert response.headers.getlist("X-A") == [b"1", b"2"]
    assert "Content-Encoding" not in response.headers


def test_content_put_without_a_fetch_has_the_type_of_its_body(stored):
    stored.harness.store.put_content(URL, b'{"a": 1}', {"content_type": "application/json"})

    response = stored(Request(URL))

    assert isinstance(response, TextResponse)
    assert response.json() == {"a": 1}
    assert stored(Request(URL), expiration_s=10) is None, "its age is unknown"


def test_page_expires(stored):
    stored.write()
    stored.harness.clock.advance_ms(10_000)

    assert stored(Request(URL), expiration_s=11)
    assert stored(Request(URL), expiration_s=9) is None


@pytest.mark.parametrize(
    "request_", [
        Request("http://shop.test/other"),
        Request(URL, method="HEAD"),
        FormRequest(URL, formdata={"a": "b"}),
        Request("http://user@/lamp"),
        Request("data:,lamp"),
    ]
)  # fmt: skip
def test_other_requests_are_not_served_from_the_store(stored, request_):
    stored.write()

    assert stored(request_) is None


def test_page_that_was_taken_down_is_not_served(stored):
    stored.write()
    stored.harness.store.takedowns.take_down(url=URL)

    assert stored(Request(URL)) is None
