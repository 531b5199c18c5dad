"""Budgets of URL templates in Redis: shared by processes, with waiting links."""

import pytest

from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.link_budgets import ArrivedPage, LinkBudgets
from aragog.crawl.traps.held_links import HeldLinks
from aragog.crawl.traps.host_budget import LinkVerdict, TemplateDecision
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.traits import traits_of_texts
from aragog.crawl.traps.trap_store import TrapStore

pytestmark = pytest.mark.redis

HOST = "site.test"
OPTIONS = EnqueueOptions(depth=3, request_id="abcdefgh")


class Counted:
    def __init__(self):
        self.counts = {}

    def add(self, counts):
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count


@pytest.fixture
def store(redis_client):
    return TrapStore(RedisNodes.wrap(redis_client), prefix="t:")


@pytest.fixture
def held(redis_client):
    return HeldLinks(RedisNodes.wrap(redis_client), prefix="t:")


@pytest.fixture
def budgets(store, held):
    return LinkBudgets(store, held, Counted())


def urls(count):
    return [f"http://{HOST}/item/{n}" for n in range(count)]


def arrived(url, text):
    return ArrivedPage(url, traits_of_texts(text, text))


def crawl(budgets, links, text_of):
    """Follow links until no page is in progress; returns the enqueued URLs with their options."""
    enqueued = {}
    under_way = []

    def enqueue(options, some):
        new = [url for url in some if url not in enqueued]
        enqueued.update(dict.fromkeys(new, options))
        under_way.extend(new)
        return len(new)

    budgets.follow({f"http://{HOST}/": {OPTIONS: links}}, [], enqueue)
    while under_way:
        url = under_way.pop(0)
        budgets.follow({}, [arrived(url, text_of(url))], enqueue)
    return enqueued


def test_waiting_links_are_enqueued_with_their_options(budgets, held):
    enqueued = crawl(budgets, urls(40), lambda url: " ".join(f"{url[-2:]}{n}" for n in range(40)))

    assert sorted(enqueued) == sorted(urls(40))
    assert set(enqueued.values()) == {OPTIONS}
    assert held.all(HOST) == []


def test_links_of_a_closed_template_wait_until_nothing_is_in_progress(budgets, held):
    enqueued = crawl(budgets, urls(40), lambda _: "There is nothing here at all.")

    assert len(enqueued) <= 12
    assert len(held.all(HOST)) == 40 - len(enqueued)
    assert budgets.counters.counts["templates_closed"] >= 1


def test_two_processes_keep_what_the_other_learned(store):
    one, other = store.read([HOST])[HOST], store.read([HOST])[HOST]
    judge(one.budget, f"http://{HOST}/a", None, ())
    judge(other.budget, f"http://{HOST}/b", None, ())

    assert store.save(HOST, one)
    assert not store.save(HOST, other)
    assert "/a" in store.read([HOST])[HOST].budget.records
    assert "/b" not in store.read([HOST])[HOST].budget.records


def test_repeated_batch_judges_a_page_once(budgets, store):
    budgets.follow({f"http://{HOST}/": {OPTIONS: urls(1)}}, [], lambda *_: 0)
    for _ in range(2):
        budgets.follow({}, [arrived(urls(1)[0], "There is nothing.")], lambda *_: 0)

    record = store.read([HOST])[HOST].budget.records["/item/{n}"]
    assert record.brought + record.nothing == 1


def test_urls_without_depth_keep_no_budgets(budgets, store):
    budgets.follow({}, [arrived(urls(1)[0], "A page.")], lambda *_: 0)

    assert store.known([HOST]) == set()


def test_operators_decision_applies_in_every_process(store, redis_client):
    other = TrapStore(RedisNodes.wrap(redis_client), prefix="t:")

    store.decide(HOST, "/item/{n}", TemplateDecision.CLOSED)

    budget = other.read([HOST])[HOST].budget
    assert budget.verdict(urls(1)[0], other.decisions()[HOST]) is LinkVerdict.DROP
    store.decide(HOST, "/item/{n}", None)
    assert store.decisions() == {}


def test_closed_templates_are_listed_until_an_operator_opens_them(budgets, store):
    crawl(budgets, urls(40), lambda _: "There is nothing here at all.")

    listed = [(one.host, one.template) for one in store.closed()]
    store.decide(HOST, "/item/{n}", TemplateDecision.OPEN)

    assert (HOST, "/item/{n}") in listed
    assert (HOST, "/item/{n}") not in [(one.host, one.template) for one in store.closed()]
