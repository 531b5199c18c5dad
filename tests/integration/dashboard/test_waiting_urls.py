"""URLs that wait in queues, not in a line, are counted, listed and explained."""

import json
import time

import pytest
from click.testing import CliRunner

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.redis_services import robots_cache
from aragog.cli import main
from aragog.client import Aragog
from aragog.crawl.politeness.robots_records import RobotsResult
from aragog.dashboard.waiting import queue_notes
from aragog.settings import load_settings
from pinlater.brokers import of_socket

pytestmark = pytest.mark.redis

MANY, SHUT = "many.example", "shut.example"


@pytest.fixture
def settings(own_redis, tmp_path, monkeypatch):
    for name, value in {
        "DATA_DIR": tmp_path,
        "REDIS__URL": own_redis.url,
        "BROKER__URL": of_socket(own_redis.socket, 1),
        "FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "SETTINGS": "",
    }.items():
        monkeypatch.setenv(f"ARAGOG_{name}", str(value))
    return load_settings().resolved()


@pytest.fixture
def waiting(settings):
    """
    4,000 URLs of one domain and 1,000 of another whose robots.txt does not respond; no worker runs.
    """
    with Aragog(settings) as client:
        for host, count in ((MANY, 4000), (SHUT, 1000)):
            list(client.enqueue_all(f"http://{host}/{n}" for n in range(count)))
    now_ms = int(time.time() * 1000)
    robots_cache(settings).put_many([RobotsResult(f"http://{SHUT}", 503, b"", now_ms)])
    return settings


def printed(*arguments):
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


@pytest.mark.usefixtures("waiting")
def test_domains_with_queued_urls_are_listed_first():
    """60,000 URLs that waited for a robots.txt appeared on no page and in no list."""
    found = json.loads(printed("domain", "list", "--json"))["domains"]
    rows = {row["domain"]: row for row in found}

    assert rows[MANY]["waiting"] + rows[SHUT]["waiting"] == pytest.approx(5000, rel=0.05)
    assert rows[MANY]["backlog_ms"] > rows[SHUT]["backlog_ms"] > 0
    assert rows[SHUT]["cause"].startswith("robots.txt is unreachable")


@pytest.mark.usefixtures("waiting")
def test_explain_counts_the_queues_and_the_line():
    sections = json.loads(printed("explain", "--json", f"http://{MANY}/7"))["sections"]
    (slot,) = [section for section in sections if section["title"] == "slot"]
    lines = {line["name"]: line["text"] for line in slot["lines"]}

    assert lines["in the queues"].startswith("about ")
    urls, took = lines["in all"].split(" URLs, ")
    assert int(urls.replace(",", "")) > 2500
    assert took.endswith(" at this rate")
    assert took[0] in "3456789"  # minutes at 10 requests a second


@pytest.mark.usefixtures("waiting")
def test_status_counts_waiting_urls_by_cause():
    waits = json.loads(printed("status", "--json"))["waits_for"]

    assert sum(waits.values()) == pytest.approx(5000, rel=0.05)
    assert waits["robots.txt"] > 100
    assert waits["a worker"] > 2500


def test_queues_page_names_the_hosts_whose_robots_txt_is_awaited(waiting):
    """It showed "fetch due 1,388, oldest 4 min", as if workers were missing."""
    counted, named = queue_notes(components(waiting))

    assert "for robots.txt" in counted
    assert f"waiting for robots.txt: {SHUT} (" in named
    assert MANY not in named
    assert "The workers are not the problem" in named


def test_queues_page_has_no_notes_if_nothing_waits(settings):
    assert queue_notes(components(settings)) == []
