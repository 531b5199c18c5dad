"""Who may change a crawl: the token that started it, and tokens with the scope `admin`."""

import pytest

from aragog.api.operations.crawl_start import StartCrawlRequest, start_crawl
from aragog.api.operations.crawling import EnqueueRequest
from aragog.api.operations.crawling import enqueue as enqueue_operation
from aragog.api.operations.crawls import (
    CrawlRequest,
    CrawlStateRequest,
    NotYourCrawl,
    delete_crawl,
    set_crawl_state,
)
from aragog.api.operations.operation import Caller, Parts
from aragog.api.operations.scopes import Token
from aragog.crawl.pipeline.enqueue_results import EnqueueResult
from aragog.errors import BadInput
from tests.api_examples import crawls_of, filled_store

pytestmark = pytest.mark.redis


@pytest.fixture
def callers(redis_url):
    """Callers by name; `nobody` has no token, as on loopback."""

    def enqueue(urls, **_):
        return [EnqueueResult(url, "accepted", url) for url in urls]

    store = filled_store()
    parts = Parts(store=store, crawls=crawls_of(redis_url, store), enqueue=enqueue)
    tokens = {
        "ada": Token("ada", ["read", "write"]),
        "bob": Token("bob", ["read", "write"]),
        "root": Token("root", ["admin"]),
        "nobody": None,
    }
    return {name: Caller(parts, token) for name, token in tokens.items()}


CHANGES = {
    "start": lambda caller: start_crawl.run(caller, StartCrawlRequest("docs", depth=9)),
    "pause": lambda caller: set_crawl_state.run(caller, CrawlStateRequest("docs", "paused")),
    "resume": lambda caller: set_crawl_state.run(caller, CrawlStateRequest("docs", "running")),
    "cancel": lambda caller: set_crawl_state.run(caller, CrawlStateRequest("docs", "cancelled")),
    "enqueue": lambda caller: enqueue_operation.run(
        caller, EnqueueRequest(["http://a.example/"], crawl="docs")
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_token_changes_only_its_own_crawls(callers, change):
    started = start_crawl.run(callers["ada"], StartCrawlRequest("docs", depth=1))
    control = callers["ada"].parts.crawls

    with pytest.raises(NotYourCrawl, match="docs was started by another token"):
        CHANGES[change](callers["bob"])
    left = control.status("docs").record
    CHANGES[change](callers["ada"])

    assert started.token == "ada"
    assert (left.depth, left.state) == (1, "running")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("who", ["root", "nobody"])
def test_admin_and_callers_without_tokens_change_every_crawl(callers, who, change):
    start_crawl.run(callers["ada"], StartCrawlRequest("docs"))

    CHANGES[change](callers[who])

    assert callers["ada"].parts.crawls.status("docs").record.token == "ada"


def test_token_deletes_only_its_own_crawls(callers):
    start_crawl.run(callers["ada"], StartCrawlRequest("docs"))
    registry = callers["ada"].parts.crawls.registry

    with pytest.raises(NotYourCrawl, match="docs was started by another token"):
        delete_crawl.run(callers["bob"], CrawlRequest("docs"))
    kept = "docs" in registry.read().records
    delete_crawl.run(callers["ada"], CrawlRequest("docs"))

    assert kept
    assert "docs" not in registry.read().records


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_admin_and_callers_without_tokens_delete_every_crawl(callers, who):
    start_crawl.run(callers["ada"], StartCrawlRequest("docs"))

    delete_crawl.run(callers[who], CrawlRequest("docs"))

    assert "docs" not in callers[who].parts.crawls.registry.read().records


def test_token_cannot_delete_a_built_in_crawl_or_the_crawl_of_another_token(callers):
    start_crawl.run(callers["root"], StartCrawlRequest("token.ada"))

    with pytest.raises(BadInput, match="always exists"):
        delete_crawl.run(callers["ada"], CrawlRequest("enqueued"))
    with pytest.raises(NotYourCrawl):
        delete_crawl.run(callers["bob"], CrawlRequest("token.ada"))


def test_crawl_started_by_a_command_can_be_changed_only_by_admin(callers):
    start_crawl.run(callers["nobody"], StartCrawlRequest("docs"))

    with pytest.raises(NotYourCrawl):
        CHANGES["pause"](callers["ada"])
    assert CHANGES["pause"](callers["root"]).state == "paused"
