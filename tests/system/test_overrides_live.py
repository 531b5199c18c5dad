"""A bad overrides file while the whole system runs: the last good one stays, and the logs say so."""

import statistics
from itertools import count, pairwise

import pytest

from aragog.client import Aragog
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

INTERVAL_MS = 250
SLOWED = f'["slow.test"]\nqps = {1000 / INTERVAL_MS}\n'
# Between it and the 100 ms of the default rate: which of the two is kept, not how well.
BETWEEN_MS = 175


@pytest.fixture
def system(plain_origin, tmp_path):
    (tmp_path / "domains.toml").write_text("")
    environ = {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={plain_origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__OVERRIDES_FILE": str(tmp_path / "domains.toml"),
    }
    with standalone(environ) as found:
        yield found


def logged(system, words):
    """The last line of the fetch worker's log that holds `words`, if there is one."""
    text = (system.folder / "logs" / "fetch.log").read_text(errors="replace")
    return next((line for line in reversed(text.splitlines()) if words in line), None)


def gap_ms(system, plain_origin, name, urls=12):
    """The usual gap between the pages of a crawl of one domain."""
    with Aragog(system.settings) as client:
        client.enqueue([f"http://slow.test/{name}/{n}" for n in range(urls)])
        system.finish(client)
    arrived = sorted(r.monotonic_ms for r in plain_origin.seen if r.path.startswith(f"/{name}/"))
    assert len(arrived) == urls
    return statistics.median(later - earlier for earlier, later in pairwise(arrived))


def test_a_bad_file_keeps_the_last_good_one_and_a_mended_one_counts(system, plain_origin, tmp_path):
    file, names = tmp_path / "domains.toml", map(str, count())

    def slowed():
        return gap_ms(system, plain_origin, next(names)) > BETWEEN_MS

    # A process looks at the file when it asks for a permit, once a second at most.
    assert not slowed()

    file.write_text(SLOWED)
    wait_until(slowed)

    file.write_text('["slow.test"]\nqps = "as fast as it goes"\n')
    seen = []
    told = wait_until(
        lambda: seen.append(slowed()) or logged(system, "previous overrides stay in use"),
        otherwise=system.logs,
    )
    assert slowed()
    assert all(seen)
    assert str(file) in told
    assert "slow.test" in told
    assert "qps" in told
    assert "as fast as it goes" in told

    file.write_text('["slow.test"]\nqps = 100\n')
    wait_until(lambda: not slowed())
    assert str(file) in logged(system, "reloaded overrides: 1 names")
