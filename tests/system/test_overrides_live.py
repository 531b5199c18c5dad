"""A bad overrides file while the whole system runs: the last good one stays, and the logs say so."""

import statistics
import time
from itertools import pairwise

import pytest

from aragog.client import Aragog
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

INTERVAL_MS = 250
SLOWED = f'["slow.test"]\nqps = {1000 / INTERVAL_MS}\n'
# Between it and the 100 ms of the default rate: which of the two is kept, not how well.
BETWEEN_MS = 175


@pytest.fixture
def origin():
    with Origin({"/robots.txt": answer(404), "/*": page(b"<title>here</title>")}) as found:
        yield found


@pytest.fixture
def system(origin, tmp_path):
    (tmp_path / "domains.toml").write_text("")
    environ = {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__OVERRIDES_FILE": str(tmp_path / "domains.toml"),
    }
    with standalone(environ) as found:
        yield found


def logged(system, words, within_s=30):
    """The last line of the fetch worker's log that holds `words`, once it is there."""
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        text = (system.folder / "logs" / "fetch.log").read_text(errors="replace")
        found = [line for line in text.splitlines() if words in line]
        if found:
            return found[-1]
        time.sleep(0.1)
    pytest.fail(f"no word of {words!r}\n{system.logs()}")


def gap_ms(system, origin, name, urls=12):
    """The usual gap between the pages of a crawl of one domain."""
    with Aragog(system.settings) as client:
        client.enqueue([f"http://slow.test/{name}/{n}" for n in range(urls)])
        system.finish(client)
    arrived = sorted(r.monotonic_ms for r in origin.seen if r.path.startswith(f"/{name}/"))
    assert len(arrived) == urls
    return statistics.median(later - earlier for earlier, later in pairwise(arrived))


def test_a_bad_file_keeps_the_last_good_one_and_a_mended_one_counts(system, origin, tmp_path):
    file = tmp_path / "domains.toml"
    assert gap_ms(system, origin, "before") < BETWEEN_MS

    file.write_text(SLOWED)
    time.sleep(1.1)  # every process looks once a second
    assert gap_ms(system, origin, "slowed") > BETWEEN_MS

    file.write_text('["slow.test"]\nqps = "as fast as it goes"\n')
    time.sleep(1.1)
    assert gap_ms(system, origin, "bad") > BETWEEN_MS
    told = logged(system, "previous overrides stay in use")
    assert str(file) in told
    assert "slow.test" in told
    assert "qps" in told
    assert "as fast as it goes" in told

    file.write_text('["slow.test"]\nqps = 100\n')
    time.sleep(1.1)
    assert gap_ms(system, origin, "fast") < BETWEEN_MS
    assert str(file) in logged(system, "reloaded overrides: 1 names")
