"""robots.txt applies to the enqueued spelling and to the requested one; the stricter rule wins."""

from __future__ import annotations

import pytest

from aragog.crawl.pipeline.messages import FetchBatch, ResultBatch, RobotsBatch
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from tests.support.origin import page, redirect

pytestmark = pytest.mark.redis

RULES = b"User-agent: *\nDisallow: /a<d.html\nDisallow: /*?b=\nDisallow: /*utm_source\n"


def fetched(harness, url: str) -> list[tuple[str, str]]:
    """(kind, final URL) of the results for `url`, enqueued by its producer as is."""
    list(harness.pipeline.enqueuer.enqueue([url], EnqueueOptions()))
    (send,) = harness.sent.messages
    harness.sent.messages.clear()
    sends = harness.pipeline.fetch.run(FetchBatch.read(send.message.wire()))
    return [
        (answer.fetch.outcome, answer.fetch.final_url)
        for send in sends
        if isinstance(send.message, ResultBatch)
        for answer in send.message.results
    ]


@pytest.mark.parametrize(
    "path",
    ["/a<d.html", "/a%3Cd.html", "/a%3cd.html", "/p?b=1&a=2", "/p?utm_source=x", "/%61<d.html"],
)
def test_url_disallowed_as_enqueued_is_refused(crawl_harness, path):
    harness = crawl_harness({"*": page(b"hello")})
    harness.know_rules("site.test", body=RULES)

    assert [kind for kind, _ in fetched(harness, f"http://site.test{path}")] == ["Refused"]
    assert not harness.origin.seen


def test_url_disallowed_as_requested_is_refused(crawl_harness):
    harness = crawl_harness({"*": page(b"hello")})
    harness.know_rules("site.test", body=b"User-agent: *\nDisallow: /*?a=\n")

    assert [kind for kind, _ in fetched(harness, "http://site.test/p?b=1&a=2")] == ["Refused"]


def test_url_allowed_in_both_spellings_is_fetched(crawl_harness):
    harness = crawl_harness({"*": page(b"hello")})
    harness.know_rules("site.test", body=RULES)

    assert fetched(harness, "http://site.test/p?c=1&a=2&utm_medium=x") == [
        ("Fetched", "http://site.test/p?a=2&c=1")
    ]


@pytest.mark.parametrize("location", ["/a<d.html", "/p?b=1&a=2", "?utm_source=x"])
def test_redirect_to_a_disallowed_spelling_is_refused(crawl_harness, location):
    harness = crawl_harness({"//site.test/": redirect(location), "*": page(b"hello")})
    harness.know_rules("site.test", body=RULES)

    assert [kind for kind, _ in fetched(harness, "http://site.test/")] == ["Refused"]
    assert len(harness.origin.seen) == 1


def test_redirect_that_waits_for_rules_keeps_its_spelling(crawl_harness):
    harness = crawl_harness(
        {
            "//site.test/": redirect("http://other.test/p?b=1&a=2"),
            "//other.test/robots.txt": page(RULES, content_type="text/plain"),
            "*": page(b"hello"),
        }
    )
    harness.know_rules("site.test")
    list(harness.pipeline.enqueuer.enqueue(["http://site.test/"], EnqueueOptions()))
    first = FetchBatch.read(harness.sent.messages[0].message.wire())

    (to_robots,) = harness.pipeline.fetch.run(first)
    (to_fetch,) = harness.pipeline.robots.run(RobotsBatch.read(to_robots.message.wire()))
    (to_canonicalize,) = harness.pipeline.fetch.run(FetchBatch.read(to_fetch.message.wire()))

    (answer,) = to_canonicalize.message.results
    assert answer.fetch.outcome == "Refused"
    assert not harness.origin.of(path="/p")
