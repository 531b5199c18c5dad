"""Changes are dealt to webhooks, and what a receiver did not take comes back."""

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
    """Each page fetched twice, with another price."""
    for at_ms, price in ((NOW_MS, b'"5"'), (NOW_MS + 9, b'"9"')):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": price}
        ports.store.write_pages([page(url, at_ms, seen=seen, fields=fields) for url in urls])
    ports.clock.advance_ms(SETTLE_MS + 1000)


def dealt(ports):
    assert all(each.destination is Destination.WEBHOOK for each in ports.sent.messages)
    return [each.message for each in ports.sent.messages]


def test_each_webhook_is_sent_the_changes_that_it_asked_for(stage, ports):
    every, some = webhook(ports), webhook(ports, host="b.example")
    change(ports, A, B)

    assert stage.send_changes() == 2

    urls = {
        delivery.webhook: {each["url"] for each in delivery.changes} for delivery in dealt(ports)
    }
    assert urls == {every.name: {A, B}, some.name: {B}}


def test_a_change_is_sent_once(stage, ports):
    webhook(ports)
    change(ports, A)
    stage.send_changes()
    ports.clock.advance_ms(2000)

    assert stage.send_changes() == 0


def test_of_two_that_deal_at_the_same_time_one_does(stage, ports):
    webhook(ports)
    change(ports, A)

    assert [stage.send_changes(), stage.send_changes()] == [1, 0]


def test_a_delivery_that_was_not_taken_comes_back_later_and_later_with_its_id(stage, ports):
    webhook(ports)  # the SSRF filter refuses its address
    change(ports, A)
    stage.send_changes()
    (delivery,) = dealt(ports)

    (second,) = stage.deliver(delivery)
    (third,) = stage.deliver(second.message)

    assert (second.delay_ms, third.delay_ms) == (10_000, 20_000)
    assert second.message.id == third.message.id == delivery.id


def test_a_delivery_is_given_up_after_the_last_attempt(stage, ports, caplog):
    registered = webhook(ports)

    assert stage.deliver(Delivery(registered.name, "c", ({"url": A},), attempt=2)) == []
    assert "given up after 3 attempts" in caplog.text


def test_a_delivery_to_a_webhook_that_was_removed_ends(stage):
    assert stage.deliver(Delivery("nobody", "c", ({"url": A},))) == []


def test_changes_of_pages_that_were_taken_down_meanwhile_are_not_delivered(stage, ports):
    registered = webhook(ports)
    ports.store.takedowns.take_down(url=A)

    assert stage.deliver(Delivery(registered.name, "c", ({"url": A},))) == []
    (again,) = stage.deliver(Delivery(registered.name, "c", ({"url": A}, {"url": B})))
    assert [each["url"] for each in again.message.changes] == [B]
