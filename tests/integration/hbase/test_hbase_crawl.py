"""A complete crawl on HBase and S3, whose only gateway is killed in the middle."""

from __future__ import annotations

import dataclasses
import json

import pytest

from aragog.bootstrap.stores import hbase_tables, url_store
from aragog.client import Aragog
from aragog.standalone import demo_sites
from deploy.s3.server import ACCESS_KEY, SECRET_KEY
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.hbase, pytest.mark.s3, pytest.mark.redis, pytest.mark.slow]

DESK = "http://www.shop.test/p/walnut-desk"
DAL = "http://kitchen.test/r/dal-tadka"


@pytest.fixture
def environ(demo_web, hbase_server, hbase_settings, s3_server, s3_credentials):
    """The demo sites, HBase behind its second gateway, and a bucket."""
    settings = dataclasses.replace(hbase_settings, hbase_prefix="crawl_")
    tables = hbase_tables(settings)
    tables.create()
    tables.close()
    s3_server.create_bucket("crawl")
    return {
        **demo_web,
        "ARAGOG_STORE__ENGINE": "hbase",
        "ARAGOG_STORE__HBASE_GATEWAYS": hbase_server.gateways[1],
        "ARAGOG_STORE__HBASE_PREFIX": "crawl_",
        "ARAGOG_CONTENT__ENGINE": "s3",
        "ARAGOG_CONTENT__S3_BUCKET": "crawl",
        "ARAGOG_CONTENT__S3_ENDPOINT": s3_server.endpoint,
        "ARAGOG_PIPELINE__BATCH_SIZE": "5",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }


@pytest.mark.timeout(1200)  # seven minutes at a load of 27
def test_crawl_loses_nothing_when_its_gateway_is_killed_and_restarted(environ, hbase_server):
    with standalone(environ) as system, Aragog(system.settings) as client:
        client.enqueue(demo_sites.seeds(), depth=1)
        wait_until(lambda: client.counters().get("stored"))
        hbase_server.kill_gateway(1)
        wait_until(lambda: "does not respond" in system.logs() or not client.in_flight())
        hbase_server.start_gateway(1)
        hbase_server.wait_until_ready(1)
        system.finish(client)

        store = url_store(system.settings)
        while store.maintenance.compact_links().left:
            pass
        fetched = [url for url in demo_sites.seeds() if store.get(url) is None]
        desk = store.get("HTTP://WWW.Shop.Test:80/p/walnut-desk?utm_source=letter#top")
        dal = store.content(DAL)
        report = store.maintenance.repair(grace_s=0.0)
        logs = system.logs()
        reported = system.aragog("show", DESK, "--json")
        store.close()

    assert fetched == []
    assert desk.canonical_url == DESK
    assert desk.fields["product.price"] == b'"649.00"'
    assert json.loads(reported.stdout)["fields"]["product.price"] == "649.00"
    assert dal.body == demo_sites.web()["kitchen.test"]["/r/dal-tadka"].body
    assert "CorruptRow" not in logs
    # A due row whose writer died before it wrote the node: claims check the node, so no read would
    # have shown it. A batch whose pack was put before the gateway died has written another pack
    # since.
    unused = "record of a pack that no page has"
    assert set(report.repaired) <= {"due row without its node", unused}
