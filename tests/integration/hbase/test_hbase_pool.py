"""The rules of the connection pool, each on a real gateway behind a misbehaving proxy."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import socket
import threading
from pathlib import Path

import happybase
import pytest
import thriftpy2
from thriftpy2.thrift import TApplicationException

from aragog.urlstore.zen_remedies import HBASE_REMEDIES
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from zengraph.errors import InvalidArgument, StoreUnavailable, ZengraphError
from zengraph.tables.hbase.connection import GatewayConnection, thrift_api
from zengraph.tables.hbase.pool import MAX_IDLE_S, TRANSPORT_ERRORS, HBasePool, translate_errors
from zengraph.tables.hbase.table import HBaseTable

pytestmark = pytest.mark.hbase


class Watch:
    """A monotonic clock that a test moves."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture(scope="module")
def rows(all_hbase_tables):
    """Twenty rows, each containing its own key."""
    names = [b"pool-%02d" % n for n in range(20)]
    all_hbase_tables["n"].put_many([(name, {b"m:name": name}, 1000) for name in names])
    return names


@pytest.fixture
def proxy(hbase_server):
    with TcpProxy(hbase_server.gateways[0]) as a_proxy:
        yield a_proxy


@pytest.fixture
def second(hbase_server):
    with TcpProxy(hbase_server.gateways[1]) as a_proxy:
        yield a_proxy


@pytest.fixture
def watch():
    return Watch()


@pytest.fixture
def open_pool(watch):
    """Opens pools and closes them at the end."""
    pools = []

    def make(*gateways, size=4, timeout_s=10.0):
        pool = HBasePool(gateways, size=size, timeout_s=timeout_s, now_s=watch)
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def table(hbase_settings):
    """Returns the run's node table over a given pool."""
    return lambda pool: HBaseTable(pool, "n", f"{hbase_settings.hbase_prefix}n".encode())


def name_in(table, row):
    return table.get(row)[b"m:name"].value


def test_connection_is_reused(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address))

    assert [name_in(nodes, row) for row in rows] == rows
    assert proxy.accepted == 1


def test_threads_never_share_a_connection(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address, size=3))
    wrong = []

    def read():
        for row in rows * 5:
            if name_in(nodes, row) != row:
                wrong.append(row)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert 1 <= proxy.accepted <= 3


def test_late_response_is_never_returned_for_another_row(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address, timeout_s=0.4))
    right = late = 0

    for turn, row in enumerate(rows * 2):
        proxy.delay_s = 0.6 if turn % 8 == 1 else 0.0
        try:
            assert name_in(nodes, row) == row
            right += 1
        except StoreUnavailable:
            late += 1

    assert right >= 20
    assert late >= 5


def test_interrupted_call_closes_its_connection(open_pool, table, proxy, rows):
    pool = open_pool(proxy.address)
    nodes = table(pool)

    def interrupted(client):
        client._send("getRow", tableName=nodes._name, row=rows[0], attributes={})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run(interrupted)

    assert name_in(nodes, rows[1]) == rows[1]
    assert proxy.accepted == 2


def test_response_to_another_call_is_refused(hbase_server, table, rows):
    connection = GatewayConnection(hbase_server.gateways[0], timeout_s=10)
    client, name = connection.client, table(None)._name
    client._send("getRow", tableName=name, row=rows[0], attributes={})

    with pytest.raises(TApplicationException, match="got the response to call 1 instead of call 2"):
        client.getRow(name, rows[1], {})
    connection.close()


def test_dripping_gateway_times_out_by_call_not_by_read(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address, timeout_s=0.3))
    proxy.drip = True

    with pytest.raises(StoreUnavailable, match="timed out"):
        nodes.get_many(rows)


CLOSE_WAIT = "08"
"""The state in /proc/net/tcp of a connection closed by the other end."""


def was_dropped(proxy):
    """Whether the end of a connection to the proxy has arrived here."""
    port = int(proxy.address.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[2].endswith(f":{port:04X}") and row[3] == CLOSE_WAIT for row in rows)


def test_connection_dropped_by_the_gateway_is_not_used(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address))
    name_in(nodes, rows[0])

    proxy.cut_all()
    wait_until(lambda: was_dropped(proxy))

    # This call is not repeatable, so it would fail if it were sent on the dead connection first.
    assert nodes.incr(b"pool-drop", b"c:n", 1) == 1
    assert proxy.accepted == 2


def test_connection_idle_for_too_long_is_reopened(open_pool, table, proxy, rows, watch):
    nodes = table(open_pool(proxy.address))
    name_in(nodes, rows[0])

    watch.now_s += MAX_IDLE_S - 1
    name_in(nodes, rows[0])
    assert proxy.accepted == 1

    watch.now_s += MAX_IDLE_S + 1
    name_in(nodes, rows[0])
    assert proxy.accepted == 2


def test_repeatable_call_survives_a_lost_response(open_pool, table, proxy, second, rows):
    nodes = table(open_pool(proxy.address, second.address))
    proxy.cut_after = 0

    assert [name_in(nodes, row) for row in rows] == rows
    assert proxy.accepted == 1


def test_counter_with_a_lost_response_is_not_incremented_twice(open_pool, table, proxy):
    nodes = table(open_pool(proxy.address))
    proxy.cut_after = 0

    with pytest.raises(StoreUnavailable):
        nodes.incr(b"pool-lost", b"c:n", 1)

    proxy.cut_after = None
    assert nodes.get(b"pool-lost")[b"c:n"].value == (1).to_bytes(8)


def test_check_and_put_with_a_lost_response_is_not_repeated(open_pool, table, proxy):
    nodes = table(open_pool(proxy.address))
    proxy.cut_after = 0

    with pytest.raises(StoreUnavailable):
        nodes.check_and_put(b"pool-cas", b"s:a", None, b"1")
    proxy.cut_after = None

    assert not nodes.check_and_put(b"pool-cas", b"s:a", None, b"2")
    assert nodes.get(b"pool-cas")[b"s:a"].value == b"1"


def test_gateways_take_turns(open_pool, table, proxy, second, rows):
    nodes = table(open_pool(proxy.address, second.address))

    for row in rows:
        name_in(nodes, row)

    assert (proxy.accepted, second.accepted) == (1, 1)


def test_unreachable_gateway_is_skipped_and_taken_back(
    open_pool, table, proxy, second, rows, watch
):
    nodes = table(open_pool(proxy.address, second.address))
    proxy.refuse = True

    for row in rows:
        assert name_in(nodes, row) == row
    assert nodes.incr(b"pool-away", b"c:n", 1) in (1, 2, 3)
    assert proxy.accepted == 0

    proxy.refuse = False
    watch.now_s += 40
    for row in rows[:4]:
        name_in(nodes, row)
    assert proxy.accepted == 1


def test_every_call_reports_that_all_gateways_are_down_until_one_returns(open_pool, table, rows):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nodes = table(open_pool(f"127.0.0.1:{port}"))

    for _ in range(3):
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{port}: Could not connect"):
            nodes.get(rows[0])


def test_exhausted_pool_names_the_setting(open_pool, table, hbase_server, rows):
    pool = HBasePool(hbase_server.gateways[:1], size=1, timeout_s=2, words=HBASE_REMEDIES)
    nodes = table(pool)

    def nested(client):
        return nodes.get(rows[0])

    with pytest.raises(StoreUnavailable, match=r"raise store\.hbase_pool_size"):
        pool.run(nested)
    assert name_in(nodes, rows[0]) == rows[0]
    pool.close()


def test_forked_process_opens_its_own_connections(open_pool, table, proxy, rows):
    nodes = table(open_pool(proxy.address))
    name_in(nodes, rows[0])

    child = os.fork()
    if child == 0:
        right = name_in(nodes, rows[1]) == rows[1]
        gc.collect()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0

    assert name_in(nodes, rows[2]) == rows[2]
    assert proxy.accepted == 2


@pytest.mark.parametrize(
    "text",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x80\x01\x00\x02\x00\x00\x00\x06getRow\x00\x00\x00\x01\x7f",
     b"\x80\x01\x00\x02\x7f\xff\xff\xff", b"\xff" * 64, b"\x80\x01\x00\x02\xff\xff\xff\xff" + b"\xff" * 64, b""],
)  # fmt: skip
def test_another_service_on_the_port_is_store_unavailable(open_pool, table, rows, text):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    client.recv(1000)
                    client.sendall(text)
                    client.close()

        threading.Thread(target=answer, daemon=True).start()
        nodes = table(open_pool(f"127.0.0.1:{server.getsockname()[1]}", timeout_s=2))

        with pytest.raises(StoreUnavailable):
            nodes.get(rows[0])


def _made(error):
    """An instance, whatever arguments its constructor needs."""
    count = 0
    while True:
        try:
            return error(*[2] * count)
        except TypeError:
            count += 1


def test_every_happybase_and_thriftpy2_exception_is_mapped():
    threads = set()
    for package in (happybase, thriftpy2):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".contrib" in info.name or ".parser" in info.name or info.name.endswith("http"):
                continue  # none of these are used here
            module = importlib.import_module(info.name)
            threads |= {
                each
                for each in vars(module).values()
                if isinstance(each, type)
                and issubclass(each, Exception)
                and each.__module__.startswith(package.__name__)
            }
    threads |= {thrift_api.IOError, thrift_api.IllegalArgument, thrift_api.AlreadyExists}
    threads -= {happybase.NoConnectionsAvailable}  # from happybase's own pool

    assert len(threads) > 6
    for each in threads:
        with pytest.raises(ZengraphError) as caught, translate_errors("there"):
            raise _made(each)
        expected = InvalidArgument if each is thrift_api.IllegalArgument else StoreUnavailable
        assert type(caught.value) is expected
        assert issubclass(each, TRANSPORT_ERRORS)
