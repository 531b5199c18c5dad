"""
Compare pinlater with kombu's own Redis transport, in one run, on a private redis-server.

    python -m bench.pinlater [raw] [scheduled] [lateness] [throughput] [kill] [--jobs N] [--tasks N]

Without a name all but `kill` run, in a minute and a half. `kill` shows what happens to 500 running
and 100,000 pending jobs when their worker is killed, in one or two minutes. Only ratios are
comparable; the rest depends on the machine and its load.
"""

import argparse
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import psutil
import redis
from celery import Celery
from rich.console import Console
from rich.table import Table

import pinlater  # noqa: F401
from aragog.standalone.redis_server import RedisServer
from bench.backlog import costs_per_job, middle
from bench.quick import add_quick
from pinlater.brokers import of_socket
from pinlater.cluster import Cluster, connect_shards
from pinlater.envelope import to_job
from pinlater.models import ClaimRequest, NewJob
from pinlater.redis_shard import RedisShard

ROOT = Path(__file__).parents[1]
console = Console()

app = Celery("bench", broker=os.environ.get("BENCH_BROKER", "memory://"), set_as_current=False)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "4")),
    broker_transport_options={"claim_timeout_s": float(os.environ.get("BENCH_CLAIM_S", "60"))},
    broker_connection_retry_on_startup=True,
)


latenesses_s, base_times = [], []


@app.task(name="noop")
def noop():
    pass


@app.task(name="late")
def late(delay_s):
    if not base_times:
        base_times.append(float(redis_client().get("base")))
    latenesses_s.append(time.time() - base_times[0] - delay_s)
    if len(latenesses_s) >= 50:
        redis_client().rpush("late", *[latenesses_s.pop() for _ in range(50)])


@app.task(name="mark")
def note_run(number):
    with Path(os.environ["BENCH_NOTES"]).open("ab", buffering=0) as file:
        file.write(b"%d\n" % number)
    while "BENCH_BLOCK" in os.environ:
        time.sleep(60)


def redis_client(client=[]):  # noqa: B006
    if not client:
        client.append(redis.Redis.from_url(os.environ["BENCH_NOTES"]))
    return client[0]


@contextlib.contextmanager
def server():
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        RedisServer(Path(folder)) as redis_server,
    ):
        yield redis_server


@contextlib.contextmanager
def worker(broker, *args, app="bench.pinlater", notes="", prefetch=4, **environ):
    env = os.environ | environ | {
        "BENCH_BROKER": broker, "BENCH_NOTES": notes, "PYTHONPATH": str(ROOT),
        "BENCH_PREFETCH": str(prefetch), "C_FORCE_ROOT": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "celery", "-A", app, "worker",
         "-l", "ERROR", "--without-gossip", "--without-mingle", *args],
        env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield psutil.Process(process.pid)
    finally:
        # A busy prefork pool takes half a minute to stop, with any broker.
        with contextlib.suppress(psutil.NoSuchProcess):
            pool = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            for child in pool:
                child.kill()
        process.wait()


def brokers(redis_server):
    return {
        "redis": f"redis+socket://{redis_server.socket}",
        "pinlater": of_socket(redis_server.socket),
    }


def noop_envelope():
    with Celery("e", broker="memory://") as app, app.connection() as connection:
        app.send_task("noop", queue="x", connection=connection)
        channel = connection.default_channel
        return channel._get("x")


def fill(redis_server, name, count):
    """Enqueue `count` no-ops in the fastest way."""
    message = noop_envelope()
    if name == "pinlater":
        job = to_job(message, priority=0, now=None)
        Cluster(connect_shards([redis_server.url])).enqueue("celery", [job] * count)
        return
    with (
        redis.Redis.from_url(redis_server.url) as client,
        client.pipeline(transaction=False) as pipe,
    ):
        for i in range(count):
            message["properties"]["delivery_tag"] = str(i)
            pipe.lpush("celery", json.dumps(message))
        pipe.execute()


def count_left(redis_server, name):
    if name == "pinlater":
        sizes = RedisShard(redis.Redis.from_url(redis_server.url)).sizes("celery")
        return sizes.pending + sizes.running
    with redis.Redis.from_url(redis_server.url) as client:
        return client.llen("celery") + client.hlen("unacked")


def drain(redis_server, name, count, *args):
    """
    Return jobs per second and main-process CPU µs per job for the middle 80% of
    `count` no-ops.
    """

    def run_down(count):
        fill(redis_server, name, count)
        with worker(brokers(redis_server)[name], *args) as process:
            return middle(
                count,
                lambda: count_left(redis_server, name),
                lambda: (time.monotonic(), sum(process.cpu_times()[:2])),
            )

    s_per_job, cpu_s = costs_per_job(count, run_down)
    return 1 / s_per_job, cpu_s * 1e6


def measure_throughput(count, rounds):
    table = Table("pool", "redis:// /s", "pinlater:// /s", "ratio", "main CPU µs per task")
    pools = {"prefork -c2": ("-P", "prefork", "-c2"), "threads -c4": ("-P", "threads", "-c4")}
    for pool, args in pools.items():
        rates = {"redis": [], "pinlater": []}
        for round_ in range(rounds):
            for name in ("redis", "pinlater") if round_ % 2 == 0 else ("pinlater", "redis"):
                with server() as redis_server:
                    rates[name].append(drain(redis_server, name, count, *args))
        (redis_rate, redis_cpu_us), (pinlater_rate, pinlater_cpu_us) = (
            max(rates["redis"]),
            max(rates["pinlater"]),
        )
        table.add_row(
            pool,
            f"{redis_rate:,.0f}",
            f"{pinlater_rate:,.0f}",
            f"{pinlater_rate / redis_rate:.2f}",
            f"{redis_cpu_us:.0f} / {pinlater_cpu_us:.0f}",
        )
    console.print(f"no-op tasks, {count:,} waiting, best of {rounds}", table)


def measure_scheduled(count):
    with server() as redis_server:
        client = redis.Redis.from_url(redis_server.url)
        message = noop_envelope()
        job = to_job(message, priority=0, now=None)
        job_in_an_hour = NewJob(job.body, delay_ms=3_600_000, name=job.name, key=job.key)
        cluster = Cluster(connect_shards([redis_server.url], socket_timeout_s=30))
        with worker(brokers(redis_server)["pinlater"], "-P", "threads", "-c2") as process:
            while not client.keys("*wake") and not client.pubsub_channels():
                if client.info("clients")["blocked_clients"]:
                    break
                time.sleep(0.1)
            time.sleep(1)
            memory_before, rss_before = (
                client.info("memory")["used_memory"],
                process.memory_info().rss,
            )
            started_s = time.monotonic()
            for _ in range(0, count, 10_000):
                cluster.enqueue("celery", [job_in_an_hour] * 10_000)
            took_s = time.monotonic() - started_s
            time.sleep(3)
            memory, rss = client.info("memory")["used_memory"], process.memory_info().rss
        bytes_per_job = (memory - memory_before) / count
        table = Table(
            "jobs",
            "worker RSS before",
            "growth",
            "Redis bytes per job",
            "without its body",
            "enqueued /s",
        )
        table.add_row(
            f"{count:,}", f"{rss_before / 2**20:.1f} MiB", f"{(rss - rss_before) / 2**20:.1f} MiB",
            f"{bytes_per_job:,.0f}", f"{bytes_per_job - len(job.body):,.0f} (body {len(job.body)})", f"{count / took_s:,.0f}",
        )  # fmt: skip
        console.print("jobs due in an hour, with a waiting worker", table)


def measure_lateness(count, span_s=15.0, head_s=3.0):
    with (
        server() as redis_server,
        Celery("e", broker="memory://") as producer,
        producer.connection() as connection,
    ):
        client = redis.Redis.from_url(redis_server.url)
        delays_s = [span_s * i / count for i in range(count)]
        jobs = []
        for delay_s in delays_s:
            producer.send_task("late", (delay_s,), queue="x", connection=connection)
            message = connection.default_channel._get("x")
            jobs.append(to_job(message, priority=0, now=datetime.now(UTC)))
        with worker(
            brokers(redis_server)["pinlater"],
            "-P",
            "threads",
            "-c4",
            notes=redis_server.url,
            prefetch=16,
        ):
            cluster = Cluster(connect_shards([redis_server.url]))
            base = time.time() + head_s
            client.set("base", base)
            # In small batches, because a delay counts from when the server receives it.
            for start in range(0, count, 200):
                until_base_s = base - time.time()
                batch = [
                    NewJob(j.body, delay_ms=round((until_base_s + s) * 1000), name=j.name)
                    for s, j in zip(
                        delays_s[start : start + 200], jobs[start : start + 200], strict=True
                    )
                ]
                cluster.enqueue("celery", batch)
            deadline_s = time.monotonic() + head_s + span_s + 30
            # A process may not have reported up to 50 yet.
            while client.llen("late") < count - 50 and time.monotonic() < deadline_s:
                time.sleep(0.2)
        ms = sorted(float(x) * 1000 for x in client.lrange("late", 0, -1))
        table = Table("jobs", "over", "p50 ms", "p99 ms", "max ms")
        table.add_row(
            f"{len(ms):,}", f"{span_s:.0f} s", f"{ms[len(ms) // 2]:.1f}",
            f"{ms[int(len(ms) * 0.99)]:.1f}", f"{ms[-1]:.1f}",
        )  # fmt: skip
        console.print("lateness, threads -c4", table)


def measure_raw(count=40_000, batch=100):
    with server() as redis_server:
        client = redis.Redis.from_url(redis_server.url)
        shard = RedisShard(client)
        body = b"x" * 900
        table = Table("what", "/s", "Redis CPU µs each")

        def row(label, run):
            cpu, started_s = server_cpu(client), time.monotonic()
            run()
            took_s = time.monotonic() - started_s
            table.add_row(
                label, f"{count / took_s:,.0f}", f"{(server_cpu(client) - cpu) / count * 1e6:.1f}"
            )

        def enqueue():
            for _ in range(0, count, 1000):
                shard.enqueue("q", [NewJob(body)] * 1000)

        def claim_and_ack():
            while claims := shard.claim(
                "q", ClaimRequest(limit=batch, timeout_ms=60_000, worker="w")
            ).claims:
                shard.ack("q", [(c.job_id, c.token) for c in claims])

        row("enqueue, 1,000 per round trip", enqueue)
        row(f"claim and ack, {batch} per round trip", claim_and_ack)
        benchmark = subprocess.run(
            ["redis-benchmark", "-s", str(redis_server.socket), "-t", "ping_mbulk,lpush", "-d", "900", "-n", "50000", "--csv"],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        for line in benchmark.splitlines()[1:]:
            name, rate = line.replace('"', "").split(",")[:2]
            table.add_row(f"redis-benchmark {name}, 50 clients", f"{float(rate):,.0f}", "")
        console.print("one shard, 900 B bodies, one Python client", table)


def measure_kill(waiting, in_flight=500, claim_timeout_s=5.0):
    """Check that all jobs run exactly once, except a killed worker's, which run at least once."""
    with server() as redis_server, tempfile.TemporaryDirectory(prefix="ar") as folder:
        notes, count = Path(folder) / "notes", waiting + in_flight
        notes.touch()
        shard = RedisShard(redis.Redis.from_url(redis_server.url))
        broker, environ = brokers(redis_server)["pinlater"], {"BENCH_CLAIM_S": str(claim_timeout_s)}
        enqueue_marks(redis_server, count)
        args = ("-P", "threads", "-c50")
        with worker(
            broker, *args, notes=str(notes), prefetch=in_flight // 50, BENCH_BLOCK="1", **environ
        ) as killed_worker:
            wait_until(lambda: shard.sizes("celery").running >= in_flight)
            killed_worker.kill()
            killed_s = time.monotonic()
            claims = shard.jobs("celery", "RUNNING", limit=count)
            held_jobs, owner = {number_of(job.body) for job in claims}, claims[0].worker
        with worker(broker, *args, notes=str(notes), prefetch=4, **environ):
            wait_until(
                lambda: all(
                    job.worker != owner for job in shard.jobs("celery", "RUNNING", limit=1000)
                )
            )
            returned_s = time.monotonic() - killed_s
            wait_until(lambda: not count_left(redis_server, "pinlater"))
        took_s = time.monotonic() - killed_s
        ran = Counter(map(int, notes.read_bytes().split()))
        table = Table(
            "jobs", "claimed", "lost", "run twice", "of these claimed", "returned", "all done"
        )
        twice = {number for number, times in ran.items() if times > 1}
        table.add_row(
            f"{count:,}", f"{len(held_jobs)}", f"{count - len(ran)}", f"{len(twice)}",
            f"{len(twice & held_jobs)}", f"{returned_s:.1f} s", f"{took_s:.0f} s",
        )  # fmt: skip
        console.print(f"a worker killed, claims of {claim_timeout_s:.0f} s", table)
        if len(ran) != count or not twice <= held_jobs:
            sys.exit("a job was lost, or a job that was not claimed ran twice")


def enqueue_marks(redis_server, count):
    message = noop_envelope()
    headers, cluster = message["headers"], Cluster(connect_shards([redis_server.url]))
    for start in range(0, count, 10_000):
        jobs = []
        for number in range(start, min(start + 10_000, count)):
            headers |= {"task": "mark", "id": str(uuid.uuid4())}
            body = json.dumps([[number], {}, {}]).encode()
            message["body"] = base64.b64encode(body).decode()
            jobs.append(to_job(message, priority=0, now=None))
        cluster.enqueue("celery", jobs)


def number_of(body):
    return json.loads(base64.b64decode(json.loads(body)["body"]))[0][0]


def wait_until(is_true, timeout_s=300):
    deadline_s = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline_s:
            sys.exit(f"not within {timeout_s} s")
        time.sleep(0.1)


def server_cpu(client):
    info = client.info("cpu")
    return info["used_cpu_user"] + info["used_cpu_sys"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["raw", "scheduled", "lateness", "throughput"])
    parser.add_argument("--jobs", type=int, default=100_000, help="scheduled jobs")
    parser.add_argument("--tasks", type=int, default=4000, help="no-op tasks per run")
    parser.add_argument("--due", type=int, default=5000, help="jobs due over 15 s")
    parser.add_argument("--waiting", type=int, default=100_000, help="pending jobs of `kill`")
    parser.add_argument("--rounds", type=int, default=2, help="of throughput, alternating")
    add_quick(parser, jobs=2000, tasks=200, due=200, waiting=1000, rounds=1)
    options = parser.parse_args()
    for part in options.parts:
        {
            "raw": measure_raw,
            "scheduled": lambda: measure_scheduled(options.jobs),
            "lateness": lambda: measure_lateness(options.due),
            "throughput": lambda: measure_throughput(options.tasks, options.rounds),
            "kill": lambda: measure_kill(options.waiting),
        }[part]()


if __name__ == "__main__":
    main()
