"""What the processes of a crawl share in Redis."""

import pytest

from aragog.addons.scrapy.crawl_state import CrawlRunning, CrawlState, OtherSpider

pytestmark = pytest.mark.redis


@pytest.fixture
def member(redis_client):
    def make(name, crawl="quotes"):
        return CrawlState(redis_client, prefix="test:", crawl=crawl, member=name)

    return make


def test_processes_of_a_crawl_remember_together(member):
    one, other, another_crawl = member("a"), member("b"), member("c", "books")

    assert one.remember([b"x"])
    assert not other.remember([b"x"])
    assert other.has_seen(b"x")
    assert not other.has_seen(b"y")
    assert not another_crawl.has_seen(b"x")


def test_a_crawl_begins_anew_when_its_last_process_has_left_it(member):
    one, other = member("a"), member("b")
    assert (one.join(begins=True), other.join(begins=True)) == (1, 2)
    one.remember([b"x"])

    assert one.leave(over=True) == 1
    assert other.has_seen(b"x")
    assert other.leave(over=True) == 0
    assert not one.has_seen(b"x")


def test_a_crawl_with_requests_left_goes_on(member):
    one = member("a")
    one.join(begins=True)
    one.remember([b"x"])
    one.leave(over=False)

    member("b").join(begins=False)

    assert one.has_seen(b"x")


def test_what_killed_processes_left_is_forgotten_by_the_first_of_a_new_crawl(member, redis_client):
    killed = member("a")
    killed.join(begins=True)
    killed.remember([b"x"])
    redis_client.zadd("test:scrapy:quotes:members", {"a": 1})  # a minute is over

    assert member("b").join(begins=True) == 1

    assert not killed.has_seen(b"x")


def test_an_abandoned_crawl_expires(member, redis_client):
    one = member("a")
    one.remember([b"x"])
    one.join()

    assert 0 < redis_client.pttl("test:scrapy:quotes:seen") <= 7 * 86_400_000


def test_a_crawl_belongs_to_one_spider_while_it_runs_or_its_requests_wait(member):
    one, other = member("a"), member("b")
    one.join("1 lamps")
    assert (member("c").join("1 lamps"), one.join()) == (2, 2)
    one.leave(over=False)
    with pytest.raises(OtherSpider, match="1 lamps"):
        other.join("2 chairs")
    member("c").leave(over=False)
    with pytest.raises(OtherSpider, match="1 lamps"):
        other.join("2 chairs", waits=True)

    assert other.join("2 chairs") == 1


def test_a_crawl_that_is_over_belongs_to_no_spider(member):
    member("a").join("1 lamps")
    member("a").leave(over=True)

    assert member("b").join("2 chairs", waits=True) == 1


def test_a_process_joins_alone_or_not_at_all(member):
    one = member("a")
    one.join("1 lamps", alone=True)
    one.remember([b"x", b"y"])

    with pytest.raises(CrawlRunning) as refused:
        member("b").join("1 lamps", alone=True)

    assert (refused.value.processes, one.join(), one.remembered()) == (1, 1, 2)
    one.forget()
    assert one.remembered() == 0


def test_whether_a_process_may_join_is_found_out_without_a_change(member):
    one, other = member("a"), member("b")

    assert other.join("2 chairs", check_only=True) == 1
    assert one.join("1 lamps") == 1
    with pytest.raises(OtherSpider):
        other.join("2 chairs", check_only=True)
