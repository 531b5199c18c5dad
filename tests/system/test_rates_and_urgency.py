"""
A changed rate and an urgent URL take effect at the origin at once, whatever waits for its domain.
"""

import threading
from itertools import pairwise
from statistics import median

import pytest

from aragog.bootstrap.redis_services import connect_overrides
from aragog.client import Aragog
from pinlater.admin import Admin
from tests.support.origin import Origin, page
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def system(punctual_origin):
    """A crawl with one request per second."""
    environ = {
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{punctual_origin.port}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__QPS": "1",
    }
    with standalone(environ, frontends=()) as running:
        yield running


def paths(origin):
    return [path for _, _, path in origin.arrivals()]


def test_raised_rate_applies_to_waiting_urls(system, punctual_origin):
    with Aragog(system.settings) as client:
        client.enqueue([f"http://www.busy.test/{n}" for n in range(120)])
        wait_until(lambda: len(paths(punctual_origin)) >= 6)
        connect_overrides(system.settings).live.set_qps("busy.test", 20.0, who="test")
        system.finish(client)

    arrived_ms = [at for at, _, _ in punctual_origin.arrivals()]
    assert len(arrived_ms) >= 120
    # At the old rate, each gap is one second.
    assert median(later - earlier for earlier, later in pairwise(arrived_ms[12:])) < 500


def test_urgent_url_skips_the_backlog_of_its_domain(system, punctual_origin):
    with Aragog(system.settings) as client:
        client.enqueue([f"http://www.busy.test/{n}" for n in range(60)], priority=9)
        wait_until(lambda: len(paths(punctual_origin)) >= 4)
        client.enqueue(["http://www.busy.test/urgent"], priority=2)
        wait_until(lambda: "/urgent" in paths(punctual_origin))
        connect_overrides(system.settings).live.set_qps("busy.test", 100.0, who="test")
        system.finish(client)

    # `bench.urgency` measures how fast it skips them; at the middle, half a minute has passed.
    assert paths(punctual_origin).index("/urgent") < 30


def is_occupied(sizes):
    """
    Whether no thread of the worker is free for ordinary fetches; a few are reserved for urgent
    ones.
    """
    return sizes.running >= 14 and sizes.due >= 2


def test_urgent_url_is_requested_while_its_site_hangs_on_others():
    answers = threading.Event()

    def silent(_request, _wire):
        answers.wait()
        return page(b"<title>late</title>")

    with Origin({"/slow/*": silent, "/urgent": page(b"<title>urgent</title>")}) as origin:
        environ = {
            "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
            "ARAGOG_FETCH__DEADLINE_S": "600",
            "ARAGOG_FETCH__READ_TIMEOUT_S": "600",
            "ARAGOG_POLITENESS__QPS": "4",
        }
        with standalone(environ, frontends=()) as system, Aragog(system.settings) as client:
            broker = system.settings.resolved().broker
            admin = Admin.connect(broker.url, broker.shards)
            # Enough for every thread: on a busy machine, a batch has the URLs of two seconds.
            client.enqueue([f"http://www.busy.test/slow/{n}" for n in range(320)])
            wait_until(lambda: is_occupied(admin.status("fetch").sizes))
            client.enqueue(["http://www.busy.test/urgent"], priority=2)
            wait_until(lambda: any(request.path == "/urgent" for request in origin.seen))
            unanswered = len(origin.seen)
            answers.set()
            connect_overrides(system.settings).live.set_qps("busy.test", 100.0, who="test")
            system.finish(client)

    assert unanswered < len(origin.seen)
