"""The main texts for a run's file: extracted while the run continues, within a memory limit."""

from contextlib import closing

import orjson
import pytest

from aragog.cli.run_texts import MAX_EXTRACTIONS, RunTexts
from aragog.runtime.clock import ManualClock
from aragog.settings import PipelineSettings
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.waiting import wait_until
from tests.unit.pages.test_main_text import FIRST, PAGE
from zengraph.tables.memory import MemoryTables

NAME = "page.markdown"
URLS = [f"http://a.example/{number}" for number in range(3 * MAX_EXTRACTIONS)]
HTML = {"content_type": "text/html; charset=utf-8"}


@pytest.fixture
def store():
    """A store with an article under each URL."""
    opened = store_harness(MemoryTables(ManualClock(NOW_MS))).store
    opened.write_pages([page(url) for url in URLS])
    for url in URLS:
        opened.put_content(url, PAGE.replace("</p>", f" {url}</p>", 1).encode(), HTML)
    return opened


@pytest.fixture
def texts():
    with closing(RunTexts(PipelineSettings(), (NAME,))) as made:
        yield made


def found_while_running(texts, store):
    """The URLs whose text is ready before it is requested."""

    def is_over():
        texts.start_queued(store)
        return not texts._queued and texts._running_count == 0

    wait_until(is_over)
    return set(texts._futures)


def test_texts_are_extracted_while_other_pages_are_fetched(texts, store):
    """A site was fetched in 23 s, and only then were its texts extracted, one by one."""
    for url in URLS:
        texts.enqueue(store, url)

    assert found_while_running(texts, store) == set(URLS)
    for url in URLS:
        assert f"{FIRST} {url}" in orjson.loads(texts.fields(store, url, (NAME,))[NAME])
    assert texts._unused_bytes == 0


def test_texts_over_the_limit_are_extracted_while_the_file_is_written(store):
    with closing(RunTexts(PipelineSettings(), (NAME,), max_bytes=1)) as texts:
        for url in URLS:
            texts.enqueue(store, url)
        wait_until(lambda: texts._running_count == 0)
        texts.start_queued(store)

        assert len(texts._queued) >= len(URLS) - MAX_EXTRACTIONS
        assert all(texts.fields(store, url, (NAME,)) for url in reversed(URLS))
        assert not texts._queued
        assert texts._unused_bytes == 0


def test_text_of_a_page_not_started_before_is_extracted(texts, store):
    assert FIRST in orjson.loads(texts.fields(store, URLS[0], (NAME,))[NAME])


def test_no_texts_are_extracted_without_field_names(store):
    with closing(RunTexts(PipelineSettings(), ())) as texts:
        texts.enqueue(store, URLS[0])

        assert not texts._futures
        assert not texts._queued
