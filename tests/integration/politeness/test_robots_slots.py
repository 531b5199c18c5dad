"""robots.txt of many hosts in one domain: each is fetched once, at its reserved slot."""

from __future__ import annotations

from collections import Counter

import pytest

from aragog.crawl.fetcher.gate import Go, Later
from aragog.crawl.pipeline.messages import RobotsBatch, UrlJob, split_into_batches
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.politeness.slots import SlotRequest
from aragog.crawl.stages.polite_gate import RobotsGate
from aragog.crawl.stages.robots import MAX_SLOT_WAIT_MS
from tests.support.origin import Request, Wire, answer, page, redirect

pytestmark = pytest.mark.redis

RULES = answer(200, b"User-agent: *\nDisallow: /private\n", content_type="text/plain")


def sends(urls: list[str]) -> list[OutgoingMessage]:
    return [
        OutgoingMessage(Destination.FETCH, batch)
        for batch in split_into_batches([UrlJob(url=u) for u in urls], 25)
    ]


def test_domain_with_200_subdomains_gets_all_their_rules(crawl_harness):
    harness = crawl_harness({"/robots.txt": RULES}, qps=25)
    hosts = [f"s{n}.many.test" for n in range(200)]
    # Hosts alternate, so each is in several messages, as producers send them.
    urls = [f"http://{host}/private/{n}" for n in range(10) for host in hosts]

    answers = harness.run(sends(urls), limit_s=60)

    requests = Counter(request.host for request in harness.origin.of(path="/robots.txt"))
    assert set(requests) == set(hosts)
    assert max(requests.values()) == 1
    assert sorted(answer.job.url for answer in answers) == sorted(urls)
    assert {answer.fetch.outcome for answer in answers} == {"Refused"}


def test_robots_txt_is_fetched_at_its_slot_despite_a_constant_backlog(crawl_harness):
    harness = crawl_harness({"/robots.txt": RULES}, qps=25)
    limiter, clock = harness.limiter, harness.clock
    limiter.reserve([SlotRequest("many.test")] * 60)
    (first,) = sends([f"http://s{n}.many.test/private" for n in range(5)])
    (to_robots,) = harness.step(first)

    waiting = harness.step(to_robots)
    for _ in range(3):
        limiter.reserve([SlotRequest("many.test")] * 60)
        clock.sleep_s(max((send.delay_ms or 0 for send in waiting), default=0) / 1000)
        waiting = [
            message
            for send in waiting
            for message in harness.step(send)
            if message.destination == Destination.ROBOTS
        ]

    assert len(harness.origin.of(path="/robots.txt")) == 5
    assert not waiting


def test_slow_robots_txt_does_not_delay_other_slots(crawl_harness):
    def slow(_: Request, wire: Wire) -> bytes:
        wire.pause(1.5)
        return RULES

    harness = crawl_harness({"//s0.many.test/robots.txt": slow, "/robots.txt": RULES}, qps=0.5)
    (to_robots,) = harness.step(*sends([f"http://s{n}.many.test/private" for n in range(2)]))

    (later,) = [
        message for message in harness.step(to_robots) if message.destination == Destination.ROBOTS
    ]

    # It comes back at its slot, not later by the first one's response time.
    assert (
        harness.clock.now_ms() + later.delay_ms < later.message.slots["http://s1.many.test"] + 1000
    )
    assert len(harness.origin.of(path="/robots.txt")) == 1


def test_refresh_of_robots_txt_keeps_the_crawl_delay(crawl_harness):
    # A page was requested, and a tenth of a second later the daily refresh of its robots.txt.
    harness = crawl_harness({"/robots.txt": RULES, "*": page(b"hello")})
    harness.know_rules("site.test", body=b"User-agent: *\nCrawl-delay: 10\n")
    harness.step(*sends(["http://site.test/"]))
    refresh = RobotsBatch(("http://site.test",), claimed=True)

    (later,) = harness.step(OutgoingMessage(Destination.ROBOTS, refresh))

    # It reserves its slot a few seconds in advance, ahead of the URLs in line.
    assert later.delay_ms > 9000 - MAX_SLOT_WAIT_MS
    assert later.message.claimed
    assert [request.path for request in harness.origin.seen] == ["/"]


def test_first_rules_of_a_huge_robots_txt_apply(crawl_harness):
    # The announced length exceeded the limit of a page, and the whole site was closed. RFC 9309
    # section 2.5 requires the first 500 KiB to be read.
    huge = b"User-agent: *\nDisallow: /private\n" + b"# no rule\n" * 1_100_000
    harness = crawl_harness({"/robots.txt": answer(200, huge, content_type="text/plain")})
    (to_robots,) = harness.step(*sends(["http://site.test/"]))

    harness.step(to_robots)

    rules = harness.robots.get("http://site.test").rules
    assert rules.allows("aragog", "http://site.test/")
    assert not rules.allows("aragog", "http://site.test/private")


def test_url_waits_for_a_reserved_robots_txt_and_reserves_nothing(crawl_harness):
    harness = crawl_harness({"/robots.txt": RULES}, qps=25)
    limiter = harness.limiter
    limiter.reserve([SlotRequest("many.test")] * 100)
    for n in range(5):
        (to_robots,) = harness.step(*sends([f"http://s.many.test/private/{n}"]))
        (later,) = harness.step(to_robots)
        assert later.delay_ms > 2000

    assert limiter.describe(["many.test"])["many.test"].backlog_ms < 102 * 40


def test_robots_txt_that_redirects_to_a_fully_booked_domain_opens_nothing(crawl_harness):
    harness = crawl_harness(
        {"//site.test/robots.txt": redirect("http://other.test/r"), "*": page(b"hello")}
    )
    harness.limiter.pause("other.test", 3600)
    first = sends(["http://site.test/private"])

    (to_robots,) = harness.step(first[0])
    harness.step(to_robots)

    cached = harness.robots.get("http://site.test")
    assert cached.rules is None or not cached.rules.allows("aragog", "http://site.test/private")


def test_redirects_of_a_robots_txt_share_one_waiting_time(crawl_harness):
    harness = crawl_harness({}, qps=1)
    url = "http://busy.test/robots.txt"
    slot = harness.limiter.reserve([SlotRequest("site.test")])[0]

    with RobotsGate(harness.limiter, slot, 30.0, find_forbidden=lambda _: {}) as gate:
        admissions = []
        for _ in range(2):
            harness.limiter.reserve([SlotRequest("busy.test")] * 7)  # 7 s, then 15 s from now
            admissions.append(type(gate.admit(url, url)))

    assert admissions == [Go, Later]


def test_robots_txt_redirect_to_a_blocked_host_sends_it_no_request(crawl_harness):
    harness = crawl_harness(
        {"//site.test/robots.txt": redirect("http://www.blocked.test/r"), "*": page(b"hello")},
        blocked_hosts=("blocked.test",),
    )
    (to_robots,) = harness.step(*sends(["http://site.test/"]))

    harness.step(to_robots)

    assert [request.host for request in harness.origin.seen] == ["site.test"]
    assert not harness.robots.get("http://site.test").rules.allows("aragog", "http://site.test/")


def test_truncated_robots_txt_opens_nothing(crawl_harness):
    def cut(_: Request, wire: Wire) -> None:
        body = b"User-agent: *\nDisallow: /private\nDisallow: /sec"
        wire.send(answer(200, b"", headers={"Content-Length": "4711"}, length=False) + body)

    harness = crawl_harness({"/robots.txt": cut, "*": page(b"hello")})
    (to_robots,) = harness.step(*sends(["http://site.test/secret"]))

    harness.step(to_robots)

    cached = harness.robots.get("http://site.test")
    assert cached.unreachable
    assert not cached.rules.allows("aragog", "http://site.test/secret")


def test_due_rules_are_refreshed_on_a_busy_domain(crawl_harness):
    harness = crawl_harness({"/robots.txt": RULES}, qps=50, robots_fresh_s=0.001)
    hosts = [f"s{n}.many.test" for n in range(120)]
    harness.know_rules(*hosts)

    harness.run(sends([f"http://{host}/private" for host in hosts]), limit_s=60)

    requests = Counter(request.host for request in harness.origin.of(path="/robots.txt"))
    assert set(requests) == set(hosts)


def test_tick_refreshes_all_due_rules_once(crawl_harness):
    harness = crawl_harness({}, robots_fresh_s=60)
    origins = [f"http://d{n}.test" for n in range(1300)]
    harness.know_rules(*(of.removeprefix("http://") for of in origins))
    harness.robots.get_many(origins)

    sent = [send for sends in harness.pipeline.robots.refresh_expiring() for send in sends]
    again = [send for sends in harness.pipeline.robots.refresh_expiring() for send in sends]

    assert sorted(of for send in sent for of in send.message.origins) == sorted(origins)
    assert not again
