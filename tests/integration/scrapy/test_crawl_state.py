"""The state that processes of a crawl share in Redis."""

import pytest

from aragog.addons.scrapy.crawl_state import CrawlRunning, CrawlState, OtherSpider

pytestmark = pytest.mark.redis


@pytest.fixture
def member(redis_client):
    def make(name, crawl="quotes"):
        return CrawlState(redis_client, prefix="test:", crawl=crawl, member=name)

    return make


def test_processes_of_a_crawl_share_their_memory(member):
    one, other, another_crawl = member("a"), member("b"), member("c", "books")

    assert one.remember([b"x"])
    assert not other.remember([b"x"])
    assert other.has_seen(b"x")
    assert not other.has_seen(b"y")
    assert not another_crawl.has_seen(b"x")


def test_crawl_restarts_when_its_last_process_has_left(member):
    one, other = member("a"), member("b")
    assert (one.join(is_new_crawl=True), other.join(is_new_crawl=True)) == (1, 2)
    one.remember([b"x"])

    assert one.leave(is_over=True) == 1
    assert other.has_seen(b"x")
    assert other.leave(is_over=True) == 0
    assert not one.has_seen(b"x")


def test_crawl_with_remaining_requests_continues(member):
    one = member("a")
    one.join(is_new_crawl=True)
    one.remember([b"x"])
    one.leave(is_over=False)

    member("b").join(is_new_crawl=False)

    assert one.has_seen(b"x")


def test_first_process_of_a_new_crawl_discards_the_state_of_killed_ones(member, redis_client):
    killed = member("a")
    killed.join(is_new_crawl=True)
    killed.remember([b"x"])
    redis_client.zadd("test:scrapy:quotes:members", {"a": 1})  # a minute has passed

    assert member("b").join(is_new_crawl=True) == 1

    assert not killed.has_seen(b"x")


def test_abandoned_crawl_expires(member, redis_client):
    one = member("a")
    one.remember([b"x"])
    one.join()

    assert 0 < redis_client.pttl("test:scrapy:quotes:seen") <= 7 * 86_400_000


def test_crawl_belongs_to_one_spider_while_running_or_waiting(member):
    one, other = member("a"), member("b")
    one.join("1 lamps")
    assert (member("c").join("1 lamps"), one.join()) == (2, 2)
    one.leave(is_over=False)
    with pytest.raises(OtherSpider, match="1 lamps"):
        other.join("2 chairs")
    member("c").leave(is_over=False)
    with pytest.raises(OtherSpider, match="1 lamps"):
        other.join("2 chairs", has_requests=True)

    assert other.join("2 chairs") == 1


def test_finished_crawl_belongs_to_no_spider(member):
    member("a").join("1 lamps")
    member("a").leave(is_over=True)

    assert member("b").join("2 chairs", has_requests=True) == 1


def test_process_joins_alone_or_not_at_all(member):
    one = member("a")
    one.join("1 lamps", must_be_alone=True)
    one.remember([b"x", b"y"])

    with pytest.raises(CrawlRunning) as refused:
        member("b").join("1 lamps", must_be_alone=True)

    assert (refused.value.processes, one.join(), one.seen_count()) == (1, 1, 2)
    one.forget()
    assert one.seen_count() == 0


def test_checking_whether_a_process_may_join_changes_nothing(member):
    one, other = member("a"), member("b")

    assert other.join("2 chairs", check_only=True) == 1
    assert one.join("1 lamps") == 1
    with pytest.raises(OtherSpider):
        other.join("2 chairs", check_only=True)
