"""Main texts of stored pages: those that are stored, those found on reading, and hostile pages."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import orjson
import pytest

from aragog.api.page_texts import AT_ONCE, PageTexts, PageTextUnavailable
from aragog.clock import ManualClock
from aragog.pages import main_text
from aragog.settings import PipelineSettings
from aragog.zen.tables.memory import MemoryTables
from tests.support.api_server import running
from tests.support.stores import NOW_MS, page, stand
from tests.unit.pages.test_main_text import FIRST, LAST, PAGE

A, ALIAS, B = "http://a.example/p", "http://a.example/old", "http://a.example/data"
HTML = {"content_type": "text/html; charset=utf-8"}


@pytest.fixture(scope="module")
def texts():
    """Finds texts in processes that all tests share."""
    with closing(PageTexts()) as made:
        yield made


@pytest.fixture
def store():
    """A store with an article under two URLs, and a file of JSON."""
    opened = stand(MemoryTables(ManualClock(NOW_MS))).store
    opened.write_pages([page(A, fields={"page.type": b"1"}, also=(ALIAS,)), page(B)])
    opened.put_content(A, PAGE.encode(), HTML)
    opened.put_content(B, b'{"a": 1}', {"content_type": "application/json"})
    return opened


def test_a_text_is_found_when_it_is_read_by_any_url_of_the_page(texts, store):
    content = texts.content(store, ALIAS, "text")

    assert content.url == A
    assert FIRST in content.body.decode()
    assert content.meta["content_type"] == "text/plain; charset=utf-8"
    assert content.meta["text_version"] == main_text.load("trafilatura").version


def test_markdown_is_another_form_of_the_same_page(texts, store):
    content = texts.content(store, A, "markdown")

    assert "## The harvest" in content.body.decode()
    assert content.meta["content_type"] == "text/markdown; charset=utf-8"


def test_what_is_no_html_and_what_is_not_stored_has_no_text(texts, store):
    assert texts.content(store, B, "text") is None
    assert texts.content(store, "http://a.example/unknown", "text") is None


def test_a_stored_text_is_returned_and_one_of_another_version_found_anew(texts, store):
    version = main_text.load("trafilatura").version
    stored = {"page.text": b'"as stored"', "page.text_version": orjson.dumps(f"{version}: text")}

    store.put(A, stored)
    assert texts.content(store, A, "text").body == b"as stored"

    store.put(A, {"page.text_version": b'"trafilatura 0.1/0: text"'})
    assert FIRST in texts.content(store, A, "text").body.decode()


def test_a_page_beyond_its_limits_is_refused_and_the_next_one_read(store):
    limits = PipelineSettings(page_max_cpu_s=0.01)
    large = PAGE.replace("</article>", "<p>Words of a page. </p>" * 50_000 + "</article>")
    store.put_content(B, large.encode(), HTML)
    with (
        closing(PageTexts(limits)) as texts,
        pytest.raises(PageTextUnavailable, match="cannot be found"),
    ):
        texts.content(store, B, "text")
    with closing(PageTexts()) as texts:
        assert LAST in texts.content(store, A, "text").body.decode()


def test_a_process_that_dies_is_replaced(texts, store):
    assert texts.content(store, A, "text").body
    texts._idle[0]._process.kill()

    with pytest.raises(PageTextUnavailable, match="ended the process"):
        texts.content(store, A, "text")
    assert FIRST in texts.content(store, A, "text").body.decode()


def test_many_readers_share_few_processes(store):
    with closing(PageTexts()) as texts, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: texts.content(store, A, "text").body, range(16)))
        assert len(texts._idle) <= AT_ONCE

    assert len(set(found)) == 1


def test_http_answers_with_the_form_that_the_query_names(texts, store):
    from aragog.api.http.services import Services

    with running(store, Services(texts=texts)) as api:
        text = api.ask("GET", f"/v1/content?url={A}&as=text")
        original = api.ask("GET", f"/v1/content?url={A}")
        wrong = api.ask("GET", f"/v1/content?url={A}&as=pdf")

    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert FIRST in text.body.decode()
    assert "<article>" not in text.body.decode()
    assert original.body == PAGE.encode()
    assert wrong.status == 400
    assert "original, text, markdown" in wrong.json["detail"]
