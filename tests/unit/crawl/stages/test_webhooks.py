"""Changes are distributed to webhooks, and failed deliveries are retried."""

from dataclasses import replace

import pytest

from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.webhooks import Delivery, WebhookStage
from aragog.settings import WebhookSettings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

A, B = "http://a.example/", "http://b.example/"
INSIDE = "http://127.0.0.1:1/hook"


@pytest.fixture
def stage(ports):
    settings = replace(ports.settings, webhooks=WebhookSettings(first_retry_s=10.0, max_attempts=3))
    ssrf_filter = SsrfFilter(settings.fetch)
    return WebhookStage(ports.store, ports.sent, ssrf_filter, ports.clock, settings)


def webhook(ports, url=INSIDE, host=None):
    webhooks, cursor = ports.store.feed.webhooks, ports.store.feed.end()
    return webhooks.add(url, "secret", owner=None, host=host, cursor=cursor, now_ms=NOW_MS)


def change(ports, *urls):
    """Fetches each page twice, with different prices."""
    for at_ms, price in ((NOW_MS, b'"5"'), (NOW_MS + 9, b'"9"')):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": price}
        ports.store.write_pages([page(url, at_ms, seen=seen, fields=fields) for url in urls])
    ports.clock.advance_ms(SETTLE_MS + 1000)


def deliveries(ports):
    assert all(each.destination is Destination.WEBHOOK for each in ports.sent.messages)
    return [each.message for each in ports.sent.messages]


def test_each_webhook_gets_the_changes_of_its_filter(stage, ports):
    everything, filtered = webhook(ports), webhook(ports, host="b.example")
    change(ports, A, B)

    assert stage.send_changes() == 2

    urls = {
        delivery.webhook: {each["url"] for each in delivery.changes}
        for delivery in deliveries(ports)
    }
    assert urls == {everything.name: {A, B}, filtered.name: {B}}


def test_change_is_sent_once(stage, ports):
    webhook(ports)
    change(ports, A)
    stage.send_changes()
    ports.clock.advance_ms(2000)

    assert stage.send_changes() == 0


def test_only_one_of_two_concurrent_runs_sends_changes(stage, ports):
    webhook(ports)
    change(ports, A)

    assert [stage.send_changes(), stage.send_changes()] == [1, 0]


def test_failed_delivery_is_retried_with_growing_delays_and_its_id(stage, ports):
    webhook(ports)  # the SSRF filter refuses its address
    change(ports, A)
    stage.send_changes()
    (delivery,) = deliveries(ports)

    (second,) = stage.deliver(delivery)
    (third,) = stage.deliver(second.message)

    assert (second.delay_ms, third.delay_ms) == (10_000, 20_000)
    assert second.message.id == third.message.id == delivery.id


def test_delivery_is_dropped_after_the_last_attempt(stage, ports, caplog):
    registered = webhook(ports)

    assert stage.deliver(Delivery(registered.name, "c", ({"url": A},), attempt=2)) == []
    assert "given up after 3 attempts" in caplog.text


def test_delivery_to_a_removed_webhook_ends(stage):
    assert stage.deliver(Delivery("nobody", "c", ({"url": A},))) == []


def test_changes_of_pages_taken_down_meanwhile_are_not_delivered(stage, ports):
    registered = webhook(ports)
    ports.store.takedowns.take_down(url=A)

    assert stage.deliver(Delivery(registered.name, "c", ({"url": A},))) == []
    (again,) = stage.deliver(Delivery(registered.name, "c", ({"url": A}, {"url": B})))
    assert [each["url"] for each in again.message.changes] == [B]
