"""What links, listings and sitemaps of a page are enqueued with."""

from dataclasses import fields

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.inherited_options import inherited

JOB = UrlJob(
    url="http://a.example/", depth=3, refresh=True, priority=7, url_filter="+*", request_id="r",
    purposes=("search",), traceparent="t", crawl=9, pages=2,
)  # fmt: skip


def test_no_option_of_a_job_is_lost_on_the_way_to_its_links():
    """Each place copied them by hand, so that a new one could be forgotten in one of them."""
    options = inherited(JOB)

    # Each place says what becomes of depth and pages; a job has the number of its crawl.
    own = {"depth", "pages", "crawl"}
    shared = {each.name for each in fields(EnqueueOptions)} & {each.name for each in fields(UrlJob)}
    carried = {
        name for name in shared - own if getattr(JOB, name) != getattr(UrlJob(url="x"), name)
    }
    assert carried >= {"refresh", "priority", "url_filter", "request_id", "purposes"}
    assert all(getattr(options, name) == getattr(JOB, name) for name in carried)
    assert (options.crawl_number, options.found_on) == (9, "t")


def test_what_a_place_says_itself_counts_more():
    options = inherited(JOB, depth=2, refresh=False)

    assert (options.depth, options.refresh, options.priority) == (2, False, 7)
