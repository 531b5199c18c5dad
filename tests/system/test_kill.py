"""Workers killed with -9 in the middle of a crawl of 1,000 pages lose none of them."""

import json
import os
import signal
from collections import Counter

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOSTS, PAGES = 50, 20


def article(request, _wire):
    """A page that says which it is, links to its neighbour and to its host's first page."""
    if request.path == "/robots.txt":
        return answer(404)
    number = int(request.path[1:])
    html = f"""<!doctype html><title>{number} of {request.host}</title>
        <a href="/{(number + 1) % PAGES}">next</a> <a href="/0">first</a> {"word " * 2000}"""
    return page(html.encode())


def environment(origin):
    return {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5",
    }


def kill(system, role):
    os.killpg(system.child(role).process.pid, signal.SIGKILL)


def test_every_page_is_stored_although_workers_are_killed():
    urls = [f"http://h{h}-kill.test/{p}" for h in range(HOSTS) for p in range(PAGES)]
    with Origin({"/*": article}) as origin, standalone(environment(origin)) as system:
        with Aragog(system.settings) as client:
            client.enqueue(urls)
            for role, left in (("fetch", 800), ("canonicalize", 550), ("store", 300)):
                wait_until(
                    lambda left=left: client.in_flight() <= left, meanwhile=system.supervisor.check
                )
                kill(system, role)
            assert client.in_flight()
            system.finish(client)

        store = url_store(system.settings)
        try:
            records = store.get_many(urls)
            assert Counter(r.facts["outcome"] if r else None for r in records) == {
                "Fetched": len(urls)
            }
            for url, record in zip(urls, records, strict=True):
                host, _, number = url.removeprefix("http://").partition("/")
                title = f"{number} of {host}"
                assert json.loads(record.fields["page.title"]) == title
                assert title.encode() in store.content(url).body
        finally:
            store.close()
