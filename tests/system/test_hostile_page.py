"""A page that kills its worker process does not keep thirty good ones from being stored."""

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline import counters
from pinlater.admin import Admin
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

GOOD = 30
ATTRIBUTES = b" ".join(b"a%d" % n for n in range(1_900))
HOSTILE = b"<p " + ATTRIBUTES + b">x"
"""
The parser compares each attribute with all earlier ones, in C code that cannot be
interrupted.
"""


def site(request, _wire):
    if request.path == "/robots.txt":
        return answer(404)
    if request.path == "/hostile":
        return page(HOSTILE * 800)
    return page(f"<title>Page {request.path[1:]}</title><p>fine".encode())


def test_thirty_good_pages_are_stored_and_one_that_kills_its_process_is_unreadable():
    environ = {
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_PIPELINE__PAGE_MAX_CPU_S": "0.5",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5",
    }
    with Origin({"/*": site}) as origin:
        environ["ARAGOG_FETCH__HOST_MAP"] = f"*.test={origin.address}"
        good = [f"http://h{n}-good.test/{n}" for n in range(GOOD)]
        hostile = "http://bad.test/hostile"
        with standalone(environ) as system, Aragog(system.settings) as client:
            # A lost process counts as an attempt; the default pause before the next one is ten
            # seconds.
            Admin.connect(system.settings.resolved().broker.url).configure(
                "canonicalize", retry_step_ms=200
            )
            client.enqueue([*good[:10], hostile, *good[10:]])
            system.finish(client)
            counts = client.counters()

            store = url_store(system.settings)
            try:
                titles = [store.get(url).fields["page.title"] for url in good]
                facts = store.get(hostile).facts
            finally:
                store.close()

    assert titles == [f'"Page {n}"'.encode() for n in range(GOOD)]
    assert facts["outcome"] == "Unreadable"
    assert facts["reason"] == "each process that analyzed the page died"
    assert counts[counters.UNREADABLE] == 1
    assert counts[counters.RUNS_LOST] >= 2
