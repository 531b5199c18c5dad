"""`aragog run` on a host with a trap and a harmless one: how much it fetches from each."""

import signal

import psutil
import pytest

from bench.traps.harmless_sites import documentation
from bench.traps.measure import crawl
from bench.traps.more_trapped_sites import more_trapped_sites
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

WORKERS = ("fetch", "upkeep", "canonicalize", "store")
KILLED_AT = 60
"""Pages that are fetched before the kill."""


def pager_trap():
    return next(site for site in more_trapped_sites() if site.host == "marlow-walks.test")


def test_run_fetches_all_real_pages_and_few_of_a_trap():
    pager = pager_trap()
    sites = [pager, documentation()]

    scores = crawl(sites, qps=100, for_s=300).scores

    for site in sites:
        assert scores[site.host].fetched == site.pages, site.host
    assert scores[pager.host].in_trap <= 0.1 * len(pager.pages)


def workers_of(pid):
    """The worker processes of a run, by role."""
    found = {}
    for process in psutil.Process(pid).children(recursive=True):
        words = process.cmdline()
        for role in WORKERS:
            if any(role in word for word in words):
                found[role] = process
    return found


def test_run_with_killed_workers_ends_with_every_link_decided():
    """It ended as complete while links were held for pages that the kill had delayed."""
    sites = [pager_trap(), documentation()]

    def kill(web, pid):
        wait_until(
            lambda: sum(len(score.fetched) for score in web.scores.values()) >= KILLED_AT,
            within_s=200,
        )
        workers = workers_of(pid)
        for process in workers.values():
            process.send_signal(signal.SIGKILL)
        assert len(workers) == len(WORKERS), workers

    web = crawl(sites, qps=40, for_s=300, meanwhile=kill)

    assert web.exit_status == 0
    for site in sites:
        assert web.scores[site.host].fetched == site.pages, site.host
