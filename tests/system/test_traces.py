"""
A collector receives the whole trace of one URL from all processes of a standalone system.

The producer, the workers and the render worker export their spans with OTLP to a collector that
runs in the test's process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aragog.client import Aragog
from tests.support.chromium import find_chromium
from tests.support.origin import Origin, answer, page
from tests.support.spans import Received, span_collector
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

TIMEOUT_S = 90
PAGE = page(b"""<!doctype html><title>plain</title><script>
fetch("/data").then(r => r.text()).then(text => { document.title = text; });
</script>""")
PRODUCER = """
from aragog.client import Aragog
with Aragog() as aragog:
    print(aragog.enqueue(["http://traced.test/"], request_id="order-4711")[0].status)
"""


class Site:
    """Returns 503 first, hangs on the second request, then serves the page."""

    def __init__(self) -> None:
        self.requests = 0
        self.held = threading.Event()
        self.release = threading.Event()

    def respond(self, _request, _wire):
        self.requests += 1
        if self.requests == 1:
            return answer(503, headers=[("Retry-After", "1")])
        if self.requests == 2:
            self.held.set()
            self.release.wait(TIMEOUT_S)
        return PAGE


def environ(origin: Origin, endpoint: str, **extra: str) -> dict[str, str]:
    return {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "600",
        # At this rate, a task does not wait for the slot after robots.txt: it puts the URL in line.
        "ARAGOG_POLITENESS__QPS": "0.4",
        "ARAGOG_LOGS__LEVEL": "INFO",
        "ARAGOG_LOGS__FORMAT": "json",
        "ARAGOG_TRACING__ENABLED": "true",
        "ARAGOG_TRACING__SAMPLE_RATIO": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        **extra,
    }


def rendering() -> dict[str, str]:
    """Settings that render the page, if a browser is installed."""
    browser = find_chromium()
    if browser is None:
        return {}
    return {
        "ARAGOG_RENDERING__HOSTS": "traced.test",
        "ARAGOG_RENDERING__DEADLINE_S": "60",
        "ARAGOG_RENDERING__BROWSER": browser,
        "ARAGOG_RENDERING__SANDBOX": str(os.geteuid() != 0).lower(),
    }


def log_lines(folder: Path) -> list[dict]:
    lines = []
    for file in folder.glob("*.log"):
        lines += [json.loads(line) for line in file.read_text().splitlines() if line[:1] == "{"]
    return lines


def test_url_keeps_one_trace_when_a_worker_is_killed():
    site, rendered = Site(), rendering()
    routes = {
        "/robots.txt": answer(404),
        "/data": answer(200, b"made", content_type="text/plain"),
        "/*": site.respond,
    }
    with (
        Origin(routes) as origin,
        span_collector() as collector,
        standalone(environ(origin, collector.endpoint, **rendered)) as system,
        Aragog(system.settings) as client,
    ):
        producer = subprocess.run(
            [sys.executable, "-c", PRODUCER], env=system.environ, capture_output=True,
            text=True, check=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert producer.stdout.strip() == "accepted"
        wait_until(site.held.is_set, within_s=TIMEOUT_S, meanwhile=system.supervisor.check)
        # By now, every span that ended before the kill has been exported.
        wait_until(lambda: get_request_spans(collector.spans, "/"), within_s=TIMEOUT_S)
        killed_pid = system.child("fetch").process.pid
        os.kill(killed_pid, signal.SIGKILL)
        system.finish(client, within_s=TIMEOUT_S)
        site.release.set()
        wait_until(lambda: collector.named("store"), within_s=TIMEOUT_S)
        lines = log_lines(Path(system.settings.data_dir) / "logs")

    (root,) = collector.named("enqueue")
    trace_spans = [span for span in collector.spans if span.trace_id == root.trace_id]
    assert trace_spans == collector.spans
    assert root.parent_id == ""
    assert root.service == "aragog"

    robots_spans = get_request_spans(trace_spans, "robots.txt")
    assert [s.attributes["http.response.status_code"] for s in robots_spans] == [404]
    # The first fetch after the kill may come before the domain's next slot. It then connects
    # without sending a request.
    page_spans = get_request_spans(trace_spans, "/")
    busy, final = (span for span in page_spans if "request sent" in span.events)
    assert busy.attributes["http.response.status_code"] == 503
    assert final.attributes["http.response.status_code"] == 200
    assert final.resource["process.pid"] != killed_pid

    fetches = sorted(
        (s for s in trace_spans if s.name == "fetch"), key=lambda span: span.started_ns
    )
    events = [event for span in fetches for event in span.events]
    assert events[:2] == ["robots first", "in line"]
    assert events[-1] == "Fetched"
    assert "rescheduled" in events
    assert collector.named("wait in line")
    assert collector.named("wait in queue")
    # The killed run left no span: the next one reports that it is the second delivery.
    assert max(span.attributes["aragog.delivery"] for span in fetches) == 2
    assert fetches[-1].attributes["aragog.attempt"] == 2
    assert {span.service for span in fetches} == {"aragog-fetch"}
    assert fetches[-1].resource["deployment.environment.name"] == "test"

    (stored,) = [span for span in trace_spans if span.name == "store"]
    assert stored.events == ("stored",)
    assert stored.parent_id == root.span_id
    services = {span.service for span in trace_spans}
    assert {"aragog-fetch", "aragog-canonicalize", "aragog-store"} <= services
    if rendered:
        (render,) = [span for span in trace_spans if span.name == "render"]
        assert render.events == ("rendered",)
        (script,) = [span for span in trace_spans if span.name == "fetch resource"]
        assert script.parent_id == render.span_id

    lines_by_event = {
        line["event"]: line for line in lines if line.get("trace_id") == root.trace_id
    }
    assert lines_by_event["stored"]["span_id"] == stored.span_id
    assert {"robots first", "rescheduled", "Fetched", "canonicalized"} <= set(lines_by_event)
    assert all(line["request_id"] == "order-4711" for line in lines_by_event.values())


def get_request_spans(spans: list[Received], path: str) -> list[Received]:
    found = [s for s in spans if s.name == "GET" and s.attributes["url.full"].endswith(path)]
    return sorted(found, key=lambda span: span.started_ns)
