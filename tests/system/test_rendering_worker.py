"""The standalone system renders pages, even when the worker is killed while a page is open."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline import counters
from tests.support.chromium import chromium_or_skip
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PATIENCE_S = 90
PAGE = page(b"""<!doctype html><title>plain</title><script>
fetch("/data").then(r => r.text()).then(text => { document.title = text; });
</script>""")


def environ(origin: Origin) -> dict[str, str]:
    return {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_RENDERING__HOSTS": "shop.test",
        "ARAGOG_RENDERING__DEADLINE_S": "60",  # for the browser on a busy machine
        "ARAGOG_RENDERING__BROWSER": chromium_or_skip(),
        # Chromium's own sandbox needs a user other than root.
        "ARAGOG_RENDERING__SANDBOX": str(os.geteuid() != 0).lower(),
    }


def browsers_of(pid: int) -> list[int]:
    """The processes below a process that run or drive a browser."""
    pids = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            pids += [child, *browsers_of(child)]
    return pids


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_page_open_when_its_worker_is_killed_is_rendered_and_stored_once():
    requested = threading.Event()
    answered = threading.Event()

    def data(_request, _wire):
        if not requested.is_set():
            requested.set()
            answered.wait(PATIENCE_S)
        return answer(200, b"rendered", content_type="text/plain")

    with (
        Origin({"/": PAGE, "/data": data}) as origin,
        standalone(environ(origin)) as system,
        Aragog(system.settings) as client,
    ):
        client.enqueue(["http://shop.test/", "http://plain.test/"])
        wait_until(requested.is_set, within_s=PATIENCE_S, meanwhile=system.supervisor.check)
        worker = system.child("render").process.pid
        browsers = browsers_of(worker)
        assert len(browsers) > 2  # a driver, a browser, a page
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not any(map(runs, browsers)), within_s=PATIENCE_S)
        system.finish(client, within_s=PATIENCE_S)
        answered.set()

        store = url_store(system.settings)
        try:
            rendered, plain = (store.get(f"http://{h}.test/") for h in ("shop", "plain"))
        finally:
            store.close()
        counts = client.counters()
        shown = json.loads(system.aragog("show", "--json", "http://shop.test/").stdout)

    assert rendered.fields["page.title"] == b'"rendered"'
    assert rendered.facts["rendering"] == "rendered"
    assert plain.fields["page.title"] == b'"plain"'
    assert "rendering" not in plain.facts
    assert counts[counters.RENDERED] == 1
    assert counts[counters.STORED] == 2
    assert len(origin.of("/", host="shop.test")) == 1
    assert shown["facts"]["rendering"] == "rendered"


def test_doctor_starts_the_browser_and_up_refuses_without_one():
    with Origin({}) as origin, standalone(environ(origin)) as system:
        report = system.aragog("doctor", "--no-workers")
        assert "rendering: Chromium" in report.stdout, report.stdout

        # In the folder of the running system, that system's settings would apply.
        system.environ["ARAGOG_DATA_DIR"] += "/other"
        system.environ["ARAGOG_RENDERING__BROWSER"] = "no-such-browser"
        report = system.aragog("doctor", "--no-workers")
        assert report.returncode == 1
        assert "cannot run any of no-such-browser; install Chromium" in report.stdout
        up = system.aragog("up")
    assert up.returncode != 0
    assert "cannot run any of no-such-browser" in up.stderr
