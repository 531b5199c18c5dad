"""Crawls limited to pages of certain content types and languages."""

import pytest

from aragog.crawl.stages import page_scope
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from tests.support.crawl_harness import HarnessCrawls
from tests.support.origin import answer

pytestmark = pytest.mark.redis


def site(request, _wire):
    """An English home page with links to a German page, a JSON file and a page without `lang`."""
    match request.path:
        case "/":
            links = "".join(f'<a href="/{name}">x</a>' for name in ("de", "data", "plain"))
            return answer(200, f'<html lang="en-GB"><title>t</title>{links}'.encode())
        case "/de":
            return answer(200, b'<html lang="de"><title>t</title><a href="/de/deep">x</a>')
        case "/data":
            return answer(200, b'{"a": 1}', content_type="application/json")
    return answer(200, b"<title>t</title>" + request.path.encode())


@pytest.fixture
def crawls(crawl_harness):
    harness = crawl_harness({"/*": site}, qps=1000)
    harness.know_rules("a.test")
    return HarnessCrawls(harness)


HOME = ["http://a.test/"]


def test_pages_out_of_scope_are_not_stored_and_their_links_not_followed(crawls):
    crawls.start("docs", depth=2, scope=["language:en", "type:text/html"])

    crawls.harness.crawl(HOME, EnqueueOptions(crawl="docs"))

    store = crawls.harness.urls
    paths = [p for p in ("/", "/de", "/data", "/plain") if store.get(f"http://a.test{p}")]
    assert paths == ["/", "/plain"]
    assert sorted(crawls.paths()) == ["/", "/data", "/de", "/plain"]
    assert crawls.of("docs").outcomes == {
        "stored": 2,
        "out of scope: language de": 1,
        "out of scope: type application/json": 1,
    }
    assert crawls.of("docs").is_exact
    assert crawls.harness.pipeline.store.spool.state().used_bytes == 0


def test_another_crawl_that_includes_the_page_gets_it(crawls):
    crawls.start("english", scope=["language:en"])
    crawls.start("all", depth=1)
    crawls.harness.enqueue(["http://a.test/de"], EnqueueOptions(crawl="english"))

    crawls.harness.crawl(["http://a.test/de"], EnqueueOptions(crawl="all"))

    assert crawls.of("english").outcomes == {"out of scope: language de": 1}
    assert crawls.of("all").outcomes == {"stored": 2}
    assert sorted(set(crawls.paths())) == ["/de", "/de/deep"]


def test_page_stored_by_another_crawl_is_still_left_out(crawls):
    crawls.harness.crawl(["http://a.test/de", "http://a.test/plain"], EnqueueOptions())
    crawls.start("english", depth=1, scope=["language:en"])

    crawls.harness.crawl(
        ["http://a.test/de", "http://a.test/plain"], EnqueueOptions(crawl="english")
    )

    assert crawls.of("english").outcomes == {"stored": 1, "out of scope: language de": 1}
    assert crawls.harness.urls.crawls.among("english", ["http://a.test/de"]) == set()
    assert len(crawls.paths()) == 2


def test_repeated_page_out_of_scope_counts_once(crawls):
    crawls.start("docs", scope=["language:en"])
    crawls.harness.enqueue(["http://a.test/de"], EnqueueOptions(crawl="docs"))
    (fetch,) = crawls.harness.taken()
    (canonicalize,) = crawls.harness.step(fetch)

    assert crawls.harness.step(canonicalize) == []
    crawls.harness.step(canonicalize)

    assert crawls.of("docs").outcomes == {"out of scope: language de": 1}
    assert crawls.of("docs").is_exact


def test_caller_that_waits_for_a_page_out_of_scope_gets_the_rule():
    answers = page_scope.make_results({"http://a.test/de": "language de"})

    assert answers["http://a.test/de"]["outcome"] == "OutOfScope"
    assert answers["http://a.test/de"]["reason"] == "language de"
