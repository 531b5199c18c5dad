"""What links, listings and sitemaps of a page are enqueued with."""

from dataclasses import fields, replace

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.inherited_options import INHERITED, inherited
from aragog.crawl.stages.link_budgets import options_of, wire_of

JOB = UrlJob(
    url="http://a.example/", depth=3, refresh=True, priority=7, url_filter="+*", request_id="r",
    purposes="search", traceparent="t", crawl=9, pages=2,
)  # fmt: skip


def test_an_option_that_a_job_has_is_inherited_or_named_as_one_that_is_not():
    """A new option was lost on the way to links, because nothing asked whether they inherit it."""
    not_inherited = {"depth", "pages", "crawl", "sitemap", "file", "traceparent"}
    shared = {each.name for each in fields(EnqueueOptions)} & {each.name for each in fields(UrlJob)}

    assert shared - not_inherited <= INHERITED.keys()


def test_no_option_of_a_job_is_lost_on_the_way_to_its_links():
    options = inherited(JOB)

    assert all(
        getattr(JOB, field) != getattr(UrlJob(url="x"), field) for field in INHERITED.values()
    )
    assert {name: getattr(options, name) for name in INHERITED} == {
        name: getattr(JOB, field) for name, field in INHERITED.items()
    }


def test_a_link_that_is_held_keeps_the_options_that_it_inherits():
    """Priority 0 and a crawl without a purpose came back as the defaults, since they are false."""
    urgent = replace(JOB, priority=0, purposes="")

    for options in (inherited(JOB, depth=2), inherited(urgent, depth=0), EnqueueOptions()):
        assert options_of(wire_of(options)) == options


def test_what_a_place_says_itself_counts_more():
    options = inherited(JOB, depth=2, refresh=False)

    assert (options.depth, options.refresh, options.priority) == (2, False, 7)
