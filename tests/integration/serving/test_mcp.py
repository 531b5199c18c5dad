"""`aragog mcp` with the official client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from aragog.addons.mcp.clients import TokenClients
from aragog.addons.mcp.tools import mcp_server, tools
from aragog.api.operations.scopes import READ, SCOPES
from aragog.api.operations.table import OPERATIONS
from aragog.api.operations.values import Explanation, ExplanationLine, ExplanationSection
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.client import connect
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import AccessDenied
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.field_formats import FieldFormats
from tests.support import api_server
from tests.support.documented import blocks
from tests.support.fetching import Fetching
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A = "http://a.example/lamp"


def enqueue(urls, **options):
    return [EnqueueResult(url, EnqueueStatus.ACCEPTED, url, None) for url in urls]


def explain(url):
    lines = (ExplanationLine("robots.txt", "disallowed by line 3"),)
    return Explanation(url, A, (ExplanationSection("robots.txt", lines),))


@pytest.fixture(scope="module")
def served():
    """An API with a page, which needs tokens: the port, a read token and a write token."""
    settings = StoreSettings(indexed=("product.brand",))
    store = store_harness(MemoryTables(ManualClock(NOW_MS)), settings=settings).store
    fields = {"page.title": b'"A lamp"', "product.price": b'"19.90"', "product.brand": b'"Lux"'}
    store.write_pages([page(A, fields=fields)])
    store.put_content(A, b"<p>Buy a lamp", {"content_type": "text/html"})
    (reads, entry), (writes, other) = (
        new_token("reads", ["read"]),
        new_token("writes", ["read", "write"]),
    )
    services = Services(enqueue=enqueue, fetching=Fetching(store), explain=explain)
    with api_server.running(store, services, tokens=(entry, other)) as server:
        yield server.port, reads, writes


def over_stdio(port, token):
    """
    The official client with a real `aragog mcp`, configured as in
    docs/http.md#tools-for-language-models.
    """
    (block,) = blocks("docs/http.md#tools-for-language-models", "json")
    entry = json.loads(block)["mcpServers"]["aragog"]
    assert entry["command"] == "aragog"
    return Client(
        StdioServerParameters(
            command=sys.executable,
            args=["-m", "aragog.cli", *entry["args"], "--url", f"http://127.0.0.1:{port}"],
            env={**os.environ, **dict.fromkeys(entry["env"], token)},
        )
    )


@contextmanager
def free_port_of_mcp(port):
    """The address of a real `aragog mcp --port` for the API on a port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = server.getsockname()[1]
    command = [sys.executable, "-m", "aragog.cli", "mcp", "--url", f"http://127.0.0.1:{port}",
               "--port", str(own), "--scope", "write"]  # fmt: skip
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: listens(own) or process.poll() is not None)
            yield f"http://127.0.0.1:{own}/mcp"
        finally:
            process.terminate()


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def in_process(port, token, scopes=SCOPES):
    """The official client with a server in this process."""
    client = connect(f"http://127.0.0.1:{port}", token=token)
    return client, Client(mcp_server(lambda _: nullcontext(client), FieldFormats(), scopes))


def answers(port, token, *calls, scopes=SCOPES):
    """The results of calls, each given by name and arguments."""

    async def ask(client):
        async with client as session:
            return [await session.call_tool(name, arguments) for name, arguments in calls]

    http, client = in_process(port, token, scopes)
    with http:
        return asyncio.run(ask(client))


def text_of(result):
    (block,) = result.content
    return block.text


def test_official_client_reads_searches_and_fetches_over_stdio(served):
    port, _, writes = served

    async def ask():
        async with over_stdio(port, writes) as client:
            listed = (await client.list_tools()).tools
            found = await client.call_tool("get", {"url": "HTTP://A.example:80/lamp#x"})
            by_brand = await client.call_tool("lookup", {"name": "product.brand", "value": '"Lux"'})
            changes = await client.call_tool("changes", {"limit": 1})
            fetched = await client.call_tool("fetch", {"url": A, "max_wait_ms": 10})
            queued = await client.call_tool("enqueue", {"urls": [A]})
            return listed, found, by_brand, changes, fetched, queued

    listed, found, by_brand, changes, fetched, queued = asyncio.run(ask())

    assert {"get", "lookup", "changes", "fetch", "enqueue", "content_part"} <= {
        t.name for t in listed
    }
    assert found.structured_content["fields"]["page.title"] == "A lamp"
    assert json.loads(text_of(found)) == found.structured_content
    assert by_brand.is_error is False, by_brand
    assert changes.structured_content["changes"] == []
    assert fetched.structured_content["state"] in ("fresh", "stale")
    assert queued.structured_content["results"][0]["status"] == "accepted"


def test_tool_has_the_options_of_its_operation(served):
    async def ask(client):
        async with client as session:
            return (await session.list_tools()).tools

    http, client = in_process(*served[:2])
    with http:
        listed = {tool.name: tool for tool in asyncio.run(ask(client))}

    assert listed.keys() == tools(SCOPES).keys()
    assert "dequeue_jobs" in OPERATIONS.keys() - listed.keys()
    for name, tool in listed.items():
        fields = OPERATIONS[name].fields
        assert tool.input_schema["properties"].keys() == {field.name for field in fields}
        assert tool.input_schema["required"] == [field.name for field in fields if field.required]
        assert tool.description
        assert tool.annotations.read_only_hint == (OPERATIONS[name].scope in (READ, ""))


def test_scopes_decide_what_is_offered_and_tokens_what_is_allowed(served):
    port, reads, _ = served

    (hidden,) = answers(port, reads, ("fetch", {"url": A}), scopes=[READ])
    (refused,) = answers(port, reads, ("fetch", {"url": A}))

    assert "'fetch' is not a tool" in text_of(hidden)
    assert refused.is_error
    assert text_of(refused).startswith("AccessDenied: ")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("get", {"url": "http://unknown.example/"}, "not found: nothing is stored for this input"),
        ("get", {"url": "mailto:x"}, "InvalidUrl: "),
        ("get", {}, "BadInput: url: is required"),
        ("get", {"url": A, "fieldz": []}, "BadInput: fieldz: get takes url, fields"),
        ("get", {"url": A, "fields": "page.title"}, "BadInput: fields: must be a list"),
        ("changes", {"limit": 0}, "BadInput: limit: "),
        ("nothing", {}, "'nothing' is not a tool"),
    ],
)
def test_invalid_call_returns_an_error_result(served, name, arguments, says):
    (result,) = answers(*served[:2], (name, arguments))

    assert result.is_error
    assert text_of(result).startswith(says)


def test_explain_tells_the_model_why_a_page_is_not_fetched(served):
    spelling = "HTTP://A.example:80/lamp"
    (result,) = answers(*served[:2], ("explain", {"url": spelling}), scopes=[READ])

    explained = result.structured_content
    assert (explained["input"], explained["url"]) == (spelling, A)
    assert explained["sections"][0]["lines"][0]["text"] == "disallowed by line 3"


def test_content_is_returned_as_text_up_to_the_limit(served):
    whole, part = answers(
        *served[:2],
        ("content_part", {"url": A}),
        ("content_part", {"url": A, "limit_bytes": 3}),
    )

    assert text_of(whole) == "<p>Buy a lamp"
    assert text_of(part) == "<p>"
    assert part.structured_content["total_bytes"] == 13


def test_every_http_request_has_its_own_token(served):
    port, reads, writes = served

    async def ask(address, token):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await client.call_tool("enqueue", {"urls": [A]})

    with free_port_of_mcp(port) as address:
        accepted, refused, unknown = (
            asyncio.run(ask(address, token)) for token in (writes, reads, None)
        )

    assert not accepted.is_error, accepted
    assert text_of(refused).startswith("AccessDenied: ")
    assert text_of(unknown).startswith("AccessDenied: ")


def sockets():
    """The number of open sockets of this process."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(each.readlink()).startswith("socket:")
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_random_tokens_leave_no_clients_behind(served):
    """1,500 random tokens used 1,516 descriptors."""
    port, reads, _ = served

    def open_client(token):
        return connect(f"http://127.0.0.1:{port}", token=token)

    with closing(TokenClients(open_client)) as clients:
        with clients.client(reads) as client:
            assert client.token_view().name == "reads"
        before = sockets()
        for number in range(100):
            with pytest.raises(AccessDenied), clients.client(f"random{number}"):
                pass
        assert len(clients) == 1
        assert sockets() <= before + 4  # server ends that are not closed yet


def test_client_of_an_unused_token_is_closed(served):
    opened, closed = [], []

    class OfToken:
        def __init__(self, token):
            self.token = token
            opened.append(token)

        def token_view(self):
            return None

        def close(self):
            closed.append(self.token)

    clients = TokenClients(OfToken, max_clients=2)
    with clients.client("a"):
        for token in "bcd":
            with clients.client(token) as client:
                assert client.token == token
        assert closed == ["b"]  # "a" would be the first to go, but is in use
    assert closed == ["b", "a"]
    with clients.client("d"), clients.client("d"):
        pass
    assert opened == ["a", "b", "c", "d"]
    clients.close()
    assert sorted(closed) == ["a", "b", "c", "d"]
