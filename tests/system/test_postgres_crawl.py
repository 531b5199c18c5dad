"""A complete crawl on the private PostgreSQL, which is killed in the middle."""

import json
import os
import signal

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.standalone import demo_sites
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.redis, pytest.mark.slow]

DESK = "http://www.shop.test/p/walnut-desk"


@pytest.fixture
def environ(demo_web):
    return {
        **demo_web,
        "ARAGOG_STORE__ENGINE": "postgres",
        "ARAGOG_PIPELINE__BATCH_SIZE": "5",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5",
    }


def test_crawl_loses_nothing_when_its_postgres_is_killed(environ):
    with standalone(environ) as system, Aragog(system.settings) as client:
        client.enqueue(demo_sites.seeds(), depth=1)
        wait_until(lambda: client.counters().get("stored"))
        first = system.child("postgres").process.pid
        os.kill(first, signal.SIGKILL)
        wait_until(
            lambda: (server := system.child("postgres").process) and server.pid != first,
            meanwhile=system.supervisor.check,
        )
        system.finish(client)

        store = url_store(system.settings)
        while store.maintenance.compact_links().left:
            pass
        missing = [url for url in demo_sites.seeds() if store.get(url) is None]
        desk = store.get("HTTP://WWW.Shop.Test:80/p/walnut-desk?utm_source=letter#top")
        report = store.maintenance.repair(grace_s=0.0)
        shown = system.aragog("show", DESK, "--json")
        logs = system.logs()
        store.close()

    assert missing == []
    assert desk.canonical_url == DESK
    assert json.loads(shown.stdout)["fields"]["product.price"] == "649.00"
    assert "CorruptRow" not in logs
    # A due row whose writer died before it wrote the node: claims check the node. A batch whose
    # pack was put before the server died has written another pack since.
    unused = "record of a pack that no page has"
    assert set(report.repaired) <= {"due row without its node", unused}
