"""A takedown in the middle of a crawl: real Redis, SQLite, a content folder, an origin."""

from dataclasses import replace
from pathlib import Path

import pytest
import redis
from celery import Celery
from click.testing import CliRunner

from aragog.bootstrap.stages import connect
from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.reextract import ReextractBatch
from aragog.crawl.stages.watch import WatchBatch
from aragog.crawl.stages.webhooks import Delivery
from aragog.settings import ContentSettings, FetchSettings, RedisSettings, Settings
from pinlater.admin import Admin
from pinlater.brokers import celery_settings
from pinlater.dead_letters import QUEUE
from pinlater.envelope import arguments
from pinlater.models import ClaimRequest, JobState, Nack
from tests.support.origin import Origin, page, redirect
from tests.support.pipeline_harness import Sent

SECRET = "averyprivatesentence"
HTML = f"<title>{SECRET}</title><p>{SECRET}<a href='http://keep.test/x'>{SECRET}</a>".encode()
GONE, KEEP = "http://gone.test/", "http://keep.test/"
HOP = "http://keep.test/hop"


class Crawl:
    """The stages in one process, on real servers."""

    def __init__(self, folder: Path, redis_url: str, origin: Origin, **settings) -> None:
        self.origin = origin
        self.settings = Settings(
            data_dir=folder,
            redis=RedisSettings(url=redis_url),
            content=ContentSettings(takedown_hours=1e-9),
            fetch=FetchSettings(
                user_agent="aragog/1.0 (+http://127.0.0.1/)",
                host_map={"*.test": origin.address},
                allowed_networks=("127.0.0.0/8",),
            ),
        )
        self.settings = replace(self.settings, **settings)
        self.pipeline = connect(self.settings, Sent())
        self.store = self.pipeline.store.store
        for host in ("gone.test", "keep.test"):
            now_ms = self.pipeline.robots.clock.now_ms()
            self.pipeline.robots.robots.put(f"http://{host}", 200, b"", now_ms)

    def other_process(self):
        """The stages of another process on the same servers."""
        return connect(self.settings, Sent())

    def fetched(self, *urls):
        """The message that fetching produces."""
        jobs = tuple(UrlJob(url=url, refresh=True) for url in urls)
        return next(
            (
                send.message
                for send in self.pipeline.fetch.run(FetchBatch(jobs))
                if send.destination == Destination.CANONICALIZE
            ),
            None,
        )

    def analyzed(self, answers: ResultBatch):
        """The message that canonicalizing produces."""
        sends = self.pipeline.canonicalize.run(answers)
        return next((send.message for send in sends if send.destination == Destination.STORE), None)

    def stored(self, pages: PageBatch) -> None:
        assert self.pipeline.store.run(pages) == []

    def crawl(self, *urls) -> None:
        self.stored(self.analyzed(self.fetched(*urls)))


@pytest.fixture
def origin():
    handlers = {
        "/": lambda *_: page(HTML),
        "/hop": lambda *_: redirect(GONE),
    }
    with Origin(handlers) as started:
        yield started


@pytest.fixture
def crawl(tmp_path, own_redis, origin):
    a_crawl = Crawl(tmp_path, own_redis.url, origin)
    yield a_crawl
    a_crawl.pipeline.close()


def files_with(folder: Path, text: str) -> list[str]:
    """Every file below a folder that contains the text."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    )


def test_takedown_leaves_no_text_in_the_data_folder_or_redis(crawl, tmp_path, own_redis):
    crawl.crawl(GONE)
    crawl.crawl(GONE)
    in_flight = crawl.fetched(GONE)
    analyzed = crawl.analyzed(crawl.fetched(GONE))
    client = redis.Redis.from_url(own_redis.url)
    assert any("store" in name for name in files_with(tmp_path, SECRET))
    assert files_with(own_redis.folder, SECRET)

    assert crawl.store.takedowns.take_down(host="gone.test") == 1
    assert crawl.analyzed(in_flight) is None
    crawl.stored(analyzed)

    assert crawl.store.get(GONE) is None
    for _ in range(2):  # one round rewrites packs, and the next deletes the replaced ones
        crawl.store.maintenance.upkeep_packs()
    assert files_with(tmp_path, SECRET) == []
    assert list((tmp_path / "content").rglob("*.*")) == []
    assert list(client.scan_iter("*spool:*")) == []
    client.bgrewriteaof()
    while client.info("persistence")["aof_rewrite_in_progress"]:
        pass
    client.save()
    assert files_with(own_redis.folder, SECRET) == []


def test_new_url_of_a_taken_down_host_is_neither_enqueued_nor_fetched(crawl):
    crawl.store.takedowns.take_down(host="gone.test")
    crawl.pipeline.maintenance.share_takedowns()

    (answer,) = crawl.pipeline.enqueuer.enqueue([GONE + "new"], EnqueueOptions())
    again = crawl.fetched(GONE + "new")

    assert answer.status is EnqueueStatus.TAKEN_DOWN
    assert again is None
    assert crawl.origin.seen == []


def test_redirect_to_a_taken_down_url_stores_nothing_of_it(crawl, tmp_path):
    crawl.store.takedowns.take_down(url=GONE)

    crawl.crawl(HOP)

    assert [request.path for request in crawl.origin.seen] == ["/hop"]
    record = crawl.store.get(HOP)
    assert "gone.test" not in str(record)
    assert crawl.store.aliases.of(GONE) == []
    assert files_with(tmp_path, SECRET) == []


def test_text_from_a_redirect_is_deleted_and_not_stored_by_a_refresh(crawl, tmp_path):
    crawl.crawl(HOP)
    assert SECRET in crawl.store.get(HOP).fields["page.title"].decode()

    crawl.store.takedowns.take_down(host="gone.test")

    assert crawl.store.get(HOP) is None
    assert crawl.store.pages.urls_of_host("keep.test").items == []
    for _ in range(2):  # one round rewrites packs, and the next deletes the replaced ones
        crawl.store.maintenance.upkeep_packs()
    assert files_with(tmp_path, SECRET) == []
    crawl.crawl(HOP)
    assert crawl.store.get(HOP).facts["outcome"] == "Refused"
    assert crawl.store.content(HOP) is None


def test_page_that_moves_to_a_taken_down_url_is_deleted_when_refreshed(crawl):
    crawl.crawl(KEEP)
    crawl.store.takedowns.take_down(url=GONE)
    crawl.origin.handlers["/"] = lambda *_: redirect(GONE)

    crawl.crawl(KEEP)

    assert crawl.store.content(KEEP) is None
    assert crawl.store.get(KEEP).fields == {}


def test_blocked_host_is_not_fetched_directly_or_by_a_redirect(crawl):
    blocked = Overrides(blocked_hosts=BlockedHosts(["gone.test"]))
    fetch = crawl.pipeline.fetch
    rules = replace(fetch.access.rules, overrides=blocked)
    requester = replace(fetch.requester, access=replace(fetch.access, rules=rules))
    crawl.pipeline = replace(crawl.pipeline, fetch=replace(fetch, requester=requester))

    crawl.crawl(GONE, HOP)

    assert [request.path for request in crawl.origin.seen] == ["/hop"]
    assert crawl.store.get(GONE).facts["reason"] == "politeness.blocked_hosts contains gone.test"


@pytest.fixture
def run(tmp_path, own_redis, monkeypatch):
    """`aragog store …` on its own folder."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "cli"))
    monkeypatch.setenv("ARAGOG_REDIS__URL", own_redis.url)

    def call(*arguments):
        return CliRunner().invoke(main, ["store", *arguments], catch_exceptions=False)

    return call


def test_takedown_of_one_url_applies_to_every_spelling(run, tmp_path, own_redis):
    store = url_store(Settings(data_dir=tmp_path / "cli"))
    store.put(GONE, {"t": b"1"})
    store.close()

    assert run("takedown", "--url", GONE, "--yes").exit_code == 0

    assert run("takedowns").output.split() == ["url", GONE]
    shown = CliRunner().invoke(main, ["show", GONE])
    assert f"{GONE}: was taken down" in shown.output
    client = redis.Redis.from_url(own_redis.url)
    blocks = SiteBlocks(client, prefix="aragog:")
    assert blocks.refused([GONE, GONE + "other", KEEP]) == {GONE}
    assert run("lift-takedown", GONE).exit_code == 0
    assert run("takedowns").output == ""
    assert blocks.refused([GONE]) == set()


def test_url_taken_down_alone_is_not_enqueued(crawl):
    crawl.store.takedowns.take_down(url=GONE)
    crawl.pipeline.maintenance.share_takedowns()

    (result,) = crawl.pipeline.enqueuer.enqueue([GONE], EnqueueOptions())

    assert (result.status, result.reason) == (EnqueueStatus.TAKEN_DOWN, "it was taken down")


def test_alias_on_another_host_is_taken_down_alone_and_its_target_named(run, tmp_path):
    store = url_store(Settings(data_dir=tmp_path / "cli"))
    store.put(KEEP, {"t": b"1"})
    store.aliases.merge(GONE, KEEP)
    store.aliases.merge(KEEP + "other", KEEP)

    reported = run("takedown", "--url", GONE, "--yes")

    assert f"alias of {KEEP}, which is on another host and is kept" in reported.output
    assert store.get(KEEP).fields == {"t": b"1"}
    assert run("takedown", "--url", KEEP + "other", "--yes").exit_code == 0
    assert store.get(KEEP) is None
    store.close()


@pytest.mark.parametrize("host", ["gone.test:8080", "http://gone.test/", "gone.test/a", "b c"])
def test_invalid_host_exits_with_2_and_the_reason(run, host):
    reported = run("takedown", "--host", host, "--yes")

    assert reported.exit_code == 2
    assert "Invalid value for '--host'" in reported.output
    assert "forgotten" not in reported.output


def test_takedown_command_takes_exactly_one_target(run):
    assert run("takedown", "--yes").exit_code == 2
    assert run("takedown", "--host", "a.test", "--domain", "b.test", "--yes").exit_code == 2


def test_takedown_is_shown_listed_shared_and_lifted(run, tmp_path, own_redis):
    reported = run("takedown", "--host", "GONE.test.", "--yes")

    assert reported.exit_code == 0
    assert "gone.test: 0 URLs deleted; it is refused from now on" in reported.output
    assert run("takedowns").output.split() == ["host", "gone.test"]
    client = redis.Redis.from_url(own_redis.url)
    assert client.smembers("aragog:taken_down") == {b"host:gone.test"}
    assert run("lift-takedown", "--host", "gone.test").exit_code == 0
    assert client.smembers("aragog:taken_down") == set()
    assert run("lift-takedown", "--host", "gone.test").exit_code == 2
    assert run("takedowns").output == ""


def test_stores_of_two_processes_agree_at_once(tmp_path):
    settings = Settings(data_dir=tmp_path)
    here, there = url_store(settings), url_store(settings)
    assert there.takedowns.refused([GONE]) == set()

    here.takedowns.take_down(host="gone.test")

    assert there.takedowns.refused([GONE]) == {GONE}
    here.close()
    there.close()


@pytest.fixture
def with_broker(tmp_path, own_redis, monkeypatch):
    """Configures commands for the test's store, its Redis and a broker with this scheme."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_REDIS__URL", own_redis.url)

    def use(scheme, database):
        url = f"{scheme}://{own_redis.socket}?virtual_host={database}"
        monkeypatch.setenv("ARAGOG_BROKER__URL", url)
        return url

    return use


def send_failed_and_waiting(broker_url, messages):
    """Send each (task, message); those that should be FAILED are claimed and given up."""
    app = Celery("test-takedown", set_as_current=False)
    app.conf.update(celery_settings(broker_url, (), 60.0))
    sender, admin = CelerySender(app), Admin.connect(broker_url)
    for task, message, state in messages:
        sender.send(OutgoingMessage(task, message))
        if state is JobState.FAILED:
            (shard,) = admin.cluster.shards
            queue = task.queue
            (claim,) = shard.claim(
                queue, ClaimRequest(limit=1, timeout_ms=60_000, worker="w")
            ).claims
            shard.nack(queue, [Nack(claim.job_id, claim.token, "fail", 0, f"{SECRET} at {GONE}")])
    return admin


def test_takedown_purges_failed_messages_spool_deliveries_and_robots_rules(
    tmp_path, own_redis, origin, with_broker
):
    broker_url = with_broker("pinlater+socket", 0)
    crawl = Crawl(tmp_path, own_redis.url, origin)
    crawl.pipeline.robots.robots.put(
        "http://gone.test",
        200,
        b"Disallow: /" + SECRET.encode(),
        crawl.pipeline.robots.clock.now_ms(),
    )
    results = crawl.fetched(GONE, KEEP)
    others = crawl.analyzed(crawl.fetched(GONE, KEEP))
    changes = tuple(
        {"url": url, "fields": {"page.title": SECRET * (url == GONE)}} for url in (GONE, KEEP)
    )
    delivery = Delivery("hook", "cursor", changes)
    admin = send_failed_and_waiting(
        broker_url,
        [
            (Destination.CANONICALIZE, results, JobState.FAILED),
            (Destination.CANONICALIZE, crawl.fetched(GONE), JobState.PENDING),
            (Destination.STORE, others, JobState.PENDING),
            (Destination.WEBHOOK, delivery, JobState.PENDING),
        ],
    )
    done = CliRunner().invoke(main, ["store", "takedown", "--host", "gone.test", "--yes"])

    assert done.exit_code == 0, done.output
    assert "also removed: 3 messages" in done.output
    assert "rules of 1 origins" in done.output
    assert admin.jobs("canonicalize", JobState.FAILED) == []
    assert admin.jobs("canonicalize", JobState.PENDING) == []
    assert admin.jobs("store", JobState.PENDING) == []
    fetches = [arguments(job.body)[0] for job in admin.jobs("fetch", JobState.PENDING)]
    assert [[job["url"] for job in fetch["urls"]] for fetch in fetches] == [[KEEP], [KEEP]]
    (left,) = [arguments(job.body)[0] for job in admin.jobs("webhooks", JobState.PENDING)]
    assert [change["url"] for change in left["changes"]] == [KEEP]
    assert Delivery.read(left).id == delivery.id
    client = redis.Redis.from_url(own_redis.url)
    assert client.keys("*spool:*") == []
    assert client.keys("*robots:http://gone.test*") == []
    assert client.zscore("aragog:robots.due", "http://gone.test") is None
    assert client.zrange("aragog:robots.domain:gone.test", 0, -1) == []
    assert crawl.pipeline.robots.robots.get("http://keep.test").rules is not None
    client.bgrewriteaof()
    while client.info("persistence")["aof_rewrite_in_progress"]:
        pass
    client.save()
    assert files_with(own_redis.folder, SECRET) == []
    crawl.pipeline.close()


def test_takedown_removes_waiting_messages_that_name_it(tmp_path, own_redis, origin, with_broker):
    """
    In any stage; messages about other URLs stay, and those of other applications are not read.
    """
    broker_url = with_broker("pinlater+socket", 0)
    crawl = Crawl(tmp_path, own_redis.url, origin)
    jobs = UrlJob(url=GONE + "waits", attempt=2), UrlJob(url=KEEP + "waits", attempt=2)
    results = crawl.fetched(GONE, KEEP)
    crawl.pipeline.enqueuer.enqueue([GONE + "waits"], EnqueueOptions())
    origins = ("http://gone.test", "http://keep.test")
    admin = send_failed_and_waiting(
        broker_url,
        [
            (Destination.FETCH, FetchBatch(jobs), JobState.PENDING),
            (Destination.FETCH, FetchBatch(jobs[:1]), JobState.PENDING),
            (
                Destination.ROBOTS,
                RobotsBatch(origins, jobs, slots=dict.fromkeys(origins, 7)),
                JobState.PENDING,
            ),
            (Destination.RENDER, results, JobState.PENDING),
            (Destination.CANONICALIZE, results, JobState.PENDING),
            (Destination.REEXTRACT, ReextractBatch((GONE, KEEP)), JobState.PENDING),
            (Destination.WATCHES, WatchBatch((GONE, KEEP), "team", True, 1), JobState.PENDING),
        ],
    )
    foreign = Celery("another", set_as_current=False)
    foreign.conf.update(celery_settings(broker_url, (), 60.0))
    foreign.send_task("their.task", (GONE,), queue="theirs")

    done = CliRunner().invoke(main, ["store", "takedown", "--host", "gone.test", "--yes"])

    assert done.exit_code == 0, done.output
    assert "also removed: 7 messages, 2 bodies" in done.output
    waiting = {
        (queue, job.name): (arguments(job.body)[0], job.body)
        for queue in admin.queues()
        for job in admin.jobs(queue, JobState.PENDING)
    }
    assert waiting.pop(("theirs", "their.task"))[0] == GONE
    assert not [name for name, (left, body) in waiting.items() if "gone.test" in f"{left}{body!r}"]
    left = {name: message for (_, name), (message, _) in waiting.items()}
    assert FetchBatch.read(left["aragog.fetch"]).jobs == jobs[1:]
    robots = RobotsBatch.read(left["aragog.robots"])
    assert (robots.origins, robots.jobs, robots.slots) == (origins[1:], jobs[1:], {origins[1]: 7})
    assert left["aragog.render"] == left["aragog.canonicalize"]
    (kept,) = ResultBatch.read(left["aragog.canonicalize"]).results
    assert crawl.pipeline.canonicalize.run(ResultBatch((kept,))) != []
    assert ReextractBatch.read(left["aragog.reextract"]).urls == (KEEP,)
    assert WatchBatch.read(left["aragog.watches"]).urls == (KEEP,)
    client = redis.Redis.from_url(own_redis.url)
    assert not InFlightSet(client, prefix="aragog:").contains(GONE + "waits")
    crawl.pipeline.close()


def test_takedown_removes_dead_letters_on_other_brokers(with_broker):
    broker_url = with_broker("redis+socket", 1)
    app = Celery("test-takedown", set_as_current=False)
    app.conf.update(celery_settings(broker_url))
    for url in (KEEP + "1", GONE, KEEP + "2", GONE + "new", KEEP + "3"):
        app.send_task("aragog.fetch", (FetchBatch((UrlJob(url=url),)).wire(),), queue=QUEUE)

    done = CliRunner().invoke(main, ["store", "takedown", "--host", "gone.test", "--yes"])

    assert "also removed: 2 messages" in done.output
    with app.connection() as connection:
        queue = app.amqp.queues.new_missing(QUEUE).bind(connection.default_channel)
        left = [queue.get(no_ack=True).decode()[0][0]["urls"][0]["url"] for _ in range(3)]
        assert queue.get() is None
    assert left == [KEEP + "1", KEEP + "2", KEEP + "3"]
