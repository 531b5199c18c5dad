"""
The interval of a domain is kept by the whole system: workers, robots, redirect hops, on one domain.
"""

import subprocess
import sys
from itertools import pairwise
from statistics import quantiles

import pytest

from aragog.client import Aragog
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

QPS, URLS, MORE_WORKERS = 10, 100, 2
NOISE_MS = 2.0


def test_many_workers_keep_the_interval_of_a_domain_and_use_its_rate(punctual_origin):
    environ = {
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{punctual_origin.port}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__QPS": str(QPS),
    }
    with standalone(environ, frontends=()) as system:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "workers", "fetch", "--hostname", f"fetch{n}@%h"],
                env=system.environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for n in range(MORE_WORKERS)
        ]
        with Aragog(system.settings) as client:
            client.enqueue([f"http://www{n % 5}.busy.test/{n}" for n in range(URLS)])
            system.finish(client)
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(300)

    arrived = [at for at, _, _ in punctual_origin.arrivals()]
    gaps = [later - earlier for earlier, later in pairwise(arrived)]
    assert len(arrived) >= URLS
    assert min(gaps) >= 1000 / QPS - NOISE_MS
    # Only while work was waiting: not the first requests, before all workers ran, nor the last, one
    # by one. A busy machine sends late: `bench.politeness` measures how much of the rate an idle
    # one uses.
    quarter_ms, _, _ = quantiles(gaps[10:-10])
    assert quarter_ms < 1.5 * 1000 / QPS
