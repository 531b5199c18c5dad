"""
Workers of an earlier version beside current ones, on one Redis and one store, until everything is
stored.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, closing

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline.routing import Queue
from aragog.urlstore.packs.dictionaries import Dictionary
from pinlater.admin import Admin
from pinlater.models import JobState
from tests.support import earlier_version
from tests.support.celery_worker import Worker
from tests.support.earlier_version import EarlierWorker
from tests.support.origin import Origin, answer, page, redirect
from tests.support.producer import producer_home
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOSTS = [f"site-{number}.test" for number in range(8)]
PAGES = 24
SENDS, READS = (Queue.FETCH, Queue.ROBOTS), (Queue.CANONICALIZE, Queue.STORE, Queue.UPKEEP)
WAYS = {
    "current versions fetch, earlier ones read": (SENDS, READS),
    "earlier versions fetch, current ones read": (READS, SENDS),
    "both do everything": (SENDS + READS, SENDS + READS),
}
"""The queues of current workers, and those of the earlier version."""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    return earlier_version.installed(tmp_path_factory.mktemp("earlier"))


robots_requested = set()
"""Hosts whose robots.txt was requested; the first request to the first host fails."""


def served(request, _wire):
    """A site of pages that link to the next ones, with every kind of outcome."""
    host, path = request.host.partition(":")[0], request.path
    if path == "/robots.txt" and host not in robots_requested:
        robots_requested.add(host)
        if host == HOSTS[0]:
            return answer(500)
    if path == "/robots.txt":
        rules = b"User-agent: *\nDisallow: /closed\nContent-Usage: train-ai=n\nCrawl-delay: 0.05\n"
        return answer(200, rules, headers=(("Content-Type", "text/plain"), ("ETag", '"1"')))
    if path == "/moved":
        other = HOSTS[(HOSTS.index(host) + 1) % len(HOSTS)]
        return redirect(f"http://{other}/page/1")
    if not path.startswith("/page/"):
        return answer(404)
    number = int(path.rpartition("/")[2])
    headers = (("ETag", f'"{number}"'), ("X-Odd", "1"))
    return page(body_of(f"http://{host}{path}"), headers=headers)


def body_of(url):
    """The page at a URL."""
    host, number = host_and_number(url)
    links = "".join(f'<a href="/page/{2 * number + n}">next</a>' for n in (0, 1))
    return f"<!doctype html><title>{host} {number}</title>{links} some words".encode()


def host_and_number(url):
    _, _, host, _, number = url.split("/")
    return host, int(number)


def given(host):
    return [f"http://{host}/{path}" for path in ("moved", "gone", "closed", "page/1")]


def expected(host):
    outcomes = {f"http://{host}/page/{number}": "Fetched" for number in range(1, PAGES)}
    moved, gone, closed, _ = given(host)
    return outcomes | {moved: "Fetched", gone: "Gone", closed: "Refused"}


def create_earlier_store(data_dir):
    """A store created by the earlier version, which refuses a later format."""
    (data_dir / "store").mkdir(parents=True)
    (data_dir / "store" / "format").write_text("1\n")


def use_dictionary(settings):
    """Put a dictionary into use; returns its id."""
    pages = [body_of(f"http://{host}/page/{n}") for host in HOSTS for n in range(PAGES)]
    made = Dictionary.train([one * 20 for one in pages])
    with closing(url_store(settings)) as store:
        records = store.bodies.packs.shared.records
        records.add(made, [])
        records.use(made.id)
    return made.id


def done_by(admin, queue):
    """The process IDs of the workers that ran the jobs of a queue."""
    jobs = admin.jobs(queue, JobState.SUCCEEDED, limit=500)
    return {int(job.worker.split(":")[1]) for job in jobs}


@pytest.mark.parametrize("way", WAYS)
def test_workers_of_both_versions_store_every_page(earlier, tmp_path, way):
    """An old worker that could not read a new field stopped the crawl at 333 of 1,200 pages."""
    assert len(crawl_with_both(earlier, tmp_path, *WAYS[way])) == len(HOSTS) * (PAGES - 1)


def test_no_page_is_lost_if_current_workers_compress_with_a_dictionary(earlier, tmp_path):
    """Earlier workers cannot read such bodies, so they must return the messages to the queue."""
    bodies = crawl_with_both(
        earlier, tmp_path, SENDS + READS, (*SENDS, Queue.CANONICALIZE, Queue.STORE), dictionary=True
    )

    assert {url: body for url, body in bodies.items() if body != body_of(url)} == {}


def crawl_with_both(earlier, tmp_path, todays, theirs, *, dictionary=False):
    """
    Crawl with workers of both versions on these queues, and check that all pages are stored.

    Returns the bodies of the pages. With `dictionary`, current workers compress them with one.
    """
    workers = []
    robots_requested.clear()
    urls = [url for host in HOSTS for url in given(host)]
    # Links to pages beyond the limit come from its last pages.
    limit = {f"//{host}/page/{n}": answer(404) for host in HOSTS for n in range(PAGES, 2 * PAGES)}
    with Origin(limit | {"*": served}) as origin, producer_home() as home, ExitStack() as stack:
        create_earlier_store(home.settings.data_dir)
        in_use = use_dictionary(home.settings) if dictionary else 0
        environ = home.environ | {
            "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_POLITENESS__QPS": "200",
            "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "5",
        }
        for name, queues in (("today", todays), ("earlier", theirs)):
            args = ["-P", "threads", "-c", "4", "--without-gossip", "--without-mingle"]
            args += ["-Q", ",".join(queues)]
            log = tmp_path / f"{name}.log"
            worker = (
                Worker("workers.app", log, env=environ, args=args)
                if name == "today"
                else EarlierWorker(earlier, log, environ, args)
            )
            workers.append(stack.enter_context(worker))
        pids = [worker.process.pid for worker in workers]
        client = stack.enter_context(Aragog(home.settings))
        list(client.enqueue(urls, depth=10))

        def progress():
            logs = [path.read_text()[-3000:] for path in tmp_path.glob("*.log")]
            return f"{client.in_flight()} wait; {client.counters()}\n" + "\n".join(logs)

        wait_until(lambda: not client.in_flight(), 240, every_s=0.2, otherwise=progress)
        broker = home.settings.resolved().broker
        admin = Admin.connect(broker.url, broker.shards)
        failed = [job for queue in Queue for job in admin.jobs(queue, JobState.FAILED)]
        ran = {queue: done_by(admin, queue) for queue in {*todays, *theirs} - {Queue.UPKEEP}}
        store = url_store(home.settings)
        every = {url: outcome for host in HOSTS for url, outcome in expected(host).items()}
        records = dict(zip(every, store.get_many(list(every)), strict=True))
        found = [url for url in every if "/page/" in url]
        bodies = {url: content.body for url in found if (content := store.content(url))}
        packs = list(store.bodies.packs.shared.records.packs_with(in_use))
        store.close()

    assert bool(packs) is dictionary
    assert list(bodies) == found
    assert [job.problem for job in failed] == []
    assert {u: record and record.facts.get("outcome") for u, record in records.items()} == every
    titles = {
        u: record.fields["page.title"].decode() for u, record in records.items() if "/page/" in u
    }
    assert all(json.loads(title).split()[-1] == u.rpartition("/")[2] for u, title in titles.items())
    assert all(ran.values())
    assert set().union(*ran.values()) == set(pids)
    for queue, done in ran.items():
        assert done <= {
            pid for pid, its in zip(pids, (todays, theirs), strict=True) if queue in its
        }
    return bodies
