"""Main texts of stored pages: stored texts, texts extracted on read, and hostile pages."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import orjson
import psutil
import pytest

from aragog.api.operations import text_processes
from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import MAX_PROCESSES, PageTextUnavailable, TextsBusy
from aragog.pages import main_text
from aragog.runtime.clock import ManualClock
from aragog.settings import PipelineSettings
from tests.support.api_server import running
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.waiting import wait_until
from tests.unit.pages.test_main_text import FIRST, LAST, PAGE
from zengraph.tables.memory import MemoryTables

A, ALIAS, B = "http://a.example/p", "http://a.example/old", "http://a.example/data"
HTML = {"content_type": "text/html; charset=utf-8"}


@pytest.fixture(scope="module")
def texts():
    """Extracts texts in processes shared by all tests."""
    with closing(PageTexts()) as made:
        yield made


@pytest.fixture
def store():
    """A store with an article under two URLs, and a JSON file."""
    opened = store_harness(MemoryTables(ManualClock(NOW_MS))).store
    opened.write_pages([page(A, fields={"page.type": b"1"}, also=(ALIAS,)), page(B)])
    opened.put_content(A, PAGE.encode(), HTML)
    opened.put_content(B, b'{"a": 1}', {"content_type": "application/json"})
    return opened


def test_text_is_extracted_on_read_for_any_url_of_the_page(texts, store):
    content = texts.content(store, ALIAS, "text")

    assert content.url == A
    assert FIRST in content.body.decode()
    assert content.meta["content_type"] == "text/plain; charset=utf-8"
    assert content.meta["text_version"] == main_text.load("trafilatura").version


def test_markdown_is_another_form_of_the_same_page(texts, store):
    content = texts.content(store, A, "markdown")

    assert "## The harvest" in content.body.decode()
    assert content.meta["content_type"] == "text/markdown; charset=utf-8"


def test_only_stored_html_pages_have_a_text(texts, store):
    assert texts.content(store, B, "text") is None
    assert texts.content(store, "http://a.example/unknown", "text") is None


def test_stored_text_is_returned_and_an_outdated_one_extracted_again(texts, store):
    version = main_text.load("trafilatura").version
    stored = {"page.text": b'"as stored"', "page.text_version": orjson.dumps(f"{version}: text")}

    store.put(A, stored)
    assert texts.content(store, A, "text").body == b"as stored"

    store.put(A, {"page.text_version": b'"trafilatura 0.1/0: text"'})
    assert FIRST in texts.content(store, A, "text").body.decode()


def test_page_over_its_limits_is_refused_and_the_next_one_read(store):
    limits = PipelineSettings(page_max_cpu_s=0.01)
    large = PAGE.replace("</article>", "<p>Words of a page. </p>" * 50_000 + "</article>")
    store.put_content(B, large.encode(), HTML)
    with (
        closing(PageTexts(limits)) as texts,
        pytest.raises(PageTextUnavailable, match="cannot be extracted"),
    ):
        texts.content(store, B, "text")
    with closing(PageTexts()) as texts:
        assert LAST in texts.content(store, A, "text").body.decode()


def test_process_that_dies_is_replaced(store):
    before = set(children())
    with closing(PageTexts()) as texts:
        assert texts.content(store, A, "text").body
        for child in set(children()) - before:
            child.kill()

        with pytest.raises(PageTextUnavailable, match="crashed the process"):
            texts.content(store, A, "text")
        assert FIRST in texts.content(store, A, "text").body.decode()


def test_many_readers_share_few_processes(store):
    before = len(children())
    with closing(PageTexts()) as texts, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: texts.content(store, A, "text").body, range(16)))
        assert 1 <= len(children()) - before <= MAX_PROCESSES

    assert len(set(found)) == 1
    wait_until(lambda: len(children()) == before)


def children():
    """The processes that extract texts for this one."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
            if text_processes.__name__ in child.cmdline():
                found.append(child)
    return found


@pytest.fixture
def slow(store):
    """The store with a page whose text takes longer than any test waits."""
    store.put_content(B, SLOW.encode(), HTML)
    return store


SLOW = "<html><body><article>" + "<p>Words <b>of <i>a page</i></b>.</p>" * 120_000
LONG = PipelineSettings(page_max_cpu_s=60)


def test_deadline_of_a_text_ends_the_work_not_only_the_wait(slow):
    before = set(children())
    with closing(PageTexts(LONG, deadline_s=1.5)) as texts:
        with pytest.raises(PageTextUnavailable, match=r"took more than \d"):
            texts.content(slow, B, "markdown")

        wait_until(lambda: set(children()) <= before)


def test_callers_of_a_hostile_page_share_its_run_and_later_ones_are_refused(slow):
    def ask(_):
        with pytest.raises(PageTextUnavailable):
            texts.content(slow, B, "markdown")

    with closing(PageTexts(LONG, deadline_s=2)) as texts, ThreadPoolExecutor(16) as pool:
        started_s = time.monotonic()
        list(pool.map(ask, range(16)))
        ask(None)
        took_s = time.monotonic() - started_s

    assert took_s < 2 * 2  # sixteen runs, two at a time, would take 16 s


def test_run_ends_when_nobody_waits_for_it(slow):
    before = set(children())
    with closing(PageTexts(LONG, deadline_s=60)) as texts:
        steps = texts.steps(slow, B, "markdown")
        next(steps)
        wait_until(lambda: set(children()) - before)
        assert len(set(children()) - before) == 1

        steps.close()

        wait_until(lambda: set(children()) <= before)


def test_waiting_bodies_are_limited(slow):
    before = set(children())
    with closing(PageTexts(LONG, deadline_s=60, max_waiting=1)) as texts:
        waiting = []
        for number in range(MAX_PROCESSES + 1):
            waiting.append(begun(texts, slow, number))
            wait_until(
                lambda count=number: len(set(children()) - before) >= min(MAX_PROCESSES, count + 1)
            )
        with pytest.raises(TextsBusy, match="retry later"):
            begun(texts, slow, MAX_PROCESSES + 1)
        for steps in waiting:
            steps.close()


def begun(texts, store, number):
    """A waiting request for the text of a distinct page."""
    store.put_content(B, f"{SLOW}{number}".encode(), HTML)
    steps = texts.steps(store, B, "markdown")
    next(steps)
    return steps


def test_hostile_pages_of_one_site_leave_a_process_for_other_sites(store):
    """Each was a different page, and together they occupied all processes until their deadlines."""
    hostile = [f"http://hostile.example/{number}" for number in range(4)]
    for url in hostile:
        store.put_content(url, (SLOW + url).encode(), HTML)

    with closing(PageTexts(LONG, deadline_s=16)) as texts, ThreadPoolExecutor(8) as pool:

        def ask(url):
            with pytest.raises((PageTextUnavailable, TextsBusy)):
                texts.content(store, url, "markdown")

        assert texts.content(store, A, "text").body
        ask(hostile[0])
        asked = [pool.submit(ask, url) for url in hostile[1:]]
        wait_until(lambda: len(children()) >= 1)
        # Before its deadline, when those of the others end too.
        assert FIRST in texts.content(store, A, "markdown").body.decode()
        for each in asked:
            each.result()


def test_pages_of_one_site_leave_waiting_places_for_others(store):
    urls = [f"http://many.example/{number}" for number in range(4)]
    for url in (*urls, "http://other.example/"):
        store.put_content(url, (SLOW + url).encode(), HTML)
    with closing(PageTexts(LONG, deadline_s=3, max_waiting=4)) as texts:
        processes = texts._processes
        header = {"content_type": HTML["content_type"], "form": "text"}

        def start(url):
            return processes.start({**header, "url": url}, (SLOW + url).encode())

        runs = [start(url) for url in urls[:2]]
        wait_until(lambda: not processes._shared._waiting)  # both run
        runs += [start(f"http://many.example/more/{number}") for number in range(2)]
        with pytest.raises(TextsBusy, match=r"others from many\.example are waiting"):
            start("http://many.example/more/2")
        runs.append(start("http://other.example/"))
        for run in runs:
            processes.end(run)


def test_content_and_takedowns_do_not_wait_for_a_hostile_page(slow):
    before = set(children())
    from aragog.api.server.http.services import Services

    with (
        closing(PageTexts(LONG, deadline_s=6)) as texts,
        running(slow, Services(texts=texts), content_threads=2) as api,
        ThreadPoolExecutor(16) as pool,
    ):
        asked = [pool.submit(api.ask, "GET", f"/v1/content?url={B}&as=markdown") for _ in range(16)]
        wait_until(lambda: set(children()) - before)
        started_s = time.monotonic()
        content = api.ask("GET", f"/v1/content?url={A}")
        removed = api.ask("POST", "/v1/takedowns", {"host": "b.example"})
        took_s = time.monotonic() - started_s
        answers = {answer.result().status for answer in asked}

    assert (content.status, removed.status // 100) == (200, 2)
    assert took_s < 9, "another process takes half a second to start on an idle machine"
    assert answers == {501}


def test_http_returns_the_form_named_in_the_query(texts, store):
    from aragog.api.server.http.services import Services

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
