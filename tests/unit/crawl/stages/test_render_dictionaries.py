"""The render stage reads and writes bodies that are compressed with a shared dictionary."""

import pytest

from aragog.crawl.pipeline.messages import DICTIONARY_VERSION, VERSION, ResultBatch
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.rendering.models import NotRendered, RenderedPage
from aragog.crawl.stages.render import RenderStage
from aragog.urlstore.compression import dictionary_id
from tests.support.memory_ports import MemoryMarks
from tests.unit.crawl.stages.test_render import Browser
from tests.unit.crawl.stages.test_store_dictionaries import HTML, erase, fetched, harness

__all__ = ["harness"]


@pytest.fixture
def browser():
    return Browser(RenderedPage(HTML + b"rendered", 3))


def stage_of(ports, browser, harness):
    return RenderStage(
        ports.spool,
        browser,
        lambda _: "no request",
        ports.store.takedowns,
        MemoryMarks(),
        ports.returning_jobs,
        ports.counters,
        bodies=harness.store.bodies,
    )


def run(ports, browser, harness, result):
    (outgoing,) = stage_of(ports, browser, harness).run(ResultBatch((result,)))
    return outgoing.message


def test_rendered_page_says_that_its_body_needs_a_dictionary(ports, browser, harness):
    """Otherwise, a worker of an earlier version takes the message and cannot read the body."""
    plain = fetched(ports, harness)

    message = run(ports, browser, harness, plain)

    assert message.wire()["v"] == DICTIONARY_VERSION
    (result,) = message.results
    blob = ports.spool.blobs[result.token]
    assert result.token != plain.token
    assert dictionary_id(blob)
    assert harness.store.bodies.decompress(blob) == HTML + b"rendered"


def test_rendered_page_needs_no_dictionary_if_none_is_in_use_any_more(ports, browser, harness):
    plain = fetched(ports, harness)
    harness.store.bodies.packs.shared.records.use(0)
    again = harness.reopened()

    message = run(ports, browser, again, plain)

    assert message.wire()["v"] == VERSION
    assert not message.results[0].needs_dictionary
    assert dictionary_id(ports.spool.blobs[message.results[0].token]) == 0


def test_page_that_is_not_rendered_still_needs_its_dictionary(ports, browser, harness):
    plain = fetched(ports, harness)
    browser.outcome = NotRendered("its scripts left the page")

    message = run(ports, browser, harness, plain)

    assert message.results[0].token == plain.token
    assert message.wire()["v"] == DICTIONARY_VERSION


def test_page_is_fetched_again_if_its_dictionary_was_erased_before_it_was_rendered(
    ports, browser, harness
):
    plain = fetched(ports, harness)

    (outgoing,) = stage_of(ports, browser, erase(harness)).run(ResultBatch((plain,)))

    assert outgoing.destination is Destination.FETCH
    assert browser.pages == []
