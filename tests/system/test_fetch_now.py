"""A caller of the API waits for a page of the demo web that nobody enqueued before."""

import json
import urllib.request
from urllib.parse import quote

import pytest

from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_a_page_is_fetched_while_its_caller_waits(demo_web):
    moved = "http://old.test/city-bees.html"
    with standalone(demo_web, front=("http",)) as system:
        base = f"http://127.0.0.1:{system.settings.serving.http_port}"

        def ask(path, body=None):
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(
                base + path, data, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.loads(reply.read())

        def is_ready():
            try:
                return ask("/readyz")["status"] == "ready"
            except OSError:
                return False

        wait_until(is_ready)
        fetched = ask("/v1/fetch", {"url": moved, "max_wait_ms": 60_000})
        read = ask(f"/v1/urls?url={quote('http://kitchen.test/r/focaccia')}&max_wait_ms=60000")
        batch = ask("/v1/enqueue", {"urls": [moved]})["batch"]
        progress = ask(f"/v1/batches/{batch}")
        page = urllib.request.Request(
            f"{base}/?url={quote(moved)}", headers={"Accept": "text/html"}
        )
        with urllib.request.urlopen(page, timeout=60) as reply:
            shown = reply.read().decode()

    assert fetched["state"] == "fresh"
    assert fetched["record"]["canonical_url"] == "http://news.test/city-bees"
    [hop] = fetched["fetch"]["hops"]
    assert (hop["url"], hop["status"]) == (moved, 301)
    assert hop["latency_ms"] > 0
    assert {name.lower() for name, _ in fetched["fetch"]["headers"]} >= {"content-type", "date"}
    assert read["freshness"]["state"] == "fresh"
    assert read["fields"]["page.title"]
    assert progress["total"] == 1
    # What it is, why it stands for its canonical URL, and what it waits for.
    for text in ("http://news.test/city-bees", "<th>because", "<th>next slot", "<th>on its way"):
        assert text in shown
