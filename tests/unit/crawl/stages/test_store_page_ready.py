"""The message to a team's own task about pages that were stored."""

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.routing import OwnTask
from aragog.crawl.stages.store import page_ready
from tests.support.stores import NOW_MS, body, page

A, B = "http://a.example/", "http://b.example/"
OWN = OwnTask("team.page_ready", "team")
JOBS = (UrlJob(url=A, priority=7), UrlJob(url=B, priority=2))


def test_it_names_each_page_with_its_type_and_is_as_urgent_as_the_most_urgent():
    writes = [
        page(A, content=body("a"), canonical_url=B, facts={"page_type": "recipe"}),
        page(B, content=body("b")),
    ]

    (message,) = page_ready(OWN, writes, JOBS)

    assert (message.destination, message.priority, message.even_when_full) == (OWN, 2, True)
    assert message.message.wire() == {
        "v": 1,
        "pages": [
            {"url": A, "canonical_url": B, "page_type": "recipe", "fetched_at_ms": NOW_MS},
            {"url": B, "canonical_url": B, "page_type": None, "fetched_at_ms": NOW_MS},
        ],
    }


def test_without_a_task_there_is_none():
    assert page_ready(None, [page(A, content=body("a"))], JOBS) == []


def test_urls_that_brought_no_page_are_not_named():
    assert page_ready(OWN, [page(A, facts={"status": 404})], JOBS) == []
