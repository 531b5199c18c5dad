"""The fan-out example: a worker is killed in the middle, and every follower gets the story once."""

import os
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from aragog.api.server.http.services import Services
from aragog.bootstrap.graphs import application_graphs
from aragog.settings import load_settings
from examples.fan_out.app import FEED, FOLLOWS, GRAPH, PAGE
from tests.support import api_server
from tests.support.celery_worker import ROOT, Worker
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from urlspelling import url_key
from zengraph import IN, MAX_LIMIT, OUT, EdgeKey, NewEdge
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.redis

FOLLOWERS = 3 * PAGE + 7
LATE = url_key("user:late")
HUB, STORY = url_key("hub:news"), "story:1"


@contextmanager
def feeds(tmp_path):
    """The example's graph on SQLite, and a server for it."""
    settings = load_settings(
        ROOT / "examples/fan_out/feeds.toml", {"ARAGOG_DATA_DIR": str(tmp_path / "data")}
    )
    store = store_harness(MemoryTables()).store
    with (
        closing(application_graphs(settings)) as graphs,
        api_server.running(store, Services(graphs=graphs)) as server,
    ):
        yield graphs[GRAPH], f"http://127.0.0.1:{server.port}"


def begin(env):
    """Run the example's command."""
    command = [sys.executable, "-m", "examples.fan_out.start", "hub:news", STORY]
    subprocess.run(command, env=os.environ | env, cwd=ROOT, check=True)


def test_every_follower_gets_the_story_once_despite_a_killed_worker(place, tmp_path):
    users = [url_key(f"user:{n}") for n in range(FOLLOWERS)]
    with feeds(tmp_path) as (graph, address):
        graph.put_edges([NewEdge(EdgeKey(user, FOLLOWS, HUB), n) for n, user in enumerate(users)])
        graph.put_edge(LATE, FOLLOWS, HUB, score=2**62)  # follows it after the story
        env = {"BROKER": place.broker, "API": address, "CLAIM_TIMEOUT_S": "2"}
        options = ["-Q", "pages,deliveries", "-c1"]

        def delivered():
            """The users whose feeds contain the story."""
            return [edge.other for edge in graph.edges(url_key(STORY), IN, FEED, MAX_LIMIT).items]

        with Worker("examples.fan_out.app", tmp_path / "one", env=env, args=options) as first:
            # The worker wrote the rate of the file; a lower rate puts the kill in the middle.
            place.shard.configure("deliveries", {"rate": 1})
            begin(env)
            wait_until(delivered)
            first.kill()
        before = delivered()
        with Worker("examples.fan_out.app", tmp_path / "two", env=env, args=options):
            wait_until(lambda: len(delivered()) == FOLLOWERS)

        assert 0 < len(before) < FOLLOWERS
        assert sorted(delivered()) == sorted(users)
        feed = graph.edges(users[0], OUT, FEED).items
        assert [edge.other for edge in feed] == [url_key(STORY)]
