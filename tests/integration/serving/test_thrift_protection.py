"""Protection of the Thrift services: rates of tokens, shared with HTTP, and the access log."""

import logging

import orjson
import pytest

from aragog.api.operations.scopes import READ, WRITE
from aragog.api.server.tokens import Tokens, new_token
from aragog.errors import StoreUnavailable
from aragog.runtime.clock import ManualClock
from tests.support import api_server
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from zengraph.tables.memory import MemoryTables

URL = "http://a.example/"


@pytest.fixture
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(URL, {"team.a": b"1"})
    return a_store


def get(client, apache):
    return client.get(URL, ["team.a"], apache.types.ReadOptions())


def test_token_over_its_rate_gets_a_retry_time(store, apache):
    """It was refused as Unauthorized, as if the token were wrong."""
    token, entry = new_token("slow", [READ], 0.001)
    with running(store, tokens=(entry,)) as server, apache.client(server.port) as client:
        client.authenticate(token)
        client.authenticate(token)  # costs nothing
        assert get(client, apache).fields == {"team.a": b"1"}
        with pytest.raises(apache.types.Unavailable, match="exceeds its request rate") as refused:
            get(client, apache)
        client.ping()

    assert 900_000 < refused.value.retry_after_ms <= 1_000_000
    assert server.server.calls["get", "refused"] == 1


def test_http_and_thrift_share_the_rate_of_a_token(store, apache):
    token, entry = new_token("slow", [READ], 0.001)
    tokens = Tokens((entry,))
    with (
        api_server.running(store, shared_tokens=tokens, tokens=(entry,)) as api,
        running(store, shared_tokens=tokens, tokens=(entry,)) as server,
        apache.client(server.port) as client,
    ):
        path = f"/v1/urls?url={URL}&include="
        assert api.get(path, Authorization=f"Bearer {token}").status == 200
        client.authenticate(token)
        with pytest.raises(apache.types.Unavailable):
            get(client, apache)


def lines(caplog):
    return [
        orjson.loads(record.getMessage())
        for record in caplog.records
        if record.name == "aragog.access"
    ]


def test_access_log_has_one_json_object_per_call(store, apache, caplog):
    reader, entry = new_token("reader", [READ])
    caplog.set_level(logging.INFO, "aragog.access")
    with (
        running(store, tokens=(entry,), access_log_share=1.0) as server,
        apache.client(server.port) as client,
    ):
        client.ping()
        client.authenticate(reader)
        get(client, apache)
        client.getMany([URL], [], apache.types.BatchReadOptions())
        with pytest.raises(apache.types.Unauthorized):
            client.put(URL, {"team.a": b"2"}, apache.types.PutOptions())
        with pytest.raises(apache.types.NotFound):
            client.get("http://no.example/", [], apache.types.ReadOptions())

    entries = lines(caplog)
    assert [
        (entry["service"], entry["method"], entry["status"], entry["token"]) for entry in entries
    ] == [
        ("UrlStore", "get", "ok", "reader"),
        ("UrlStore", "getMany", "ok", "reader"),
        ("UrlStore", "put", "refused", None),
        ("UrlStore", "get", "NotFound", "reader"),
    ]
    assert [entry["target"] for entry in entries] == [URL, "", URL, "http://no.example/"]
    assert all(entry["ms"] >= 0 and entry["at"].endswith("Z") for entry in entries)
    assert reader not in caplog.text


def test_failures_are_always_in_the_access_log(store, apache, caplog):
    class Broken:
        def get(self, url, fields):
            raise StoreUnavailable("hbase", "no answer")

    caplog.set_level(logging.INFO, "aragog.access")
    with running(store, access_log_share=0.0) as server, apache.client(server.port) as client:
        get(client, apache)
    with (
        running(Broken(), access_log_share=0.0) as server,
        apache.client(server.port) as client,
        pytest.raises(apache.types.Unavailable),
    ):
        client.get(URL, [], apache.types.ReadOptions())

    assert [line["status"] for line in lines(caplog)] == ["Unavailable"]


def test_token_may_write_only_with_its_scope(store, apache):
    token, entry = new_token("writer", [WRITE])
    with running(store, tokens=(entry,)) as server, apache.client(server.port) as client:
        client.authenticate(token)
        client.put(URL, {"team.a": b"2"}, apache.types.PutOptions())
        with pytest.raises(apache.types.Unauthorized, match="scope read"):
            get(client, apache)
