"""The logs of a whole system: JSON, one request id through all stages, nothing leaked at exit."""

import json

import pytest

from aragog.client import Aragog
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

URL = "http://www.shop.test/p/walnut-desk"


@pytest.fixture(scope="module")
def logs(demo_web):
    """Name of a process to its log, of a system that crawled and was stopped."""
    settings = {**demo_web, "ARAGOG_LOGS__LEVEL": "INFO", "ARAGOG_LOGS__FORMAT": "json"}
    with standalone(settings) as system:
        with Aragog(system.settings) as client:
            client.enqueue([URL], request_id="order-4711")
            system.finish(client)
        system.supervisor.stop()
        return {path.stem: path.read_text() for path in (system.folder / "logs").glob("*.log")}


def read(log):
    """The lines, without what Celery writes past its logger when it is stopped."""
    return [json.loads(line) for line in log.splitlines() if line and "Warm shutdown" not in line]


@pytest.mark.parametrize(
    ("process", "events"),
    [
        ("fetch", {"robots first", "Fetched"}),
        ("canonicalize", {"canonicalized"}),
        ("store", {"stored"}),
    ],
)
def test_the_id_of_the_producer_is_in_the_lines_of_each_stage(logs, process, events):
    lines = read(logs[process])
    of_url = [line for line in lines if line.get("url") == URL]
    assert events <= {line["event"] for line in of_url}
    assert {line["request_id"] for line in of_url} == {"order-4711"}


def test_every_line_of_a_process_of_celery_is_json(logs):
    for process in ("fetch", "robots", "canonicalize", "store", "webhooks", "beat"):
        assert read(logs[process]), process


def test_no_library_prints_at_exit(logs):
    for process, text in logs.items():
        for leaked in ("nanobind", "Deprecat", "ResourceWarning", "Exception ignored"):
            assert leaked not in text, process
