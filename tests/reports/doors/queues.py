"""
Queues: the fate of Celery tasks on PinLater, with real servers and workers.

Input: `scenario`, a function below; `server`, "redis" or "postgres". The servers of a class are
private.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import redis

import pinlater  # noqa: F401
from aragog.standalone.redis_server import RedisServer
from pinlater.brokers import of_socket
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import make


@contextmanager
def _servers(kind, persistent=False):
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        own = (
            RedisServer(Path(folder), persistent=persistent)
            if persistent
            else RedisServer(Path(folder))
        )
        own.start()
        postgres = None
        try:
            if kind == "postgres":
                from tests.support.postgres_server import start_postgres

                with tempfile.TemporaryDirectory(prefix="ar") as pg:
                    postgres = start_postgres(Path(pg))
                    try:
                        yield own, f"pinlater+{postgres.create_database('reports')}"
                    finally:
                        postgres.stop()
            else:
                yield own, of_socket(own.socket)
        finally:
            own.stop()


class _Place:
    def __init__(self, own, broker, **options):
        self.own, self.broker = own, broker
        if broker.startswith("pinlater+postgresql"):
            options["control"] = own.url
        self.conf = {"broker_transport_options": {"claim_timeout_s": 5.0, **options}}
        results = f"redis+socket://{own.socket}"
        self.env = {
            "REPORTS_NOTES": own.url,
            "REPORTS_BROKER": broker,
            "REPORTS_RESULTS": results,
            "REPORTS_CONF": json.dumps(self.conf),
        }
        self.app = make(broker, results, **self.conf)
        self.workers = []

    def worker(self, *more):
        log = tempfile.NamedTemporaryFile(prefix="ar-worker", delete=False)  # noqa: SIM115
        args = ["-P", "threads", "-c4", "-n", f"w{len(self.workers)}@%h", *more]
        worker = Worker("tests.support.queue_app", Path(log.name), env=self.env, args=args)
        self.workers.append(worker)
        return worker.start().process

    def notes(self):
        with redis.Redis.from_url(self.own.url) as client:
            return [n.decode() for n in client.lrange("notes", 0, -1)]

    def wait(self, condition, timeout_s=60):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def close(self):
        # Results unsubscribe when they are collected, and would retry for 19 s without a server.
        self.app.backend.result_consumer.subscribed_to.clear()
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.terminate()
        for worker in self.workers:
            try:
                worker.process.wait(20)
            except subprocess.TimeoutExpired:
                worker.process.kill()
            worker.log.unlink()


@contextmanager
def _place(given, persistent=False, **options):
    with _servers(given.get("server", "redis"), persistent) as (own, broker):
        place = _Place(own, broker, **options)
        try:
            yield place
        finally:
            place.close()


def answer(given):
    return globals()[given["scenario"]](given)


def plain(given):
    """The door itself: a task runs."""
    with _place(given) as place:
        place.worker()
        return {"result": place.app.send_task("b.inc", (1,)).get(timeout=60)}


def late_eta(given):
    """A countdown far longer than the claim timeout, with two workers."""
    with _place(given, claim_timeout_s=1.0) as place:
        place.worker()
        place.worker()
        sent = time.time()
        for n in range(5):
            place.app.send_task("b.say", (f"n{n}",), countdown=6)
        place.wait(lambda: len(place.notes()) >= 5)
        took = time.time() - sent
        time.sleep(4)
        return {"notes": sorted(place.notes()), "not_early": took >= 5.9}


def retries(given):
    """A task that retries with a delay, three times."""
    with _place(given) as place:
        place.worker()
        result = place.app.send_task("b.flaky", (3,)).get(timeout=90)
        times = [float(n.split()[2]) for n in place.notes()]
        gaps = [b - a for a, b in itertools.pairwise(times)]
        return {"result": result, "tries": len(times), "waits": all(0.8 <= g <= 5 for g in gaps)}


def chord_then_chain(given):
    """A chord followed by one task and by two."""
    from celery import chord, group

    with _place(given) as place:
        place.worker()
        s = place.app.signature
        head = [s("b.mul", (2, n)) for n in (1, 2, 3)]
        one = (chord(head, s("b.sum"), app=place.app) | s("b.inc")).apply_async().get(timeout=60)
        two = (
            (group(head, app=place.app) | s("b.sum") | s("b.inc") | s("b.inc", (), {"by": 10}))
            .apply_async()
            .get(timeout=60)
        )
        return {"one": one, "two": two}


def nested_groups(given):
    """Group, chain, group; and chords created with a pipe inside a chord."""
    from celery import group

    with _place(given) as place:
        place.worker()
        s = place.app.signature

        def inner(a, b):
            return group(s("b.mul", (a, b)), s("b.mul", (b, b))) | s("b.sum")

        whole = (group(inner(2, 3), inner(4, 5)) | s("b.sum")).apply_async().get(timeout=60)
        deep = (
            (group(s("b.inc", (1,)), s("b.inc", (2,))) | group(s("b.sum"), s("b.sum")) | s("b.sum"))
            .apply_async()
            .get(timeout=60)
        )
        return {"whole": whole, "deep": deep}


def chord_that_fails(given):
    """One task of the header raises."""
    from celery import chord

    with _place(given) as place:
        place.worker()
        s = place.app.signature
        result = chord(
            [s("b.mul", (1, 2)), s("b.boom"), s("b.mul", (3, 4))],
            s("b.say", ("body",), immutable=True),
            app=place.app,
        )()
        state = ""
        try:
            result.get(timeout=30)
        except Exception as error:
            state = type(error).__name__
        time.sleep(2)
        return {"error": state not in ("", "TimeoutError"), "notes": place.notes()}


def revoked_eta(given):
    """A waiting task is revoked; another one still runs."""
    with _place(given) as place:
        place.worker()
        stop = place.app.send_task("b.say", ("revoked",), countdown=6)
        place.app.send_task("b.say", ("kept",), countdown=6)
        time.sleep(1)
        stop.revoke()
        place.wait(lambda: "kept" in place.notes(), 40)
        time.sleep(3)
        return {"notes": place.notes()}


def revoke_what_is_done(given):
    """Finished tasks are revoked with a signal; later ones run."""
    with _place(given) as place:
        place.worker()
        for _ in range(5):
            done = place.app.send_task("b.inc", (1,))
            done.get(timeout=60)
            done.revoke(terminate=True, signal="SIGTERM")
        time.sleep(1)
        after = [place.app.send_task("b.inc", (n,)).get(timeout=60) for n in range(5)]
        return {"after": after}


def long_job(given):
    """A task that takes longer than its claim, beside an idle worker."""
    with _place(given, claim_timeout_s=2.0) as place:
        place.worker()
        place.worker()
        place.app.send_task("b.say", ("long", 9.0))
        place.wait(lambda: "long done" in place.notes(), 60)
        time.sleep(4)
        return {"notes": place.notes()}


def killed_worker(given):
    """A worker is killed in the middle of a task; another one starts."""
    with _place(given, claim_timeout_s=3.0) as place:
        first = place.worker()
        place.app.send_task("b.say", ("cut", 8.0))
        place.wait(lambda: "cut" in place.notes())
        first.kill()
        place.worker()
        again = place.wait(lambda: "cut done" in place.notes(), 60)
        return {"again": again, "times": place.notes().count("cut")}


def server_away(given):
    """The server is restarted while a worker is idle and a task waits."""
    with _place({**given, "server": "redis"}, persistent=True) as place:
        worker = place.worker()
        place.app.send_task("b.say", ("waits",), countdown=8)
        place.app.send_task("b.say", ("before",))
        place.wait(lambda: "before" in place.notes())
        time.sleep(1.5)
        place.own.stop()
        time.sleep(3)
        place.own.start()
        alive = worker.poll() is None
        place.app.send_task("b.say", ("after",))
        place.wait(lambda: {"after", "waits"} <= set(place.notes()), 60)
        time.sleep(2)
        return {"alive": alive, "notes": sorted(place.notes())}


def keys_of_a_day(given):
    """How many keys remain after many tasks with results and countdowns."""
    with _place(given) as place:
        place.worker()
        with redis.Redis.from_url(place.own.url) as client:

            def round_():
                for n in range(150):
                    place.app.send_task("b.inc", (n,), countdown=n % 2, ignore_result=True)
                place.app.send_task("b.inc", (1,), countdown=2).get(timeout=60)
                time.sleep(3)
                # Celery results expire by themselves.
                return sum(1 for key in client.scan_iter(count=1000) if client.ttl(key) == -1)

            first, second = round_(), round_()
        return {"grows": second - first > 20}


def beat_is_utc(given):
    """The shipped schedule of beat uses only intervals, and UTC."""
    import aragog.celeryconfig as config

    entries = config.beat_schedule.values()
    plain = all(
        isinstance(e["schedule"], (int, float))
        or type(e["schedule"]).__name__ in ("schedule", "timedelta")
        for e in entries
    )
    return {"plain": plain, "zone": getattr(config, "timezone", None) in (None, "UTC")}


def chords_in_chords(given):
    """Chords whose headers are chords; each body runs once."""
    from celery import chord

    with _place(given) as place:
        place.worker()
        s = place.app.signature

        def made(depth, n):
            if depth == 0:
                return s("b.inc", (n,))
            return chord([made(depth - 1, n * 10 + k) for k in (1, 2)], s("b.sum"), app=place.app)

        whole = (made(2, 1) | s("b.inc")).apply_async().get(timeout=60)
        return {"whole": whole}


def chord_of_chains(given):
    """A chord whose header consists of chains."""
    from celery import chain, chord

    with _place(given) as place:
        place.worker()
        s = place.app.signature
        head = [chain(s("b.mul", (2, n)), s("b.inc"), app=place.app) for n in (1, 2, 3)]
        return {"whole": chord(head, s("b.sum"), app=place.app)().get(timeout=60)}


def crowd(given):
    """Many tasks from several producers, and three workers: each task runs once."""
    import threading

    with _place(given, claim_timeout_s=30.0) as place:
        for _ in range(3):
            place.worker()

        def send(start):
            for n in range(start, start + 100):
                place.app.send_task("b.say", (f"{n}",), priority=n % 10)

        threads = [threading.Thread(target=send, args=(s,)) for s in (0, 100, 200, 300)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        place.wait(lambda: len(place.notes()) >= 400, 90)
        time.sleep(1)
        notes = place.notes()
        return {"tasks": len(set(notes)), "runs": len(notes)}


def soon(given):
    """How long an idle worker takes to start a task."""
    with _place(given) as place:
        place.worker()
        time.sleep(12)
        sent = time.monotonic()
        place.app.send_task("b.inc", (1,)).get(timeout=60)
        return {"soon": time.monotonic() - sent < 2.0}


def group_with_etas(given):
    """Tasks of one group, each with its own time."""
    from celery import group

    with _place(given, claim_timeout_s=1.0) as place:
        place.worker()
        place.worker()
        s = place.app.signature
        group(
            [s("b.say", (f"g{n}",)).set(countdown=3 + n) for n in range(3)], app=place.app
        ).apply_async()
        place.wait(lambda: len(place.notes()) >= 3, 40)
        time.sleep(4)
        return {"notes": sorted(place.notes())}
