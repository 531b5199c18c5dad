"""Producers are asked to slow down before Redis is full; URLs in progress keep their space."""

from dataclasses import replace

import pytest

from aragog.client import Aragog
from aragog.crawl.pipeline.memory_limit import REFUSE_ABOVE_SHARE, Admission
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.errors import SlowDown
from aragog.runtime.clock import ManualClock
from tests.support.memory_ports import MemoryPorts
from tests.support.producer import producer_home

pytestmark = pytest.mark.redis


@pytest.fixture
def home():
    with producer_home() as home_folder:
        yield home_folder


def fill(home):
    """Leave less space than new URLs need."""
    used = home.redis.info("memory")["used_memory"]
    home.redis.config_set("maxmemory", int(used / (REFUSE_ABOVE_SHARE + 0.05)))


def test_nearly_full_server_refuses_new_urls_with_a_retry_time(home):
    with Aragog(home.settings) as client:
        client.enqueue(["http://a.test/1"])
        fill(home)
        fresh = Aragog(home.settings)

        with fresh, pytest.raises(SlowDown, match="maxmemory") as refused:
            fresh.enqueue(["http://a.test/2"])

        assert refused.value.retry_after_s > 0
        assert home.urls() == ["http://a.test/1"]
        assert client.in_flight() == 1


def test_backlog_shows_a_full_server_before_urls_are_refused(home):
    with Aragog(home.settings) as client:
        client.enqueue(["http://a.test/1", "http://b.test/"])
        quiet = client.backlog()
    fill(home)
    with Aragog(home.settings) as client:
        busy = client.backlog()

    assert (quiet.in_flight, quiet.memory_share, quiet.fetching_waits) == (2, 0.0, False)
    assert busy.memory_share > REFUSE_ABOVE_SHARE


def test_caller_that_waits_is_served_when_space_is_free(home):
    ports, clock = MemoryPorts(), ManualClock()
    admission = Admission({"redis": home.redis}, clock=clock, retry_after_s=0.01)
    enqueuer = replace(ports.enqueuer, admission=admission)
    fill(home)
    refusals = []

    def make_room(refusal):
        refusals.append(refusal)
        home.redis.config_set("maxmemory", 0)
        clock.advance_ms(1001)

    answers = list(enqueuer.enqueue(["http://a.test/1"], EnqueueOptions(), make_room))

    assert [a.status for a in answers] == ["accepted"]
    assert len(refusals) == 1
