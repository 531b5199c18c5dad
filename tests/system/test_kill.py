"""A worker killed in the middle of a crawl loses nothing."""

import os
import signal
import time
from collections import Counter

import pytest

from aragog.bootstrap import url_store
from aragog.client import Aragog
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOSTS, PAGES = 40, 25


def test_every_url_is_stored_although_workers_are_killed(demo_web):
    environ = {**demo_web, "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5"}
    urls = [f"http://h{h}-kill.test/{p}" for h in range(HOSTS) for p in range(PAGES)]
    with standalone(environ) as system, Aragog(system.settings) as client:
        client.enqueue(urls)
        for role in ("fetch", "canonicalize", "store"):
            time.sleep(1.5)
            os.killpg(system.child(role).process.pid, signal.SIGKILL)
        system.finish(client)

        store = url_store(system.settings)
        records = store.get_many(urls)
        store.close()

    assert Counter(r.facts["outcome"] if r else None for r in records) == {"Gone": len(urls)}
