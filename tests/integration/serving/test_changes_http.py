"""The change feed over HTTP: immediate reads, long polls, and event streams."""

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager

import orjson
import pytest

from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.support.api_server import running
from tests.support.stores import page, store_harness
from tests.support.waiting import WITHIN_S
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"


def change(harness, url, *prices):
    """Fetch a page with one price after another."""
    for price in prices:
        harness.clock.advance_ms(10)
        at_ms = harness.clock.now_ms()
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": b"%d" % price}
        harness.store.write_pages([page(url, at_ms, seen=seen, fields=fields)])
    harness.clock.advance_ms(SETTLE_MS + 1000)


@asynccontextmanager
async def serving(harness, **settings):
    """The API on loopback; yields the port."""
    with running(harness.store, **settings) as api:
        yield api.port


async def ask(port, path, *headers):
    """A connection on which a request was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    return reader, writer


async def get(port, path):
    """Status and JSON of a response."""
    reader, writer = await ask(port, path, "Connection: close")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), orjson.loads(body)


async def event(reader):
    """The next event of a stream in chunked coding."""
    size = int(await reader.readuntil(b"\r\n"), 16)
    return (await reader.readexactly(size + 2)).removesuffix(b"\r\n")


async def admitted(port, path):
    """The response to a request that is repeated until the server accepts it."""
    while (response := await get(port, path))[0] == 503:
        pass
    return response


async def until_refused(port):
    """Send requests until the server refuses one; returns its response."""
    async with asyncio.timeout(WITHIN_S):
        while (response := await get(port, "/v1/changes"))[0] == 200:
            pass
    return response


@pytest.fixture
def harness():
    return store_harness(MemoryTables())


def test_changes_are_returned_with_a_cursor_to_continue(harness):
    change(harness, A, 1, 2)

    async def play():
        async with serving(harness) as port:
            first = await get(port, "/v1/changes")
            change(harness, B, 1, 2)
            return first, await get(port, f"/v1/changes?cursor={first[1]['cursor']}")

    (status, reported), (_, more) = asyncio.run(play())
    assert status == 200
    assert [c["url"] for c in reported["changes"]] == [A]
    assert reported["changes"][0]["fields"] == {"product.price": {"before": 1, "now": 2}}
    assert [c["url"] for c in more["changes"]] == [B]


def test_different_values_are_shown_differently_in_the_feed(harness):
    digits = b"12345678901234567890123"
    for fields in ({"team.a": b"7x", "page.n": b"1"}, {"team.a": b'"7x"', "page.n": digits}):
        harness.clock.advance_ms(10)
        at_ms = harness.clock.now_ms()
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="page")
        harness.store.write_pages([page(A, at_ms, seen=seen, fields=fields)])
    harness.clock.advance_ms(SETTLE_MS + 1000)

    with running(harness.store) as api:
        body = api.get("/v1/changes").body

    reported = json.loads(body)["changes"][0]["fields"]
    assert reported["team.a"] == {"before": "7x", "now": '"7x"'}
    assert reported["page.n"] == {"before": 1, "now": int(digits)}


def test_feed_can_be_limited_to_a_host_or_owner(harness):
    harness.store.schedule.watch(A, "shop")
    change(harness, A, 1, 2)
    change(harness, B, 1, 2)

    async def play():
        async with serving(harness) as port:
            return [
                await get(port, f"/v1/changes?{which}")
                for which in (
                    "host=b.example", "host=B.Example.", "owner=shop", "owner=nobody", "limit=1",
                    "host=no%20host",
                )
            ]  # fmt: skip

    *pages, (status, _) = asyncio.run(play())
    reported = [[c["url"] for c in body["changes"]] for _, body in pages]
    assert reported == [[B], [B], [A, A], [], [A]]
    assert status == 400


def test_long_poll_returns_when_something_changes(harness):
    change(harness, A, 1)

    async def play():
        async with serving(harness, max_in_flight=1) as port:
            # A cursor from before the change: the poll may be admitted long before it reads.
            _, now = await get(port, "/v1/changes?cursor=now")
            path = f"/v1/changes?cursor={now['cursor']}&wait_ms=60000"
            poll = asyncio.create_task(admitted(port, path))
            await until_refused(port)
            change(harness, A, 2)
            return await poll

    _, reported = asyncio.run(play())
    assert [c["kind"] for c in reported["changes"]] == ["changed"]


def test_long_poll_ends_without_a_change(harness):
    async def play():
        async with serving(harness) as port:
            return await get(port, "/v1/changes?wait_ms=1")

    assert asyncio.run(play())[1]["changes"] == []


def test_events_are_sent_as_they_happen_and_can_be_resumed(harness):
    change(harness, A, 1, 2)

    async def play():
        async with serving(harness) as port:
            accept = "Accept: text/event-stream"
            reader, writer = await ask(port, "/v1/changes", accept)
            head = await reader.readuntil(b"\r\n\r\n")
            first = await event(reader)
            change(harness, B, 1, 2)
            second = await event(reader)
            writer.close()
            cursor = first.split(b"\n")[0].removeprefix(b"id: ").decode()
            reader, writer = await ask(port, "/v1/changes", accept, f"Last-Event-ID: {cursor}")
            await reader.readuntil(b"\r\n\r\n")
            again = await event(reader)
            writer.close()
            return head, first, second, again

    head, first, second, again = asyncio.run(play())
    assert b"text/event-stream" in head
    assert b"event: changed\n" in first
    assert orjson.loads(first.partition(b"data: ")[2])["url"] == A
    assert orjson.loads(second.partition(b"data: ")[2])["url"] == B
    assert again == second


@pytest.mark.parametrize(
    "query", ["cursor=nonsense", "limit=0", "limit=x", "wait_ms=-1", "limit=99999999999999"]
)
def test_invalid_query_is_reported(harness, query):
    async def play():
        async with serving(harness) as port:
            return await get(port, f"/v1/changes?{query}")

    status, reported = asyncio.run(play())
    assert status == 400
    assert reported["detail"]


def test_too_many_readers_are_refused(harness):
    async def play():
        async with serving(harness, max_in_flight=1) as port:
            poll = asyncio.create_task(admitted(port, "/v1/changes?wait_ms=1500"))
            refused = await until_refused(port)
            await poll
            return refused, await get(port, "/v1/changes")

    refused, taken = asyncio.run(play())
    assert refused[0] == 503
    assert taken[0] == 200


def test_simultaneous_streams_keep_their_limit(harness):
    """All were admitted, because a stream was counted only once it had started."""

    async def play():
        async with serving(harness, max_in_flight=4) as port:
            asked = [await ask(port, "/v1/changes", "Accept: text/event-stream") for _ in range(20)]
            heads = await asyncio.gather(*(reader.readuntil(b"\r\n") for reader, _ in asked))
            for _, writer in asked:
                writer.close()
            return Counter(head.split()[1] for head in heads), await admitted(port, "/v1/changes")

    answered, taken = asyncio.run(play())
    assert answered == {b"200": 4, b"503": 16}
    assert taken[0] == 200


def test_head_request_for_a_stream_ends_and_its_connection_stays_usable(harness):
    """It never ended and took up a reader's place for as long as the connection lasted."""

    async def play():
        async with serving(harness) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            lines = (
                *("HEAD /v1/changes HTTP/1.1", "Host: localhost", "Accept: text/event-stream", ""),
                *("GET /healthz HTTP/1.1", "Host: localhost", "Connection: close", "", ""),
            )
            writer.write("\r\n".join(lines).encode())
            everything = await reader.read()
            writer.close()
            return everything

    answered = asyncio.run(play())
    assert b"text/event-stream" in answered.partition(b"\r\n\r\n")[0]
    assert answered.count(b"HTTP/1.1 200") == 2
