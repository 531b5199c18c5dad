"""The render stage over ports in memory, with a renderer that returns a fixed result."""

from dataclasses import dataclass, field, replace

import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.packed_body import pack
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.rendering.models import NotRendered, PlainPage, RenderedPage, ResourceRequest
from aragog.crawl.stages.page_facts import fetch_facts
from aragog.crawl.stages.render import LOST_REASON, RenderStage
from aragog.errors import BrowserUnavailable
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.compression import decompress
from tests.support.fetch_results import fetch_result
from tests.support.memory_ports import MemoryMarks

A = "http://a.example/"


@dataclass
class Browser:
    """Returns this result for each page, or raises it."""

    outcome: RenderedPage | NotRendered | Exception
    pages: list[PlainPage] = field(default_factory=list)

    def render(self, page, _fetch):
        self.pages.append(page)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.fixture
def browser():
    return Browser(RenderedPage(b"rendered", 3))


@pytest.fixture
def marks():
    return MemoryMarks()


@pytest.fixture
def stage(ports, browser, marks):
    return RenderStage(
        ports.spool,
        browser,
        lambda _: "no request",
        ports.store.takedowns,
        marks,
        ports.returning_jobs,
        ports.counters,
    )


@pytest.fixture
def batch(ports):
    """A fetched page whose body is in the spool."""
    (token,) = ports.spool.put_many([pack(b"plain").blob])
    result = fetch_result(
        job=UrlJob(url=A, priority=2),
        outcome=OutcomeKind.FETCHED,
        final_url="http://a.example/final",
        status=200,
        headers=(("Content-Type", "text/html"),),
        token=token,
        body_hash=pack(b"plain").sha256,
        body_bytes=5,
    )
    return ResultBatch((result,))


def run(stage, batch):
    """The only result, in the form sent to the next stage."""
    outgoing = stage.run(ResultBatch.read(batch.wire()))
    (message,) = outgoing
    assert message.destination is Destination.CANONICALIZE
    assert message.priority == 2
    stage.free(batch, outgoing)
    (result,) = ResultBatch.read(message.message.wire()).results
    return result


def test_rendered_body_replaces_the_fetched_one(stage, ports, browser, batch):
    result = run(stage, batch)

    assert browser.pages == [
        PlainPage("http://a.example/final", (("Content-Type", "text/html"),), b"plain")
    ]
    assert list(ports.spool.blobs) == [result.token]
    assert decompress(ports.spool.blobs[result.token]) == b"rendered"
    assert (result.body_hash, result.fetch.body_bytes) == (pack(b"rendered").sha256, 8)
    assert (result.fetch.status, result.fetch.final_url) == (200, "http://a.example/final")
    assert fetch_facts(result.fetch)["rendering"] == "rendered"
    assert ports.counters.counts[counters.RENDERED] == 1


def test_page_that_cannot_be_rendered_continues_as_fetched(stage, ports, browser, batch):
    browser.outcome = NotRendered("its scripts left the page")

    result = run(stage, batch)

    assert result.token == batch.results[0].token
    assert decompress(ports.spool.blobs[result.token]) == b"plain"
    assert fetch_facts(result.fetch)["rendering"] == "its scripts left the page"
    assert ports.counters.counts[counters.NOT_RENDERED] == 1


def test_missing_browser_leaves_the_batch_unchanged_for_a_retry(stage, ports, browser, batch):
    browser.outcome = BrowserUnavailable("rendering.browser", "is not installed")

    with pytest.raises(BrowserUnavailable):
        stage.run(batch)

    assert list(ports.spool.blobs) == [batch.results[0].token]
    browser.outcome = RenderedPage(b"rendered", 0)
    assert run(stage, batch).fetch.rendering == "rendered"


def test_message_repeated_before_its_body_is_freed_is_rendered_again(stage, ports, batch):
    first = stage.run(batch)
    second = run(stage, batch)

    assert ports.spool.blobs[first[0].message.results[0].token]
    assert decompress(ports.spool.blobs[second.token]) == b"rendered"


def test_message_repeated_after_its_body_was_freed_fetches_the_url_again(stage, batch):
    run(stage, batch)

    (message,) = stage.run(batch)

    assert message.destination is Destination.FETCH
    assert [(job.url, job.refresh, job.attempt) for job in message.message.jobs] == [(A, False, 1)]


def test_page_that_lost_two_processes_is_not_rendered_again(stage, browser, marks, batch):
    for _ in range(2):
        marks.start_run([batch.results[0].token])

    assert run(stage, batch).fetch.rendering == LOST_REASON
    assert not browser.pages
    assert not marks.begun


def test_page_taken_down_meanwhile_is_not_rendered(stage, ports, browser, batch):
    ports.store.takedowns.take_down(host="a.example")

    assert run(stage, batch).fetch.rendering is None
    assert not browser.pages


@pytest.mark.parametrize("purposes", [None, "", "ai-train search"])
def test_resources_are_fetched_for_the_purposes_of_the_job(stage, ports, purposes):
    """Regression: a crawl with its own purposes fetched scripts for those of the settings."""
    asked = []

    class Asking:
        def render(self, page, fetch):
            fetch(ResourceRequest(page.url + "app.js", "*/*", None, 0.0))
            return RenderedPage(b"rendered", 1)

    (token,) = ports.spool.put_many([pack(b"a page").blob])
    result = fetch_result(UrlJob(url=A, purposes=purposes), token=token)

    replace(stage, renderer=Asking(), fetch_resource=asked.append).run(ResultBatch((result,)))

    assert [request.purposes for request in asked] == [purposes]
