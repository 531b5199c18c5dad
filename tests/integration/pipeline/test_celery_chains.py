"""What Celery users expect of `fetch`, `canonicalize` and `store`: chains, results, URLs."""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from contextlib import contextmanager

import pytest
import redis
from celery import Celery, chain, group
from celery.exceptions import ImproperlyConfigured

from aragog.bootstrap.stores import url_store
from aragog.cli.doctor.finding import CheckedSystem
from aragog.cli.doctor.servers import check_stray_jobs
from aragog.crawl.pipeline.routing import Queue
from aragog.settings import load_settings
from aragog.settings.in_use import SettingsInUse
from pinlater.brokers import celery_settings
from pinlater.envelope import arguments
from pinlater.models import JobState
from pinlater.redis_shard import RedisShard
from tests.support.celery_worker import Worker
from tests.support.documented import blocks
from tests.support.producer import producer_home
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


class Harness:
    """A producer that knows only Celery, and the messages for its own task in the queue `mine`."""

    def __init__(self, home, origin, tmp_path, more):
        self.home, self.origin, self.log = home, origin, tmp_path / "log"
        self.base = f"http://127.0.0.1:{origin.port}"
        self.environ = home.environ | {
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__ALLOWED_PORTS": str(origin.port),
            "ARAGOG_FETCH__USER_AGENT": "test (+http://test.test/)",
            **more,
        }
        self.settings = home.settings
        self.app = Celery("producer", set_as_current=False)
        self.app.conf.update(celery_settings(home.settings.resolved().broker.url))
        self.client = redis.Redis.from_url(f"{home.server.url.partition('?')[0]}?db=1")
        self.shard = RedisShard(self.client)

    def worker(self):
        args = ["-P", "threads", "-c2", "--without-gossip", "--without-mingle"]
        return Worker("workers.app", self.log, env=self.environ, args=args)

    def task(self, name, *args):
        return self.app.signature(name, args=args, queue=Queue.FETCH.value)

    def fetch(self, urls):
        return self.task("aragog.tasks.fetch", urls)

    def mine(self, name="mine"):
        return self.app.signature(name, queue="mine")

    def answers(self):
        """The first argument of each message for our own task."""
        jobs = self.shard.jobs("mine", JobState.PENDING, limit=100)
        return [arguments(job.body)[0] for job in jobs]

    def waiting(self):
        """The number of unfinished jobs of the crawl."""
        sizes = [self.shard.sizes(queue.value) for queue in Queue]
        return sum(size.due + size.later + size.running for size in sizes)


@contextmanager
def harness(origin, tmp_path, **more):
    with producer_home() as home, harness_at(home, origin, tmp_path, **more) as it:
        yield it


@contextmanager
def harness_at(home, origin, tmp_path, **more):
    it = Harness(home, origin, tmp_path, more)
    yield it
    it.app.close()
    it.client.close()


@contextmanager
def store_of(it):
    store = url_store(it.settings)
    yield store
    store.close()


def test_task_chained_after_fetch_runs_once_the_page_is_stored(punctual_origin, tmp_path):
    """It used to run as soon as `fetch` had returned, before the page existed, and got None."""
    with harness(punctual_origin, tmp_path) as it, it.worker():
        url = f"{it.base}/one"
        last = chain(it.fetch(url), it.mine()).apply_async()
        wait_until(it.answers)
        (job,) = it.shard.jobs("mine", JobState.PENDING, limit=9)
        with store_of(it) as store:
            record = store.get(url)

    assert record.content_key
    assert arguments(job.body)[0] == {
        "url": url, "canonical_url": url, "outcome": "Fetched", "status": 200,
    }  # fmt: skip
    assert last.id in job.body.decode()


def test_linked_tasks_and_the_rest_of_a_chain_run_too(punctual_origin, tmp_path):
    with harness(punctual_origin, tmp_path) as it, it.worker():
        fetch = it.fetch(f"{it.base}/one")
        fetch.link(it.mine("linked"))
        fetch.link(it.mine("linked too"))
        chain(fetch, it.mine("second"), it.mine("third")).apply_async()
        wait_until(lambda: len(it.answers()) == 3)
        jobs = it.shard.jobs("mine", JobState.PENDING, limit=9)

    assert sorted(job.name for job in jobs) == ["linked", "linked too", "second"]
    second = next(job for job in jobs if job.name == "second")
    assert "third" in b64decode(json.loads(second.body)["body"]).decode()


def test_chained_task_runs_once_per_url_despite_lines_and_a_kill(punctual_origin, tmp_path):
    """25 URLs of one domain wait in line, and the worker is killed between them."""
    urls = [f"http://127.0.0.1:{punctual_origin.port}/{n}" for n in range(25)]
    with harness(punctual_origin, tmp_path, ARAGOG_POLITENESS__QPS="5") as it:
        chain(it.fetch([*urls, urls[0]]), it.mine()).apply_async()
        with it.worker() as worker:
            wait_until(lambda: len(it.answers()) >= 3)
            worker.kill()
        some = len(it.answers())
        with it.worker():
            wait_until(lambda: len(it.answers()) >= 25)
            wait_until(lambda: not it.waiting())
        answers = it.answers()

    assert some < 25
    assert sorted(answer["url"] for answer in answers) == sorted(urls)
    assert {answer["outcome"] for answer in answers} == {"Fetched"}


def test_stored_or_failed_url_is_answered_too(punctual_origin, tmp_path):
    with harness(punctual_origin, tmp_path, ARAGOG_PIPELINE__MAX_ATTEMPTS="1") as it, it.worker():
        stored, dead = f"{it.base}/one", "http://127.0.0.1:1/"
        chain(it.fetch(stored), it.mine()).apply_async()
        wait_until(it.answers)
        chain(it.fetch([stored, dead]), it.mine()).apply_async()
        wait_until(lambda: len(it.answers()) == 3)
        answers = it.answers()[1:]

    outcomes = {answer["url"]: answer["outcome"] for answer in answers}
    assert outcomes == {stored: "Fetched", dead: "Blocked"}
    assert next(answer for answer in answers if answer["url"] == dead)["reason"]


def test_result_of_fetch_is_its_outcome_with_a_result_backend(punctual_origin, tmp_path):
    with producer_home() as home:
        results = f"redis+socket://{home.server.socket}?virtual_host=4"
        with (
            harness_at(
                home, punctual_origin, tmp_path, ARAGOG_BROKER__RESULT_BACKEND=results
            ) as it,
            it.worker(),
        ):
            it.app.conf.result_backend = results
            one, other = f"{it.base}/one", f"{it.base}/two"
            single = it.fetch(one).apply_async()
            both = it.fetch([one, other]).apply_async()
            header = group(it.fetch(one), it.fetch(other))
            (header | it.mine()).apply_async()

            assert single.get(timeout=60)["outcome"] == "Fetched"
            assert sorted(answer["url"] for answer in both.get(timeout=60)) == [one, other]
            wait_until(it.answers)
            (of_both,) = it.answers()

    assert sorted(answer["url"] for answer in of_both) == [one, other]


def test_result_without_a_backend_is_a_clear_error(monkeypatch):
    """It was NotImplementedError: No result backend is configured."""
    from aragog.workers.app import app

    with pytest.raises(ImproperlyConfigured, match=r"broker\.result_backend"):
        app.AsyncResult("2a06d2f6").get(timeout=1)
    with pytest.raises(ImproperlyConfigured, match=r"broker\.result_backend"):
        _ = app.AsyncResult("2a06d2f6").state


@pytest.mark.parametrize("name", ["aragog.canonicalize", "aragog.store"])
def test_stored_page_can_be_reread_and_rewritten_by_url(punctual_origin, tmp_path, name):
    """The job was FAILED with "batch: version 'str' is not 1"."""
    with harness(punctual_origin, tmp_path) as it, it.worker():
        url = f"{it.base}/one"
        chain(it.fetch(url), it.mine()).apply_async()
        wait_until(it.answers)
        asked = len(it.origin.arrivals())
        with store_of(it) as store:
            record = store.get(url)
            at_ms = int(record.facts["fetched_at_ms"])
            store.fields.replace(url, {}, {}, at_ms=at_ms)
            assert "page.title" not in store.get(url).fields
            it.task(name, url).apply_async()
            wait_until(lambda: store.get(url).fields == record.fields)
        it.task(name, f"{it.base}/never").apply_async()
        wait_until(lambda: it.shard.sizes("fetch").failed == 1)
        (failed,) = it.shard.jobs("fetch", JobState.FAILED, limit=9)

    assert len(it.origin.arrivals()) == asked
    assert "no page is stored for it; fetch it first" in failed.problem


def test_inspect_shows_waiting_urls_by_domain(punctual_origin, tmp_path):
    """`celery inspect scheduled` showed one job or none while URLs waited in line."""
    urls = [f"http://127.0.0.1:{punctual_origin.port}/{n}" for n in range(40)]
    with harness(punctual_origin, tmp_path, ARAGOG_POLITENESS__QPS="0.2") as it, it.worker():
        it.fetch(urls).apply_async()
        inspect = it.app.control.inspect(timeout=10, limit=1)

        def waiting_domain():
            (answer,) = (inspect._request("waiting", domains=5) or {"": {}}).values()
            return answer.get("urls", 0) >= 30 and answer

        answer = wait_until(waiting_domain)
        done = subprocess.run(
            [sys.executable, "-m", "celery", "-A", "aragog.workers", "inspect", "waiting"],
            env=os.environ | it.environ, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    (domain,) = answer["domains"]
    assert domain["domain"] == "127.0.0.1"
    assert domain["urls"] == answer["urls"]
    assert answer["for_robots_txt"] == 0
    assert re.fullmatch(r"now|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*", domain["next"])
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1" in done.stdout


def test_documented_producer_reaches_the_workers(tmp_path, monkeypatch):
    """The ten lines from the documentation, run beside the data folder of `aragog up`."""
    (code,) = blocks("docs/client.md#enqueue-urls", "python", "import os")
    with producer_home() as home:
        (tmp_path / "var").symlink_to(home.folder)
        monkeypatch.chdir(tmp_path)
        exec(compile(code, "docs/client.md#enqueue-urls", "exec"), {})
        jobs = home.jobs()

    urls = [arguments(job.body)[0] for job in jobs]
    assert urls == ["http://shop.example/p/3", ["http://a.example/", "http://b.example/"]]


@pytest.mark.parametrize("transport", ["pinlater+socket", "redis+socket"])
def test_doctor_finds_urls_sent_where_no_worker_reads(transport):
    """Sending them succeeded, and nothing ran."""
    with producer_home() as home:
        wrong = f"{transport}://{home.server.socket}?virtual_host=0"
        with Celery("lost", set_as_current=False) as app:
            app.conf.update(celery_settings(wrong))
            app.send_task("aragog.tasks.fetch", ["http://a.test/"], queue="fetch")
        right = f"pinlater+socket://{home.server.socket}?virtual_host=1"
        of_servers = {"ARAGOG_BROKER__URL": right, "ARAGOG_REDIS__URL": home.server.url}
        settings = load_settings(environ=home.environ | of_servers)
        (finding,) = check_stray_jobs(CheckedSystem(SettingsInUse(settings)))

    assert not finding.ok
    assert "in database 0 of this server, which no worker reads" in finding.text
    assert right in finding.text
