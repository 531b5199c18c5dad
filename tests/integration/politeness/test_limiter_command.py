"""`aragog limiter`, and the doctor's findings about the ring."""

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from aragog.bootstrap.dashboard import components
from aragog.cli import main
from aragog.cli.doctor.finding import CheckedSystem
from aragog.cli.doctor.servers import check_limiter
from aragog.settings import load_settings
from aragog.settings.in_use import settings_in_use
from aragog.standalone.redis_server import RedisServer

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("cli_environ")]


@pytest.fixture
def run():
    def call(*arguments, code=0):
        result = CliRunner().invoke(main, ["limiter", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    return call


@pytest.fixture
def nodes(redis_url):
    return [redis_url.replace("db=0", f"db={n}") for n in (2, 3)]


def findings():
    system = CheckedSystem(settings_in_use(), should_run=False)
    return {finding.part: finding for finding in check_limiter(system)}


def test_nodes_join_and_leave(run, nodes):
    assert json.loads(run("list", "--json"))["nodes"][0]["node"] == "redis.url"
    assert findings()["limiter"].text == "epoch 1, 1 of 1 nodes active"

    run("add", nodes[0])
    run("add", nodes[1])
    run("drain", "redis.url")

    report = json.loads(run("list", "--json"))
    states = {node["node"]: node["state"] for node in report["nodes"]}
    assert states == {"redis.url": "drained", nodes[0]: "active", nodes[1]: "active"}
    assert (report["epoch"], report["moving"]) == (7, False)
    assert "epoch 7" in run("list")
    assert json.loads(run("show", "www.a.example", "--json"))["node"] in nodes
    assert run("show", "www.a.example").startswith("a.example: unix://")
    assert findings()["limiter, settings"].warning

    run("remove", "redis.url")
    assert len(json.loads(run("list", "--json"))["nodes"]) == 2
    assert "epoch" in run("finish")


def test_metrics_count_a_joined_node_among_the_servers(run):
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as joined:
        run("add", joined.url)
        servers = components(load_settings()).servers
        assert [client.ping() for client in servers().values()] == [True] * 2
        assert str(joined.socket) in servers()

    assert str(joined.socket) in servers(), "a node that is down is missing from the metrics"


def test_impossible_change_is_refused_with_the_reason(run, nodes, tmp_path):
    assert "is not a limiter node; the nodes are redis.url" in run("drain", nodes[0], code=2)
    assert "the only active node" in run("remove", "redis.url", code=2)
    assert "none.sock" in run("add", f"unix://{tmp_path}/none.sock", code=1)
    assert json.loads(run("list", "--json"))["epoch"] == 1
