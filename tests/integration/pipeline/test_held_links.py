"""Held links are open work of their crawl until they are followed or left out for good."""

from dataclasses import replace

import pytest

from aragog.cli.run_tracker import RunTracker
from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.pipeline.messages import ResultBatch
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.crawl.stages.crawl_status import DONE, CrawlStatus
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.held_link_sweep import LOOK_AFTER_S
from aragog.crawl.traps.held_links import HeldLinks, Move, MovedLink
from aragog.crawl.traps.trap_store import TrapStore
from tests.support.crawl_harness import HarnessCrawls
from tests.support.origin import answer

pytestmark = pytest.mark.redis

HOST = "a.test"
ITEMS, LISTS = 12, 60
HOME = f"http://{HOST}/"
OPTIONS = EnqueueOptions(depth=9, crawl="docs")


def word(number):
    """A distinct word for each number, without digits."""
    return "".join("abcdefghij"[int(digit)] for digit in f"{number:05}")


LIST_PATHS = [f"/{word(n)}/{word(n + 500)}" for n in range(LISTS)]


def item(request, _wire):
    """A home page with items that have distinct words, and pages of other kinds without."""
    path = request.path
    if path == "/":
        names = [*(f"/item/{n}" for n in range(ITEMS)), *LIST_PATHS]
        body = "<title>home</title>" + "".join(f'<p><a href="{name}">one</a>' for name in names)
    elif not path.startswith("/item/"):
        body = "<title>a list</title><p>There is nothing in this list at all, as it seems."
    else:
        number = int(path.rpartition("/")[2])
        words = " ".join(word(number * 100 + n) for n in range(30))
        body = f"<title>{word(number)}</title><p>{words}"
    return answer(200, body.encode(), content_type="text/html")


@pytest.fixture
def crawls(crawl_harness):
    harness = crawl_harness({"/*": item}, qps=1000, recognize_traps=True)
    harness.know_rules(HOST)
    crawls = HarnessCrawls(harness)
    crawls.start("docs", depth=9)
    return crawls


def state(crawls):
    return CrawlStatus(crawls.registry.get("docs"), crawls.of("docs")).display_state


def sweep_until_nothing_is_held(crawls):
    """Run the task that beat runs every ten seconds until the crawl holds nothing."""
    for _ in range(50):
        crawls.harness.pipeline.maintenance.sweep_held_links()
        if not crawls.of("docs").open:
            return
        crawls.harness.crawl([], OPTIONS)
    raise AssertionError("links are held forever")


def test_crawl_is_not_done_while_links_are_held(crawls):
    crawls.harness.crawl([HOME], OPTIONS)

    counts = crawls.of("docs")
    assert counts.waiting == 0
    assert counts.held > 0
    assert state(crawls) == CrawlPhase.RUNNING.value
    sweep_until_nothing_is_held(crawls)
    assert state(crawls) == DONE
    assert {path for path in crawls.paths() if path.startswith("/item")} == {
        f"/item/{n}" for n in range(ITEMS)
    }


def test_each_link_is_followed_held_or_left_out_and_counted_once(crawls):
    crawls.harness.crawl([HOME], OPTIONS)
    sweep_until_nothing_is_held(crawls)

    counts = crawls.of("docs")
    assert counts.traps > 0
    assert counts.stored + counts.traps == 1 + ITEMS + LISTS
    assert counts.is_exact


class Killed(BaseException):
    """The process was killed."""


class DyingStore(TrapStore):
    """Kills the process the first times that a host's budgets are saved."""

    left = 5

    def save(self, host, stored):
        if self.left:
            self.left -= 1
            raise Killed
        return super().save(host, stored)


def test_page_whose_links_were_judged_twice_is_counted_once(crawls, redis_client):
    """The worker is killed after it held and left out links, and before it finished the page."""
    harness = crawls.harness
    discovery = harness.pipeline.canonicalize.discovery
    prefix = discovery.settings.redis.prefix
    dying = DyingStore(RedisNodes.wrap(redis_client), prefix=prefix)
    budgets = replace(discovery.budgets, store=dying)
    stage = replace(harness.pipeline.canonicalize, discovery=replace(discovery, budgets=budgets))
    step = harness.step

    def delivered_again(message):
        if message.destination is not Destination.CANONICALIZE:
            return step(message)
        while True:
            try:
                return stage.run(ResultBatch.read(message.message.wire()))
            except Killed:
                assert state(crawls) != DONE

    harness.step = delivered_again
    harness.crawl([HOME], OPTIONS)
    sweep_until_nothing_is_held(crawls)

    counts = crawls.of("docs")
    assert dying.left == 0
    assert counts.stored + counts.traps == 1 + ITEMS + LISTS
    assert {path for path in crawls.paths() if path.startswith("/item")} == {
        f"/item/{n}" for n in range(ITEMS)
    }


def test_links_stay_held_while_a_page_of_their_domain_waits(crawls):
    harness = crawls.harness
    harness.crawl([HOME], OPTIONS)
    held = crawls.of("docs").held
    harness.enqueue([f"http://{HOST}/item/99"], OPTIONS)

    harness.pipeline.maintenance.sweep_held_links()

    assert crawls.of("docs").held == held
    assert max(harness.pipeline.store.discovery.budgets.links.hosts(9).values()) < LOOK_AFTER_S


def test_links_held_by_a_cancelled_crawl_are_deleted(crawls, redis_client):
    crawls.harness.crawl([HOME], OPTIONS)
    assert crawls.of("docs").held > 0
    crawls.state("docs", CrawlPhase.CANCELLED)

    assert crawls.of("docs").held == 0
    crawls.harness.pipeline.maintenance.sweep_held_links()
    assert crawls.harness.sent.messages == []
    assert crawls.harness.pipeline.store.discovery.budgets.links.all(HOST) == []


def test_held_links_are_followed_when_trap_detection_is_turned_off(crawls, crawl_harness):
    crawls.harness.crawl([HOME], OPTIONS)
    other = crawl_harness({"/*": item}, qps=1000)

    other.pipeline.maintenance.sweep_held_links()

    assert crawls.of("docs").held == 0
    assert crawls.of("docs").waiting > 0


def test_run_waits_for_the_held_links_of_its_crawl(crawls):
    harness = crawls.harness
    settings = harness.pipeline.store.discovery.settings
    tracker = RunTracker(settings, harness.urls, crawl=crawls.registry.get("docs").number)
    harness.crawl([HOME], EnqueueOptions(depth=9, crawl="docs", request_id=tracker.request_id))
    tracker.add(HOME, depth=9)

    for _ in range(3):
        tracker.update(lambda *_: [])
    assert tracker.in_flight == 0
    assert not tracker.is_done
    sweep_until_nothing_is_held(crawls)
    for _ in range(3):
        tracker.update(lambda *_: [])
    assert tracker.is_done
    tracker.close()


@pytest.fixture
def held(redis_client):
    return HeldLinks(RedisNodes.wrap(redis_client), prefix="t:")


def counts_of(redis_client, number):
    return {
        name.decode(): int(value)
        for name, value in redis_client.hgetall(f"t:crawl:{number}").items()
        if int(value)
    }


def test_link_is_counted_only_when_added_or_removed(held, redis_client):
    urls = [f"{HOME}{n}" for n in range(300)]
    for _ in range(2):
        held.move(HOST, [MovedLink(Move.HOLD, 7, url, b"{}") for url in urls])
        assert counts_of(redis_client, 7) == {"of held": 300}
    for _ in range(2):
        held.move(HOST, [MovedLink(Move.LEAVE_OUT, 7, url) for url in urls])
        assert counts_of(redis_client, 7) == {"of trap": 300}
    held.move(HOST, [MovedLink(Move.HOLD, 7, urls[0], b"{}")])
    held.move(HOST, [MovedLink(Move.LEAVE_OUT_UNHELD, 7, urls[0])])
    assert counts_of(redis_client, 7) == {"of held": 1, "of trap": 299}
    for _ in range(2):
        held.move(HOST, [MovedLink(Move.FOLLOW, 7, url) for url in urls])
        assert counts_of(redis_client, 7) == {}
    assert redis_client.keys("t:*left*") == redis_client.keys("t:traps*") == []


def test_link_held_by_two_crawls_is_held_for_each(held):
    held.move(HOST, [MovedLink(Move.HOLD, number, HOME, b"{}") for number in (7, 8)])

    assert {(link.crawl, link.url) for link in held.all(HOST)} == {(7, HOME), (8, HOME)}


def test_links_over_the_limit_of_held_links_are_left_out(redis_client):
    held = HeldLinks(RedisNodes.wrap(redis_client), prefix="t:", max_held=10)

    held.move(HOST, [MovedLink(Move.HOLD, 7, f"{HOME}{n}", b"{}") for n in range(15)])

    assert counts_of(redis_client, 7) == {"of held": 10, "of trap": 5}
