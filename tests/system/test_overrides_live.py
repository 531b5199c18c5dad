"""Overrides that change while the system runs: in the file, and by an operator."""

import statistics
from itertools import count, pairwise

import pytest

from aragog.client import Aragog
from aragog.crawl.pipeline.counters import RESCHEDULED
from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.runtime.secret import reveal
from tests.support.origin import titled_pages
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

INTERVAL_MS = 250
SLOWED = f'["slow.test"]\nqps = {1000 / INTERVAL_MS}\n'
# Between the test's rate and the 100 ms of the default rate; decides which of the two applies, not
# how exactly.
BETWEEN_MS = 175


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The overrides file, empty at first."""
    path = tmp_path_factory.mktemp("overrides") / "domains.toml"
    path.touch()
    return path


@pytest.fixture(scope="module")
def origin():
    with titled_pages() as running:
        yield running


@pytest.fixture(scope="module")
def system(origin, file):
    environ = {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__OVERRIDES_FILE": str(file),
    }
    with standalone(environ) as running:
        yield running


def logged(system, words):
    """The last line of the fetch worker's log that contains the words, or None."""
    text = (system.folder / "logs" / "fetch.log").read_text(errors="replace")
    return next((line for line in reversed(text.splitlines()) if words in line), None)


def gap_ms(system, origin, domain, name, urls=12):
    """The median gap between the pages of a crawl of one domain."""
    with Aragog(system.settings) as client:
        client.enqueue([f"http://{domain}/{name}/{n}" for n in range(urls)])
        system.finish(client)
    of_domain = [r for r in origin.seen if r.host == domain and r.path.startswith(f"/{name}/")]
    arrived = sorted(r.monotonic_ms for r in of_domain)
    assert len(arrived) == urls
    return statistics.median(later - earlier for earlier, later in pairwise(arrived))


def test_bad_file_keeps_the_last_good_one_and_a_corrected_one_applies(system, origin, file):
    names = map(str, count())

    def slowed():
        return gap_ms(system, origin, "slow.test", next(names)) > BETWEEN_MS

    # A process checks the file when it asks for a permit, at most once a second. On a busy machine,
    # the gaps of a crawl may be longer than its rate requires.
    wait_until(lambda: not slowed())

    file.write_text(SLOWED)
    wait_until(slowed)

    file.write_text('["slow.test"]\nqps = "as fast as it goes"\n')
    seen = []
    reported = wait_until(
        lambda: seen.append(slowed()) or logged(system, "previous overrides stay in use"),
        otherwise=system.logs,
    )
    assert slowed()
    assert all(seen)
    assert str(file) in reported
    assert "slow.test" in reported
    assert "qps" in reported
    assert "as fast as it goes" in reported

    file.write_text('["slow.test"]\nqps = 100\n')
    wait_until(lambda: not slowed())
    assert str(file) in logged(system, "reloaded overrides: 1 names")


def test_operators_rate_and_stop_apply_to_running_workers(system, origin):
    names, shared = map(str, count()), system.settings.resolved().redis
    operator = LiveOverrides(reveal(shared.url), shared.prefix)

    def slowed():
        return gap_ms(system, origin, "rated.test", next(names)) > BETWEEN_MS

    wait_until(lambda: not slowed())
    operator.set_qps("rated.test", 1000 / INTERVAL_MS, who="test")
    wait_until(slowed)

    operator.set_stopped("rated.test", True, who="test")
    operator.set_qps("other.test", 50, who="test")
    with Aragog(system.settings) as client:
        # A worker process that applies a later change has read the stop, too.
        assert wait_until(lambda: stops(client, system, origin, next(names)), otherwise=system.logs)


def stops(client, system, origin, name):
    """Whether a new URL of the stopped domain waits while one of another domain is fetched."""
    before = client.counters().get(RESCHEDULED, 0)
    client.enqueue([f"http://rated.test/{name}/stopped", f"http://other.test/{name}"])
    wait_until(lambda: any(r.path == f"/{name}" for r in origin.seen), otherwise=system.logs)
    wait_until(
        lambda: (
            client.counters().get(RESCHEDULED, 0) > before
            or any(r.path == f"/{name}/stopped" for r in origin.seen)
        ),
        otherwise=system.logs,
    )
    return not any(r.path == f"/{name}/stopped" for r in origin.seen)
