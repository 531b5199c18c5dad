"""How the counts of crawls name fetch results, and which crawls they count for."""

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlEndings, make_page_ending
from aragog.urlstore.crawl_members import crawl_column
from aragog.urlstore.records import PageWrite, Written
from tests.support.stores import node_id

A = "http://a.example/"


def ended(facts, *, sitemap=False, stale=False, withdrawn=False):
    write = PageWrite(
        url=A, final_url=A, canonical_url=A, fetched_at_ms=5, facts=facts, withdrawn=withdrawn
    )
    return make_page_ending(UrlJob(url=A, sitemap=sitemap), write, Written(A, A, stale=stale))


@pytest.mark.parametrize(
    ("facts", "outcome", "for_all"),
    [
        ({"outcome": "Fetched", "status": 200}, "stored", False),
        ({"outcome": "NotModified", "status": 304}, "stored", False),
        ({"outcome": "Gone", "status": 404}, "gone: 404", True),
        ({"outcome": "Refused", "cause": "robots"}, "refused: robots", True),
        ({"outcome": "TooLarge", "status": 200}, "too large", True),
        ({"outcome": "Unreachable"}, "unreachable", True),
        ({"outcome": "Reserved", "status": 200}, "reserved", False),
    ],
)
def test_outcome_is_named_with_its_cause_and_failures_count_for_every_crawl(
    facts, outcome, for_all
):
    end = ended(facts)

    assert (end.outcome, end.for_all) == (outcome, for_all)
    assert end.canonical_url == (A if outcome == "stored" else None)


def test_page_that_was_not_stored_belongs_to_no_crawl():
    page = {"outcome": "Fetched", "status": 200}

    assert ended(page, stale=True)[1:3] == ("superseded", None)
    assert ended(page, sitemap=True)[1:3] == ("sitemap", None)
    assert ended(page, withdrawn=True).canonical_url is None


def test_page_that_joined_its_crawl_when_it_was_written_is_not_marked_again(ports):
    """The second write took a tenth of the CPU of the store stage."""
    page = {"outcome": "Fetched", "status": 200}
    write = PageWrite(url=A, final_url=A, canonical_url=A, fetched_at_ms=5, facts=page)
    endings = CrawlEndings(ports.in_flight, ports.store.crawls, CrawlChecks())
    name = endings.get_crawl_name(UrlJob(url=A))

    for joined, members in ((name, set()), ("", {A})):
        endings.end([make_page_ending(UrlJob(url=A), write, Written(A, A, crawl=joined))])

        assert ports.store.zen.nodes.get(node_id(A)).keys() == {crawl_column(name) for _ in members}
