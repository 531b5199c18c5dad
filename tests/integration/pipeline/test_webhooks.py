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
def stand(pipeline_stand):
    """A pipeline whose webhooks may reach loopback, with a webhook for everything."""
    allow(pipeline_stand, "127.0.0.1")
    return pipeline_stand


def allow(stand, *hosts):
    settings = Settings(webhooks=WebhookSettings(allowed_hosts=hosts, max_attempts=3))
    stand.webhooks = WebhookStage(
        stand.store, stand.sent, SsrfFilter(settings.fetch), stand.clock, settings
    )


def webhook(stand, url, **which):
    which = {"owner": None, "host": None, **which}
    cursor = stand.store.feed.end()
    return stand.store.feed.webhooks.add(url, "secret", cursor=cursor, now_ms=NOW_MS, **which)


def change(stand, *urls, at=9):
    """Fetch each page twice, with a different price."""
    for at_ms, price in ((NOW_MS, b'"5"'), (NOW_MS + at, b'"%d"' % at)):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": price}
        stand.store.write_pages([page(u, at_ms, seen=seen, fields=fields) for u in urls])
    stand.clock.advance_ms(SETTLE_MS + 1000)


def run(stand):
    """Send the changes and deliver all messages; returned ones are delivered at their time."""
    stand.webhooks.send_changes()
    while messages := [m for m in stand.sent.messages if m.destination == Destination.WEBHOOK]:
        stand.sent.messages.clear()
        for message in messages:
            stand.clock.advance_ms(message.delay_ms or 0)
            wire = json.loads(json.dumps(message.message.wire()))
            stand.sent.messages += stand.webhooks.deliver(Delivery.read(wire))


def test_change_is_posted_and_signed(stand, receiver):
    webhook(stand, receiver.url)
    change(stand, A)
    run(stand)

    ((headers, body),) = receiver.got
    reported = orjson.loads(body)
    assert reported["changes"][0]["url"] == A
    assert reported["changes"][0]["fields"] == {"product.price": {"before": "5", "now": "9"}}
    assert reported["id"] == headers["Aragog-Delivery"]
    now_s = stand.clock.now_ms() / 1000
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


def test_webhook_for_a_purpose_gets_no_fields_of_pages_that_refuse_it(stand, receiver):
    webhook(stand, receiver.url, purpose="ai-train")
    every = webhook(stand, receiver.url)
    change(stand, A, B)
    read = {"outcome": "Fetched", "robots_preferences": str(TDM_FILE_READ)}
    stand.store.write_pages([page(A, NOW_MS + 10, facts=read)])
    stand.store.write_pages([page(B, NOW_MS + 10, facts={"outcome": "Fetched"})])
    run(stand)

    fields = {}
    for _, body in receiver.got:
        for each in orjson.loads(body)["changes"]:
            fields.setdefault(each["url"], []).append(set(each["fields"]))
    price = {"product.price"}
    assert len(receiver.got) == 2
    assert fields[A] == [price, price]
    assert sorted(fields[B]) == [set(), price]
    assert every.name == webhook_name(receiver.url, None, None)


def test_number_with_many_digits_is_posted_unchanged(stand, receiver):
    webhook(stand, receiver.url)
    for at_ms, digits in ((NOW_MS + 1_000_000, b"1"), (NOW_MS + 1_000_001, b"9" * 23)):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": b"1", "product.gtin": digits}
        stand.store.write_pages([page(B, at_ms, seen=seen, fields=fields)])
    stand.clock.advance_ms(SETTLE_MS + 2_000_000)
    run(stand)

    assert any(b"9" * 23 in body for _, body in receiver.got)


def test_two_beats_post_a_change_once(stand, receiver):
    webhook(stand, receiver.url)
    change(stand, A)
    stand.webhooks.send_changes()
    run(stand)
    stand.clock.advance_ms(5000)
    run(stand)

    assert len(receiver.got) == 1


def test_failed_delivery_is_retried_with_growing_delays(stand, receiver):
    receiver.statuses = [500, 302]
    webhook(stand, receiver.url)
    change(stand, A)
    before_ms = stand.clock.now_ms()
    run(stand)

    assert len({headers["Aragog-Delivery"] for headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 3
    assert stand.clock.now_ms() - before_ms == 30_000


def test_delivery_is_given_up_after_its_attempts(stand, receiver):
    receiver.statuses = [500] * 9
    webhook(stand, receiver.url)
    change(stand, A)
    run(stand)

    assert len(receiver.got) == 3


def test_webhook_for_an_owner_or_host_gets_no_other_changes(stand, receiver):
    stand.store.schedule.watch(A, "shop")
    webhook(stand, receiver.url, owner="shop")
    webhook(stand, receiver.url + "&host", host="b.example")
    change(stand, A, B)
    run(stand)

    reported = sorted(c["url"] for _, body in receiver.got for c in orjson.loads(body)["changes"])
    assert set(reported) == {A, B}
    for _, body in receiver.got:
        assert len({c["url"] for c in orjson.loads(body)["changes"]}) == 1


def test_changes_before_the_webhook_was_added_are_not_sent(stand, receiver):
    change(stand, A)
    webhook(stand, receiver.url)
    run(stand)

    assert receiver.got == []


def test_loopback_is_not_reached_unless_allowed(stand, receiver):
    allow(stand)
    webhook(stand, receiver.url)
    change(stand, A)
    run(stand)

    assert receiver.got == []


def test_removed_webhook_gets_nothing_more(stand, receiver):
    registered = webhook(stand, receiver.url)
    change(stand, A)
    stand.webhooks.send_changes()
    assert stand.store.feed.webhooks.remove(registered.name, NOW_MS + 99_999)
    run(stand)

    assert receiver.got == []
    assert not stand.store.feed.webhooks.remove(registered.name, NOW_MS + 99_999)
    assert list(stand.store.feed.webhooks.all()) == []


def test_adding_a_webhook_twice_keeps_its_position(stand, receiver):
    webhook(stand, receiver.url)
    change(stand, A)
    webhook(stand, receiver.url)
    run(stand)

    assert len(receiver.got) == 1


def test_unreachable_webhook_does_not_reveal_its_secret(stand, receiver):
    dead = f"http://127.0.0.1:{receiver.port}1/" if receiver.port < 6553 else "http://127.0.0.1:1/"
    registered = webhook(stand, dead)
    change(stand, A)
    run(stand)

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
    from aragog.tasks.routes import QUEUE_OF
    from aragog.workers.roles import ROLES

    assert [task for task, queue in QUEUE_OF.items() if queue == "webhooks"] == [
        Destination.WEBHOOK.task
    ]
    assert [name for name, role in ROLES.items() if "webhooks" in role.queues] == ["webhooks"]


def test_waiting_delivery_omits_pages_taken_down_meanwhile(stand, receiver):
    other = "http://other-shop.test/"
    webhook(stand, receiver.url)
    change(stand, A, other)
    stand.webhooks.send_changes()
    waiting = [m.message for m in stand.sent.messages if m.destination == Destination.WEBHOOK]
    stand.store.takedowns.take_down(url=A)

    for delivery in waiting:
        stand.webhooks.deliver(delivery)

    reported = [each for _, body in receiver.got for each in orjson.loads(body)["changes"]]
    assert {each["url"] for each in reported} == {other}
