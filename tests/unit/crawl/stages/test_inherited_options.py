"""Options passed on to the links, listings and sitemaps of a page."""

from dataclasses import fields, replace

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.inherited_options import INHERITED, inherit_options
from aragog.crawl.stages.link_budgets import options_of, wire_of

JOB = UrlJob(
    url="http://a.example/", depth=3, refresh=True, priority=7, url_filter="+*", request_id="r",
    purposes="search", traceparent="t", crawl=9, pages=2,
)  # fmt: skip


def test_every_job_option_is_inherited_or_listed_as_not_inherited():
    """Regression: a new option was not passed on to links, and no test checked that it was."""
    not_inherited = {"depth", "pages", "crawl", "sitemap", "file", "traceparent"}
    shared = {each.name for each in fields(EnqueueOptions)} & {each.name for each in fields(UrlJob)}

    assert shared - not_inherited <= INHERITED.keys()


def test_links_inherit_every_inheritable_option():
    options = inherit_options(JOB)

    assert all(
        getattr(JOB, field) != getattr(UrlJob(url="x"), field) for field in INHERITED.values()
    )
    assert {name: getattr(options, name) for name in INHERITED} == {
        name: getattr(JOB, field) for name, field in INHERITED.items()
    }


def test_held_link_keeps_its_inherited_options():
    """Regression: priority 0 and an empty purpose became the defaults, since they are falsy."""
    urgent = replace(JOB, priority=0, purposes="")

    for options in (
        inherit_options(JOB, depth=2),
        inherit_options(urgent, depth=0),
        EnqueueOptions(),
    ):
        assert options_of(wire_of(options)) == options


def test_explicit_options_override_inherited_ones():
    options = inherit_options(JOB, depth=2, refresh=False)

    assert (options.depth, options.refresh, options.priority) == (2, False, 7)
