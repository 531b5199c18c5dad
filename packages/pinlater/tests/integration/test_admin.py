"""Admin operations, from Python and from the command line."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.redis_server import RedisServer

from pinlater.admin import Admin
from pinlater.brokers import of_socket
from pinlater.claims import worker_name
from pinlater.cli import queue
from pinlater.errors import InvalidArgument
from pinlater.models import ClaimRequest, JobState, Nack, NewJob

pytestmark = pytest.mark.redis


@dataclass
class TwoShards:
    broker_url: str
    shards: tuple[str, ...] = ()


@pytest.fixture
def two_shards(redis_server, redis_url):
    with tempfile.TemporaryDirectory(prefix="pl") as folder, RedisServer(Path(folder)) as second:
        yield TwoShards(of_socket(redis_server.socket), (second.url,))


@pytest.fixture
def admin(two_shards):
    return Admin.connect(two_shards.broker_url, two_shards.shards)


@pytest.fixture
def run(two_shards):
    def run(*args):
        result = CliRunner().invoke(queue, args, obj=two_shards, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def fill(admin, count=50, **more):
    return admin.cluster.enqueue("q", [NewJob(b"body", name="task", **more)] * count)


def fail_all(admin):
    for shard in admin.cluster.shards:
        claims = shard.claim("q", ClaimRequest(limit=200, timeout_ms=9999, worker="w")).claims
        shard.nack("q", [Nack(c.job_id, c.token, "fail", 0, "as asked") for c in claims])


def test_status_covers_all_shards(admin):
    fill(admin, priority=2)

    status = admin.status("q")

    assert admin.queues() == ["q"]
    assert (status.sizes.due, status.sizes.by_priority[2], status.stats["enqueued"]) == (50, 50, 50)
    assert all(shard.sizes("q").pending for shard in admin.cluster.shards)


def test_pause_and_rate_limit_reach_all_shards(admin):
    fill(admin)
    admin.pause("q")
    paused = admin.status("q")
    admin.resume("q")
    admin.limit("q", 20.0)

    assert paused.paused
    assert not admin.status("q").paused
    assert admin.status("q").rate_per_s == 20


def test_failed_jobs_are_retried_and_deleted_by_id_or_all_at_once(admin):
    fill(admin)
    fail_all(admin)
    failed = admin.jobs("q", JobState.FAILED, limit=100)

    assert len(failed) == 50
    assert admin.retry("q", [failed[0].job_id, failed[1].job_id]) == 2
    assert admin.delete("q", JobState.FAILED, [failed[2].job_id]) == 1
    assert admin.find("q", failed[3].job_id).problem == "as asked"
    assert admin.retry("q") == 47
    assert admin.purge("q") == 49
    assert admin.status("q").sizes.pending == 0


def test_invalid_arguments_are_refused(admin):
    for nonsense in (
        lambda: admin.limit("q", 0),
        lambda: admin.configure("q", speed=3),
        lambda: admin.delete("q", JobState.RUNNING),
        lambda: admin.retry("q", ["7"]),
    ):
        with pytest.raises(InvalidArgument):
            nonsense()


def test_every_command_works_and_can_print_json(admin, run):
    fill(admin)

    assert json.loads(run("list", "--json"))[0]["due"] == 50
    assert "50" in run("list")
    assert json.loads(run("pause", "q", "--json")) == {"queue": "q", "paused": True}
    assert "paused" in run("list")
    assert json.loads(run("resume", "q", "--json"))["paused"] is False
    assert run("limit", "q", "2.5") == "q: at most 2.5 jobs/s\n"
    assert json.loads(run("show", "q", "--json"))["rate_per_s"] == 2.5
    assert "enqueued 50" in run("show", "q")
    assert json.loads(run("limit", "q", "none", "--json"))["rate_per_s"] is None
    fail_all(admin)
    failed = json.loads(run("jobs", "q", "--json"))
    assert (len(failed), failed[0]["problem"], failed[0]["body"]) == (50, "as asked", "body")
    assert "as asked" in run("jobs", "q", "-n", "1")
    assert json.loads(run("retry", "q", failed[0]["job_id"], "--json"))["retried"] == 1
    assert json.loads(run("delete", "q", failed[1]["job_id"], "--json"))["deleted"] == 1
    assert run("retry", "q", "--all") == "48 jobs are pending again\n"
    assert json.loads(run("purge", "q", "--yes", "--json"))["deleted"] == 49


def test_jobs_of_a_dead_worker_are_released_in_all_queues(admin, run):
    fill(admin)
    admin.cluster.enqueue("other", [NewJob(b"x")] * 9)
    for shard in admin.cluster.shards:
        for name in ("q", "other"):
            shard.claim(
                name, ClaimRequest(limit=200, timeout_ms=999_999, worker=worker_name(1) + "dead")
            )

    assert json.loads(run("release", worker_name(1), "--json"))["released"] == 59
    assert [admin.status(name).sizes.due for name in ("q", "other")] == [50, 9]
    with pytest.raises(InvalidArgument):
        admin.release("host")


def test_unreachable_shard_is_reported_and_the_others_still_counted(admin, two_shards):
    fill(admin)
    lost = Admin.connect(two_shards.broker_url, ("redis://127.0.0.1:1",))

    status = lost.status("q")

    assert status.missing_shards == ("1",)
    assert status.sizes.due > 0


def test_retry_policy_is_set_by_name_by_value_and_by_job_type(admin, run):
    admin.cluster.enqueue("mail", [NewJob(b"")])

    def policy(*args):
        return json.loads(run("retry-policy", "mail", *args, "--json"))

    named = policy("pinlater")
    typed = policy(
        "--job-type", "digest", "--max-attempts", "3", "--max-age-s", "60", "--growth", "4"
    )
    queue_wide = policy()
    default = policy("default", "--cap-s", "5")

    assert (named["max_attempts"], named["linear_attempts"], named["retry_growth"]) == (11, 5, 2)
    assert (typed["max_attempts"], typed["max_age_ms"], typed["retry_growth"]) == (3, 60_000, 4)
    assert (queue_wide["max_attempts"], queue_wide["max_age_ms"]) == (11, 0)
    assert (default["max_attempts"], default["retry_cap_ms"]) == (10, 5000)
    assert admin.retry_policy("mail", "digest").max_attempts == 3
    shown = run("retry-policy", "mail", "pinlater")
    assert "10 s, 20 s" in shown
    assert "3600000" in shown, "numbers are shown in full, not as 3.6e+06"
    with pytest.raises(InvalidArgument, match="not a retry policy"):
        admin.set_retry_policy("mail", "never")
    with pytest.raises(InvalidArgument, match="not a setting"):
        admin.configure("mail", **{"rate@digest": 3})
    with pytest.raises(AssertionError, match="nan is not a number"):
        run("retry-policy", "mail", "--growth", "nan")
