"""The message to a custom task about stored pages."""

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.routing import UserTask
from aragog.crawl.stages.store import page_ready
from tests.support.stores import NOW_MS, body, page

A, B = "http://a.example/", "http://b.example/"
OWN = UserTask("team.page_ready", "team")
JOBS = (UrlJob(url=A, priority=7), UrlJob(url=B, priority=2))


def test_message_has_each_page_with_its_type_and_the_highest_priority():
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


def test_no_message_without_a_custom_task():
    assert page_ready(None, [page(A, content=body("a"))], JOBS) == []


def test_urls_without_a_page_are_left_out():
    assert page_ready(OWN, [page(A, facts={"status": 404})], JOBS) == []
