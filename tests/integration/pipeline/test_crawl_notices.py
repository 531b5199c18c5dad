"""Notices of a crawl to its address: when it is done, when it ends, and when its URLs fail."""

from collections import Counter

import orjson
import pytest

from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.webhook_signatures import Verdict, Verifier
from aragog.crawl.stages.crawl_notices import ErrorRate, error_rate
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.webhooks import Delivery
from aragog.errors import BadInput
from tests.support.crawl_harness import HarnessCrawls
from tests.support.documented import blocks
from tests.support.origin import answer

pytestmark = pytest.mark.redis
SECRET = "a secret of this crawl"


def site(request, _wire):
    if request.path.startswith("/gone"):
        return answer(404)
    return answer(200, b"<title>t</title>" + request.path.encode())


@pytest.fixture
def crawls(crawl_harness):
    harness = crawl_harness({"/*": site}, qps=1000)
    harness.know_rules("a.test")
    return HarnessCrawls(harness)


def tell(crawls):
    """Send the due notices and post them; returns the posted messages."""
    crawls.harness.pipeline.maintenance.notices.run()
    messages = [m for m in crawls.harness.taken() if m.destination is Destination.WEBHOOK]
    for message in messages:
        delivery = Delivery.read(message.message.wire())
        assert crawls.harness.pipeline.webhooks.deliver(delivery) == []
    return messages


def bodies(receiver):
    return [orjson.loads(body) for _, body in receiver.got]


def test_address_of_a_crawl_is_notified_once_when_it_is_done(crawls, receiver):
    crawls.start("docs", notify=receiver.url, notify_secret=SECRET)
    urls = ["http://a.test/1", "http://a.test/gone"]
    crawls.harness.enqueue(urls, EnqueueOptions(crawl="docs"))
    waiting = list(crawls.harness.sent.messages)
    tell(crawls)
    assert receiver.got == []
    crawls.harness.sent.messages += waiting
    crawls.harness.crawl([], EnqueueOptions())

    tell(crawls)
    tell(crawls)

    [(headers, body)] = receiver.got
    notice = orjson.loads(body)["crawl"]
    assert (notice["event"], notice["crawl"], notice["state"]) == ("end", "docs", "done")
    assert notice["outcomes"] == {"stored": 1, "gone: 404": 1}
    assert notice["enqueued"] == 2
    signed = headers["Aragog-Signature"]
    now_s = crawls.harness.clock.now_ms() / 1000
    assert Verifier(SECRET).check(signed, body, now_s=now_s) is Verdict.NEW


def test_further_urls_and_cancellation_are_notified_again(crawls, receiver):
    crawls.start("docs", notify=receiver.url, notify_secret=SECRET)
    for n in range(2):
        crawls.harness.crawl([f"http://a.test/{n}"], EnqueueOptions(crawl="docs"))
        tell(crawls)
    crawls.state("docs", CrawlPhase.CANCELLED)
    tell(crawls)
    tell(crawls)

    states = [body["crawl"]["state"] for body in bodies(receiver)]
    assert states == ["done", "done", "cancelled"]
    assert len({body["id"] for body in bodies(receiver)}) == 3


def test_notice_sent_before_a_kill_is_repeated_with_the_same_id(crawls, receiver):
    crawls.start("docs", notify=receiver.url, notify_secret=SECRET)
    crawls.harness.crawl(["http://a.test/1"], EnqueueOptions(crawl="docs"))
    tell(crawls)
    crawls.registry.update_fields(crawls.registry.get("docs"), notified={})

    tell(crawls)

    assert len(receiver.got) == 2
    assert len({body["id"] for body in bodies(receiver)}) == 1


def test_too_many_failures_are_notified_once(crawls, receiver):
    crawls.start("docs", notify=receiver.url, notify_secret=SECRET, notify_error_rate=0.5)
    good = [f"http://a.test/{n}" for n in range(15)]
    bad = [f"http://a.test/gone/{n}" for n in range(15)]
    crawls.harness.crawl(good, EnqueueOptions(crawl="docs"))
    tell(crawls)
    crawls.harness.crawl(bad, EnqueueOptions(crawl="docs"))
    tell(crawls)
    tell(crawls)

    notices = [body["crawl"] for body in bodies(receiver)]
    assert [each["event"] for each in notices] == ["end", "end", "errors"]
    assert notices[-1]["last_day"] == {"urls": 30, "failed": 15}


def test_error_rate_covers_the_last_day_and_needs_a_minimum_of_urls():
    hours = {
        1: Counter({"gone: 404": 100}),
        30: Counter({"stored": 10, "repeated": 50, "refused: robots": 50}),
        31: Counter({"unreachable: dns": 10, "cancelled": 70}),
    }

    assert error_rate(hours, 31) == ErrorRate(failed=10, urls=20)
    assert error_rate(hours, 31).share == 0.5
    assert ErrorRate(failed=19, urls=19).share == 0.0


def test_invalid_address_and_missing_secret_are_refused(crawls):
    with pytest.raises(BadInput, match="secret"):
        crawls.start("docs", notify="https://hook.example/")
    with pytest.raises(BadInput, match="notify"):
        crawls.start("docs", notify="no address", notify_secret=SECRET)


def test_no_notice_is_sent_after_the_address_was_removed(crawls, receiver):
    crawls.start("docs", notify=receiver.url, notify_secret=SECRET)
    crawls.harness.crawl(["http://a.test/1"], EnqueueOptions(crawl="docs"))
    crawls.harness.pipeline.maintenance.notices.run()
    (message,) = crawls.harness.taken()
    crawls.start("docs", notify="")

    delivery = Delivery.read(message.message.wire())
    crawls.harness.clock.sleep_s(1.1)

    assert crawls.harness.pipeline.webhooks.deliver(delivery) == []
    assert receiver.got == []


def test_notice_has_the_documented_members(crawls, receiver):
    (block,) = blocks("docs/crawls.md", "json", '{"id"')
    shown = orjson.loads(block)
    crawls.start("news", notify=receiver.url, notify_secret=SECRET)
    crawls.harness.crawl(["http://a.test/1"], EnqueueOptions(crawl="news"))

    tell(crawls)

    [body] = bodies(receiver)
    assert body.keys() == shown.keys()
    assert body["crawl"].keys() == shown["crawl"].keys()
    assert body["crawl"]["last_day"].keys() == shown["crawl"]["last_day"].keys()
