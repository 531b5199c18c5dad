"""Page writes in the spool, and when a write has all fields of a page, so that missing ones are deleted."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.page_analysis import decide_canonical, read_page
from aragog.crawl.stages.page_updates import from_blob, page_update, to_blob
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import Settings
from tests.support.fetch_results import fetch_result

URL = "http://a.example/"
PAGE = b"<!doctype html><title>T</title><p>words"


def read(body=PAGE, **facts):
    reported = {"outcome": OutcomeKind.FETCHED, "status": 200, "content_type": "text/html", **facts}
    result = fetch_result(job=UrlJob(url=URL), final_url=URL, fetched_at_ms=1, **reported)
    reading = read_page(result, body, agent="aragog", max_links=10)
    planned = page_update(result, reading, decide_canonical(reading.evidence, {}), Settings())
    return from_blob(to_blob([planned]))[0].write


def test_signal_count_of_an_older_worker_is_read():
    # What an upgraded worker once lost: older workers call the field `brought`.
    result = fetch_result(job=UrlJob(url=URL), final_url=URL, fetched_at_ms=1, status=200)
    reading = read_page(result, PAGE, agent="aragog", max_links=10)
    update = page_update(result, reading, decide_canonical(reading.evidence, {}), Settings())
    update = replace(
        update, write=replace(update.write, seen=replace(update.write.seen, signal_count=2.5))
    )

    blob = to_blob([update]).replace(b'"signal_count"', b'"brought"')

    assert from_blob(blob)[0].write.seen.signal_count == 2.5


def test_fully_read_page_is_complete():
    assert read().complete


@pytest.mark.parametrize(
    "facts",
    [
        {"truncated": True},
        {"status": 203},
        {"content_type": "application/json"},
        {"body": PAGE + b'<script type="application/ld+json">{"@type": </script>'},
        {"body": PAGE + b"<b>" * 200_000},
    ],
    ids=["cut short", "another status", "no HTML", "unreadable JSON-LD", "too many tags"],
)
def test_possibly_partial_page_is_not_complete(facts):
    assert not read(**facts).complete
