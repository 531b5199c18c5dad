"""In the standalone system, the jobs of a killed worker run again at once."""

import os
import signal
import threading

import pytest

from aragog.client import Aragog
from pinlater.admin import Admin
from pinlater.models import JobState
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

CLAIM_TIMEOUT_S = 600
PATIENCE_S = 90


def test_job_of_a_killed_worker_runs_again_before_its_claim_expires():
    requests = []
    finished = threading.Event()

    def slow_once(request, _wire):
        if request.path == "/robots.txt":
            return answer(404)
        requests.append(request.path)
        if len(requests) == 1:
            finished.wait(PATIENCE_S)
        return page(b"<!doctype html><title>a page</title> some words")

    with (
        Origin({"/*": slow_once}) as origin,
        standalone(
            {
                "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
                "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
                "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
                "ARAGOG_BROKER__CLAIM_TIMEOUT_S": str(CLAIM_TIMEOUT_S),
            }
        ) as system,
        Aragog(system.settings) as client,
    ):
        broker = system.settings.resolved().broker
        admin = Admin.connect(broker.url, broker.shards)
        client.enqueue(["http://killed.test/"])
        wait_until(lambda: requests, within_s=PATIENCE_S)
        assert len(admin.jobs("fetch", JobState.RUNNING)) == 1
        os.kill(system.child("fetch").process.pid, signal.SIGKILL)

        system.finish(client, within_s=PATIENCE_S)
        finished.set()

    assert len(requests) == 2
