"""
Webhooks: signed, delivered at least once, retried, and sent to private addresses only if allowed.
"""

import contextlib
import json
import re
import socket
import threading
from contextlib import contextmanager

import orjson
import pytest

from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.webhook_signatures import Verdict, Verifier
from aragog.crawl.stages.webhook_post import post
from aragog.crawl.stages.webhooks import Delivery, WebhookStage
from aragog.pages.preferences import TDM_FILE_READ
from aragog.settings import FetchSettings, Settings, WebhookSettings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.webhook_registry import webhook_name
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis
A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def store_harness(pipeline_harness):
    """A pipeline whose webhooks may reach loopback, with a webhook for everything."""
    allow(pipeline_harness, "127.0.0.1")
    return pipeline_harness


def allow(store_harness, *hosts):
    settings = Settings(webhooks=WebhookSettings(allowed_hosts=hosts, max_attempts=3))
    store_harness.webhooks = WebhookStage(
        store_harness.store,
        store_harness.sent,
        SsrfFilter(settings.fetch),
        store_harness.clock,
        settings,
    )


def webhook(store_harness, url, **which):
    which = {"owner": None, "host": None, **which}
    cursor = store_harness.store.feed.end()
    return store_harness.store.feed.webhooks.add(
        url, "secret", cursor=cursor, now_ms=NOW_MS, **which
    )


def change(store_harness, *urls, at=9):
    """Fetch each page twice, with a different price."""
    for at_ms, price in ((NOW_MS, b'"5"'), (NOW_MS + at, b'"%d"' % at)):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": price}
        store_harness.store.write_pages([page(u, at_ms, seen=seen, fields=fields) for u in urls])
    store_harness.clock.advance_ms(SETTLE_MS + 1000)


def run(store_harness):
    """Send the changes and deliver all messages; returned ones are delivered at their time."""
    store_harness.webhooks.send_changes()
    while messages := [
        m for m in store_harness.sent.messages if m.destination == Destination.WEBHOOK
    ]:
        store_harness.sent.messages.clear()
        for message in messages:
            store_harness.clock.advance_ms(message.delay_ms or 0)
            wire = json.loads(json.dumps(message.message.wire()))
            store_harness.sent.messages += store_harness.webhooks.deliver(Delivery.read(wire))


def test_change_is_posted_and_signed(store_harness, receiver):
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    run(store_harness)

    ((headers, body),) = receiver.got
    reported = orjson.loads(body)
    assert reported["changes"][0]["url"] == A
    assert reported["changes"][0]["fields"] == {"product.price": {"before": "5", "now": "9"}}
    assert reported["id"] == headers["Aragog-Delivery"]
    now_s = store_harness.clock.now_ms() / 1000
    header = headers["Aragog-Signature"]
    verdicts = [
        Verifier(secret).check(sent, text, now_s=at_s)
        for secret, sent, text, at_s in (
            ("secret", header, body, now_s),
            ("other", header, body, now_s),
            ("secret", header, body + b" ", now_s),
            ("secret", header, body, now_s + 301),
            ("secret", "nonsense", body, now_s),
        )
    ]
    assert verdicts == [Verdict.NEW, *4 * [Verdict.REFUSED]]


def test_webhook_for_a_purpose_gets_no_fields_of_pages_that_refuse_it(store_harness, receiver):
    webhook(store_harness, receiver.url, purpose="ai-train")
    every = webhook(store_harness, receiver.url)
    change(store_harness, A, B)
    read = {"outcome": "Fetched", "robots_preferences": str(TDM_FILE_READ)}
    store_harness.store.write_pages([page(A, NOW_MS + 10, facts=read)])
    store_harness.store.write_pages([page(B, NOW_MS + 10, facts={"outcome": "Fetched"})])
    run(store_harness)

    fields = {}
    for _, body in receiver.got:
        for each in orjson.loads(body)["changes"]:
            fields.setdefault(each["url"], []).append(set(each["fields"]))
    price = {"product.price"}
    assert len(receiver.got) == 2
    assert fields[A] == [price, price]
    assert sorted(fields[B]) == [set(), price]
    assert every.name == webhook_name(receiver.url, None, None)


def test_number_with_many_digits_is_posted_unchanged(store_harness, receiver):
    webhook(store_harness, receiver.url)
    for at_ms, digits in ((NOW_MS + 1_000_000, b"1"), (NOW_MS + 1_000_001, b"9" * 23)):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": b"1", "product.gtin": digits}
        store_harness.store.write_pages([page(B, at_ms, seen=seen, fields=fields)])
    store_harness.clock.advance_ms(SETTLE_MS + 2_000_000)
    run(store_harness)

    assert any(b"9" * 23 in body for _, body in receiver.got)


def test_two_beats_post_a_change_once(store_harness, receiver):
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    store_harness.webhooks.send_changes()
    run(store_harness)
    store_harness.clock.advance_ms(5000)
    run(store_harness)

    assert len(receiver.got) == 1


def test_failed_delivery_is_retried_with_growing_delays(store_harness, receiver):
    receiver.statuses = [500, 302]
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    before_ms = store_harness.clock.now_ms()
    run(store_harness)

    assert len({headers["Aragog-Delivery"] for headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 3
    assert store_harness.clock.now_ms() - before_ms == 30_000


def test_delivery_is_given_up_after_its_attempts(store_harness, receiver):
    receiver.statuses = [500] * 9
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    run(store_harness)

    assert len(receiver.got) == 3


def test_webhook_for_an_owner_or_host_gets_no_other_changes(store_harness, receiver):
    store_harness.store.schedule.watch(A, "shop")
    webhook(store_harness, receiver.url, owner="shop")
    webhook(store_harness, receiver.url + "&host", host="b.example")
    change(store_harness, A, B)
    run(store_harness)

    reported = sorted(c["url"] for _, body in receiver.got for c in orjson.loads(body)["changes"])
    assert set(reported) == {A, B}
    for _, body in receiver.got:
        assert len({c["url"] for c in orjson.loads(body)["changes"]}) == 1


def test_changes_before_the_webhook_was_added_are_not_sent(store_harness, receiver):
    change(store_harness, A)
    webhook(store_harness, receiver.url)
    run(store_harness)

    assert receiver.got == []


def test_loopback_is_not_reached_unless_allowed(store_harness, receiver):
    allow(store_harness)
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    run(store_harness)

    assert receiver.got == []


def test_removed_webhook_gets_nothing_more(store_harness, receiver):
    registered = webhook(store_harness, receiver.url)
    change(store_harness, A)
    store_harness.webhooks.send_changes()
    assert store_harness.store.feed.webhooks.remove(registered.name, NOW_MS + 99_999)
    run(store_harness)

    assert receiver.got == []
    assert not store_harness.store.feed.webhooks.remove(registered.name, NOW_MS + 99_999)
    assert list(store_harness.store.feed.webhooks.all()) == []


def test_adding_a_webhook_twice_keeps_its_position(store_harness, receiver):
    webhook(store_harness, receiver.url)
    change(store_harness, A)
    webhook(store_harness, receiver.url)
    run(store_harness)

    assert len(receiver.got) == 1


def test_unreachable_webhook_does_not_reveal_its_secret(store_harness, receiver):
    dead = f"http://127.0.0.1:{receiver.port}1/" if receiver.port < 6553 else "http://127.0.0.1:1/"
    registered = webhook(store_harness, dead)
    change(store_harness, A)
    run(store_harness)

    assert "secret" not in repr(registered)


@contextmanager
def rude(*pieces, pause_s=0.0, forever=b""):
    """
    A receiver that responds with these pieces, then with `forever` until the connection is closed.
    """
    stop = threading.Event()

    def play(sock):
        with contextlib.suppress(OSError), sock:
            sock.recv(65_536)
            for piece in pieces:
                sock.sendall(piece)
            while not stop.wait(pause_s):
                sock.sendall(forever)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = server.accept()
                    threading.Thread(target=play, args=(sock,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            stop.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("pieces", "forever", "reason"),
    [
        ([b"HTTP/1.1 200 OK\r\n"], b"X: y\r\n", "Timeout|InvalidHeader"),
        ([], b"HTTP/1.1 100 Continue\r\n\r\n", "interim|Timeout"),
        ([b"HTTP/1.1 200 OK\r\nX: "], b"a" * 65_536, "InvalidHeader"),
        ([], b"", "Timeout"),
    ],
    ids=["dripping headers", "endless 100 Continue", "endless header", "silence"],
)
def test_endless_response_of_a_receiver_ends_at_the_deadline(pieces, forever, reason):
    settings = WebhookSettings(allowed_hosts=("127.0.0.1",), timeout_s=0.5)
    with rude(*pieces, pause_s=0.01, forever=forever) as url:
        assert re.search(reason, post(url, b"{}", {}, settings, SsrfFilter(FetchSettings())))


def test_endless_response_body_is_not_read(receiver):
    settings = WebhookSettings(allowed_hosts=("127.0.0.1",), timeout_s=30)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with rude(head, forever=b"1\r\na\r\n") as url:
        assert post(url, b"{}", {}, settings, SsrfFilter(FetchSettings())) is None


def test_deliveries_have_their_own_queue_and_workers():
    from aragog.tasks.routes import QUEUES_BY_TASK
    from aragog.workers.roles import ROLES

    assert [task for task, queue in QUEUES_BY_TASK.items() if queue == "webhooks"] == [
        Destination.WEBHOOK.task
    ]
    assert [name for name, role in ROLES.items() if "webhooks" in role.queues] == ["webhooks"]


def test_waiting_delivery_omits_pages_taken_down_meanwhile(store_harness, receiver):
    other = "http://other-shop.test/"
    webhook(store_harness, receiver.url)
    change(store_harness, A, other)
    store_harness.webhooks.send_changes()
    waiting = [
        m.message for m in store_harness.sent.messages if m.destination == Destination.WEBHOOK
    ]
    store_harness.store.takedowns.take_down(url=A)

    for delivery in waiting:
        store_harness.webhooks.deliver(delivery)

    reported = [each for _, body in receiver.got for each in orjson.loads(body)["changes"]]
    assert {each["url"] for each in reported} == {other}
