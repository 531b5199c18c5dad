"""Hedged reads on a real HBase, with a slow gateway in front of the primary."""

import dataclasses

import pytest

from aragog.api.server.http.services import Services
from aragog.bootstrap.api import hedged_reads
from aragog.bootstrap.stores import hbase_tables
from aragog.errors import ConfigError
from aragog.settings import ServingSettings, Settings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support import api_server, thrift_server
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until

URL = "http://hedged.example/"
FIELDS = ("title",)


def read(store):
    return store.pages.values([URL], FIELDS)


@pytest.fixture
def late_primary(hbase_server, hbase_settings, all_hbase_tables, tmp_path):
    """The proxy before the primary's gateway, the primary with a page, and its hedged reads."""
    with TcpProxy(hbase_server.gateways[0]) as proxy:
        late = dataclasses.replace(
            hbase_settings, hbase_gateways=(proxy.address,), hbase_timeout_ms=20_000
        )
        serving = ServingSettings(standby_gateways=(hbase_server.gateways[1],))
        settings = Settings(data_dir=tmp_path, store=late, serving=serving)
        primary = UrlStore(hbase_tables(late), MemoryContent(), late)
        primary.put(URL, {"title": b"one"})
        hedged = hedged_reads(settings, primary)
        yield proxy, primary, hedged
        hedged.close()
        primary.close()


@pytest.mark.hbase
def test_slow_or_lost_gateway_is_replaced_by_the_standby(late_primary):
    proxy, _, hedged = late_primary
    [values], standby = hedged.read(read)
    assert values.values == (b"one",)

    for _ in range(500):  # reads build up the budget for hedges
        hedged.policy.count_read()
    proxy.delay_s = 5
    [values], standby = hedged.read(read)
    assert (values.values, standby) == ((b"one",), True)

    proxy.refuse = True
    proxy.cut_all()
    [values], standby = hedged.read(read)
    assert (values.values, standby) == ((b"one",), True)


@pytest.mark.hbase
def test_http_and_thrift_answer_from_the_standby_while_a_gateway_stalls(late_primary, apache):
    proxy, primary, hedged = late_primary
    for _ in range(500):  # reads build up the budget for hedges
        hedged.policy.count_read()
    with (
        api_server.running(primary, Services(read=hedged.read)) as api,
        thrift_server.running(primary, read=hedged.read, embedded=False) as server,
        apache.client(server.port) as client,
    ):
        paths = [f"/v1/urls?url={URL}{more}" for more in ("&fields=title&include=", "")]
        # On a busy machine the standby may sometimes be faster.
        before = [wait_until(lambda path=path: by_primary(api.get_fast(path))) for path in paths]
        won = hedged.policy.won
        proxy.delay_s = 5
        during = [api.get_fast(path) for path in paths]
        record = client.get(URL, ["title"], apache.types.ReadOptions())
        proxy.delay_s = 0

    assert [response.json["from_standby"] for response in during] == [True, True]
    assert [response.json["fields"] for response in before + during] == [{"title": "one"}] * 4
    assert (record.fields, record.from_standby) == ({"title": b"one"}, True)
    assert hedged.policy.won - won == 3


def by_primary(reply):
    """The reply, unless it is from the standby."""
    return None if "from_standby" in reply.json else reply


def test_standby_requires_hbase(tmp_path):
    serving = ServingSettings(standby_gateways=("127.0.0.1:9090",))

    with pytest.raises(ConfigError, match="requires an HBase store"):
        hedged_reads(Settings(data_dir=tmp_path, serving=serving), None)
    assert hedged_reads(Settings(data_dir=tmp_path), None) is None
