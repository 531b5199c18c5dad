"""
Growing records and nodes, and reads of many large ones: what is refused, and what still works.
"""

import socket
import struct
import threading
from contextlib import closing

import pytest

from aragog.api.operations.large_reads import ReadAbandoned
from aragog.api.server.hedging import HedgedReads
from aragog.api.server.http.services import Services
from aragog.bootstrap.graphs import application_graphs
from aragog.bootstrap.stores import url_store
from aragog.client import GraphMutation, connect
from aragog.errors import BadInput
from aragog.settings import Settings, StoreSettings
from aragog.urlstore import nodes
from tests.support import api_server, thrift_server
from tests.support.stores import node_id
from zengraph import Graph
from zengraph.records import CountedRows, counted_rows

URL = "http://a.example/"
PART = 900_000
OVERSIZED = "http://oversized.example/"


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return Settings(
        data_dir=tmp_path_factory.mktemp("limits"), store=StoreSettings(graphs=("pins",))
    )


@pytest.fixture(scope="module")
def store(settings):
    with closing(url_store(settings)) as store:
        yield store


@pytest.fixture(scope="module")
def graphs(settings):
    with closing(application_graphs(settings)) as graphs:
        yield graphs


@pytest.fixture
def http(store, graphs):
    with api_server.running(store, Services(graphs=graphs), deadline_ms=60_000) as server:
        yield server


@pytest.fixture(params=["http", "thrift"])
def client(request, store, graphs, http):
    if request.param == "http":
        with connect(f"http://127.0.0.1:{http.port}", deadline_s=60) as client:
            yield client
        return
    with (
        thrift_server.running(store, graphs=graphs, deadline_ms=60_000) as server,
        connect(f"thrift://127.0.0.1:{server.port}", deadline_s=60) as client,
    ):
        yield client


@pytest.fixture
def oversized(store):
    """A record from before there was a limit: 36 MB in 40 fields."""
    key = node_id(OVERSIZED)
    store.put(OVERSIZED, {"team.small": b"1"})
    # In one write: forty would each rewrite the row, which takes eight seconds of CPU.
    values = {nodes.field_column(f"team.f{n}"): b'"%b"' % (b"x" * PART) for n in range(40)}
    store.zen.nodes.put(key, values, at_ms=1)
    yield OVERSIZED
    store.remove(OVERSIZED)


def patch(http, url, fields):
    return http.ask("PATCH", f"/v1/urls?url={url}", {"fields": fields})


def test_growing_record_is_refused_at_its_limit_and_stays_readable(store, http):
    """12 PATCH requests made it unreadable for good, and 60 took 5.6 GB."""
    replies = [
        patch(http, URL, {f"team.f{n}.{m}": "x" * PART for m in range(4)}) for n in range(12)
    ]
    refused = replies[-1]
    read = http.get(f"/v1/urls?url={URL}")
    replaced = patch(http, URL, {"team.f0.0": "y" * PART})
    deleted = http.ask("DELETE", f"/v1/urls?url={URL}&fields=team.f0.0,team.f0.1")
    again = patch(http, URL, {"team.g": "x" * PART})

    assert [reply.status for reply in replies] == [200] * 4 + [413] * 8
    assert "bytes, the limit is 16,777,216 (store.max_record_bytes)" in refused.json["detail"]
    assert (read.status, len(read.json["fields"])) == (200, 16)
    assert (replaced.status, deleted.status, again.status) == (200, 204, 200)
    store.remove(URL)


def test_record_with_too_many_fields_is_refused(store, http):
    replies = [patch(http, URL, {f"team.f{n}_{m}": "" for m in range(900)}) for n in range(3)]
    replaced = http.ask(
        "PUT", f"/v1/urls?url={URL}", {"fields": {f"team.g{m}": "" for m in range(900)}}
    )

    assert [reply.status for reply in replies] == [200, 200, 413]
    assert "2,700 fields, the limit is 2,000 (store.max_record_fields)" in replies[2].json["detail"]
    assert replaced.status == 200
    assert len(http.get(f"/v1/urls?url={URL}").json["fields"]) == 900
    store.remove(URL)


def test_concurrent_writers_of_a_record_keep_its_limit(store, http):
    fields = [{f"team.f{n}.{m}": "x" * PART for m in range(4)} for n in range(8)]
    writers = [threading.Thread(target=patch, args=(http, URL, some)) for some in fields]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert sum(size.size_bytes for size in store.fields.sizes(URL).values()) < 16_777_216
    store.remove(URL)


@pytest.mark.parametrize("graph", ["pins", None])
def test_growing_nodes_and_edges_are_refused_at_their_limit(client, graph):
    node, other = ("board", "pin") if graph else ("ab" * 16, "cd" * 16)
    value = b'"%b"' % (b"x" * PART)

    def grow(put):
        for n in range(18):
            put({f"team.f{n}": value})
        with pytest.raises(BadInput, match="the limit is 16,777,216"):
            put({"team.more": value})

    grow(lambda fields: client.put_node(node, fields, graph=graph))
    grow(lambda fields: client.put_edge(node, 16, other, properties=fields, graph=graph))
    if graph:
        grow(lambda fields: client.mutate(
            graph, [GraphMutation("put_node", "m", properties=fields)]
        ))  # fmt: skip
    assert len(client.get_node(node, graph=graph).properties) == 18
    # A later scan of the graph would return such a node whole, however large it is.
    for each in (node, "m") if graph else (node,):
        client.remove_node(each, graph=graph)


def listed(client, url, **options):
    """The fields of a record and their sizes."""
    page = client.field_sizes(url, **options)
    yield from (field.name for field in page.fields)
    if page.cursor is not None:
        yield from listed(client, url, **{**options, "cursor": page.cursor})


def test_oversized_record_can_be_read_in_parts_and_its_fields_deleted(client, oversized):
    with pytest.raises(BadInput, match="`field_sizes` lists them"):
        client.get(oversized)
    names = [*listed(client, oversized, limit=7)][:40]
    assert names == sorted(f"team.f{n}" for n in range(40))
    with pytest.raises(BadInput, match="select the fields to read"):
        client.get_many([oversized])
    some = client.get(oversized, ["team.f7", "team.small"])
    client.delete_fields(oversized, names[:30])
    rest = client.get(oversized)

    assert (len(some.fields["team.f7"]), some.fields["team.small"]) == (PART + 2, b"1")
    assert set(rest.fields) == {"team.small", *names[30:]}


def test_fields_are_listed_without_reading_their_values(store, client, oversized):
    """Only the writer of an oversized record could know which fields to name."""
    counted = Counting()
    with counted:
        sizes = store.fields.sizes(oversized)
    page = client.field_sizes(oversized, limit=1)

    assert counted.size_bytes < 100_000
    assert [(f.name, f.size_bytes, f.at_ms) for f in page.fields] == [("team.f0", PART + 2, 1)]
    assert len(sizes) == 41
    assert client.field_sizes("http://unknown.example/") is None


def test_server_with_a_standby_limits_its_reads_too(store, oversized):
    """It read the whole record from both stores."""
    hedged = HedgedReads(store, store)
    with (
        closing(hedged),
        api_server.running(store, Services(read=hedged.read), deadline_ms=60_000) as http,
        thrift_server.running(store, read=hedged.read, deadline_ms=60_000) as thrift,
    ):
        for address in (f"http://127.0.0.1:{http.port}", f"thrift://127.0.0.1:{thrift.port}"):
            with connect(address, deadline_s=60) as client:
                with pytest.raises(BadInput, match="select the fields to read"):
                    client.get(oversized)
                assert client.get(oversized, ["team.small"]).fields == {"team.small": b"1"}


class Counting(CountedRows):
    """Counts the bytes that a block reads."""

    def __init__(self):
        self.size_bytes = 0

    def add(self, size):
        self.size_bytes += size


def test_deleting_a_field_of_an_oversized_record_reads_no_others(store, oversized):
    """Deleting read the row several times and missed its deadline."""
    counted = Counting()
    with counted:
        store.delete_fields(oversized, ["team.f1"])
        assert store.get(oversized, ["team.small"]).fields == {"team.small": b"1"}

    assert counted.size_bytes < 100_000
    assert "team.f1" not in store.fields.sizes(oversized)


def test_put_of_all_fields_replaces_an_oversized_record(store, http, oversized):
    replaced = http.ask("PUT", f"/v1/urls?url={oversized}", {"fields": {"team.small": "2"}})

    assert replaced.status == 200
    assert http.get(f"/v1/urls?url={oversized}").json["fields"] == {"team.small": "2"}


def fill(graph: Graph, count: int, size: int) -> list[bytes]:
    keys = [bytes([number]) * 16 for number in range(count)]
    for key in keys:
        graph.put_node(key, {"value": b'"%b"' % (b"x" * size)})
        graph.put_edge(b"h" * 16, 16, key, properties={"value": b'"%b"' % (b"x" * size)})
    return keys


def test_scan_of_large_nodes_ends_at_a_byte_limit_and_can_continue(client, graphs):
    """One scan returned 600 MB."""
    keys = fill(graphs["pins"], 40, PART)
    seen, pages, cursor = [], [], None
    while True:
        page = client.scan_nodes("pins", limit=1000, cursor=cursor)
        pages.append(sum(len(v) for node in page.nodes for v in node.properties.values()))
        seen += [node.node for node in page.nodes if "value" in node.properties]
        cursor = page.cursor
        if cursor is None:
            break
    edges, cursor = [], None
    while True:
        page = client.edges(b"h".hex() * 16, 16, limit=1000, cursor=cursor, graph="pins")
        assert sum(len(e.properties["value"]) for e in page.edges) < 9_000_000
        edges += [edge.node for edge in page.edges]
        cursor = page.cursor
        if cursor is None:
            break

    assert seen == [key.hex() for key in keys]
    assert max(pages) < 9_000_000
    assert edges == [key.hex() for key in keys]
    assert client.count_edges(b"h".hex() * 16, 16, graph="pins") == 40


def test_read_of_too_many_large_nodes_is_refused_with_the_size(client, graphs):
    """A batchGet returned 2 GB, and eight at once used 4.9 GB of memory."""
    keys = [key.hex() for key in fill(graphs["pins"], 40, PART)]

    with pytest.raises(BadInput, match="33,554,432 bytes in total"):
        client.get_nodes("pins", keys)
    assert len(client.get_nodes("pins", keys[:20])) == 20
    assert len(client.get_nodes("pins", keys, ["other"])) == 40


class Watched:
    """A graph whose scan waits until released and then reads on."""

    def __init__(self):
        self.reached, self.let_go, self.stopped = (threading.Event() for _ in range(3))

    def scan_nodes(self, *_):
        self.reached.set()
        assert self.let_go.wait(60)
        try:
            counted_rows().add(1)
        except ReadAbandoned:
            self.stopped.set()
            raise
        return [], None


def test_read_stops_when_its_caller_disconnects(store):
    """Its thread continued to the end of the scan."""
    graph = Watched()
    services = Services(graphs={"pins": graph})
    with api_server.running(store, services, deadline_ms=60_000) as http:
        sock = http.connect()
        sock.sendall(
            b"POST /v1/nodes:scan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n"
            b'Content-Type: application/json\r\n\r\n{"graph":"pins"}'
        )
        assert graph.reached.wait(60)
        # Otherwise the client might only have closed its sending side and still wait for the
        # response.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        assert http.get("/healthz").status == 200  # by now the server has seen the disconnect
        graph.let_go.set()

        assert graph.stopped.wait(60)


def test_read_stops_at_its_callers_deadline(store):
    graph = Watched()
    services = Services(graphs={"pins": graph})
    with api_server.running(store, services, deadline_ms=100) as http:
        assert http.ask("POST", "/v1/nodes:scan", {"graph": "pins"}).status == 504
        graph.let_go.set()

        assert graph.stopped.wait(60)
