"""
Celery tasks on a private broker, with a worker that starts, stops and loses its server.

Input: `steps`, each a list of a verb and its arguments:

    worker             start one (with `pool`, or threads), and wait until it responds
    stop, kill         stop it warmly, or kill it with all its processes
    send name {…}      send a task: `args`, `countdown`, `eta` (seconds from now, in the zone
                       `zone`), `expires`, `priority`, `id`
    revoke id          by its id, or `revoke_unheard` when no worker runs; `ping`, `registered`,
                       `queues` ask the workers
    passes seconds     for waiting jobs; `expire` ends the claims of a dead worker
    cut, freeze, thaw  all connections; the server
    refuse, accept     writes, as a replica does; `refused` waits until one was refused
    open               the gate, for tasks that wait for it
    wait n             until n notes were written; `done n` until n jobs have
                       ended, `claimed n` until n run
    canvas key {…}     send a signature: a `chain`, `group` or `chord` of others, or a `task` with
                       `args`, `si` (without the results before it) and `on_error`
    result key         its result, or the name of the error
    beat {…}           start `celery beat` with these entries, until `unbeat`
    terminate id       revoke a running task; `asks` broadcasts a ping whose replies nobody reads
    sent n             until n jobs wait; `idle` until none are left
    forget pattern     delete keys of the server

The answers: `notes` of the tasks in order, `said` by the workers, `left`, the number of unfinished
jobs, `results` by key, and `boxes`, reply lists that never expire.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import redis
from celery import chain, chord, group

from aragog.standalone.redis_server import RedisServer
from tests.reports.doors import _servers
from tests.support.celery_worker import OURS, ROOT, Worker
from tests.support.job_places import RedisPlace, freeze, thaw
from tests.support.waiting import wait_until

POOLS = {"threads": ("-P", "threads", "-c2"), "prefork": ("-P", "prefork", "-c2")}


class Play:
    """A broker with at most one worker."""

    def __init__(self, folder: Path, server: RedisServer, given: Mapping[str, Any]) -> None:
        self.folder, self.server = folder, server
        notes = _servers.redis_server().url
        with redis.Redis.from_url(notes) as client:
            client.delete("notes", "gate is open", "enough")
        self.place = RedisPlace(server, notes)
        self.pool = POOLS[given.get("pool", "threads")]
        self.conf = dict(given.get("conf", {}))
        self.log = folder / "log"
        self.said: list[str] = []
        self.results: dict[str, Any] = {}
        self._sent: dict[str, Any] = {}
        self._beat: subprocess.Popen[bytes] | None = None
        self._worker: Worker | None = None

    def worker(self) -> None:
        env = self.place.with_conf(**self.conf) | {"PYTHONUNBUFFERED": "1"}
        self._worker = Worker("tests.support.pinlater_app", self.log, env=env, args=self.pool)
        self._worker.start()
        # Broadcasts between its `ready` and its subscription do not reach it.
        control = self.place.app.control
        with self.place.app.connection_for_write() as own:
            wait_until(lambda: control.ping(timeout=1, limit=1, connection=own))

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def kill(self) -> None:
        self._worker.kill()
        self._worker = None

    def send(self, name: str, options: Mapping[str, Any]) -> None:
        options = dict(options)
        if "eta" in options:
            zone = ZoneInfo(options.pop("zone", "UTC"))
            options["eta"] = datetime.now(zone) + timedelta(seconds=options["eta"])
        arguments, task_id = options.pop("args", ()), options.pop("id", None)
        self.place.app.send_task(name, arguments, task_id=task_id, **options)

    def revoke(self, task_id: str) -> None:
        answered = self.place.app.control.revoke(task_id, reply=True, timeout=120, limit=1)
        self.said.append(f"revoked by {len(answered or ())}")

    def revoke_unheard(self, task_id: str) -> None:
        self.place.app.control.revoke(task_id)

    def ping(self) -> None:
        answers = self.place.app.control.ping(timeout=120, limit=1)
        self.said += [next(iter(each.values()))["ok"] for each in answers]

    def registered(self) -> None:
        answers = self.place.app.control.inspect(timeout=120, limit=1).registered() or {}
        self.said += ["add" for names in answers.values() if "add" in names]

    def queues(self) -> None:
        answers = self.place.app.control.inspect(timeout=120, limit=1).active_queues() or {}
        self.said += [queue["name"] for queues in answers.values() for queue in queues]

    def canvas(self, key: str, signature: Mapping[str, Any]) -> None:
        self._sent[key] = self._signature(signature).apply_async()

    def _signature(self, given: Mapping[str, Any]) -> Any:
        app = self.place.app
        if "task" in given:
            made = app.signature(
                given["task"], args=tuple(given.get("args", ())), immutable=given.get("si", False)
            )
        elif "chain" in given:
            made = chain(*map(self._signature, given["chain"]), app=app)
        elif "group" in given:
            made = group(list(map(self._signature, given["group"])), app=app)
        else:
            header, body = given["chord"]
            made = chord(list(map(self._signature, header)), self._signature(body), app=app)
        if "on_error" in given:
            made.on_error(self._signature(given["on_error"]))
        return made

    def result(self, key: str) -> None:
        try:
            self.results[key] = self._sent[key].get(timeout=60)
        except Exception as error:
            self.results[key] = type(error).__name__

    def beat(self, entries: Mapping[str, Any]) -> None:
        env = self.place.with_conf(
            **self.conf, beat_schedule=dict(entries), beat_max_loop_interval=1
        )
        where = str(self.folder / "schedule")
        command = ["-P", "-m", "celery", "-A", "tests.support.pinlater_app", "beat", "-s", where]
        with self.log.open("ab") as out:
            self._beat = subprocess.Popen(
                [sys.executable, *command, "--pidfile="], env=os.environ | OURS | env, cwd=ROOT,
                stdout=out, stderr=out,
            )  # fmt: skip

    def unbeat(self) -> None:
        if self._beat is not None:
            self._beat.terminate()
            self._beat.wait(60)
            self._beat = None

    def terminate(self, task_id: str) -> None:
        self.place.app.control.terminate(task_id)

    def asks(self) -> None:
        with self.place.app.connection() as connection:
            box = self.place.app.control.mailbox(connection)
            box._publish("ping", {}, reply_ticket="0f", channel=connection.default_channel)
            key = f"{box.oid}.{box.reply_exchange.name}"
        wait_until(lambda: self.place.client.exists(key))

    def sent(self, count: int) -> None:
        wait_until(lambda: self._sizes().due >= count)

    def idle(self) -> None:
        wait_until(lambda: self.left() == 0)

    def forget(self, pattern: str) -> None:
        for key in list(self.place.client.scan_iter(pattern)):
            self.place.client.delete(key)

    def boxes(self) -> int:
        client = self.place.client
        return sum(client.pttl(key) == -1 for key in client.scan_iter("*-*.reply.celery.pidbox"))

    def passes(self, seconds: int) -> None:
        self.place.pass_ms(seconds * 1000)

    def expire(self) -> None:
        self.place.expire_claims()

    def cut(self) -> None:
        self.place.cut_connections()

    def freeze(self) -> None:
        freeze(self.server)

    def thaw(self) -> None:
        thaw(self.server)

    def refuse(self) -> None:
        self.place.refuse_writes()

    def refused(self) -> None:
        wait_until(lambda: self.place.refused(self.log.read_text(errors="replace")))

    def accept(self) -> None:
        self.place.accept_writes()

    def open(self) -> None:
        self.place.noted.set("gate is open", 1)

    def wait(self, count: int) -> None:
        wait_until(lambda: len(self.place.notes()) >= count, otherwise=self.place.notes)

    def claimed(self, count: int) -> None:
        wait_until(lambda: self.place.running() == count)

    def done(self, count: int) -> None:
        wait_until(lambda: self._sizes().succeeded + self._sizes().failed >= count)

    def _sizes(self) -> Any:
        return self.place.shard.sizes("celery")

    def left(self) -> int:
        sizes = self._sizes()
        return sizes.due + sizes.later + sizes.running


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The notes of the tasks, and the remaining jobs."""
    with tempfile.TemporaryDirectory(prefix="ar") as name, RedisServer(Path(name)) as server:
        play = Play(Path(name), server, given)
        try:
            for verb, *arguments in given["steps"]:
                getattr(play, verb)(*arguments)
            boxes = play.boxes()
            play.unbeat()
            play.stop()
            return {
                "notes": play.place.notes(), "said": play.said, "left": play.left(),
                "results": play.results, "boxes": boxes,
            }  # fmt: skip
        finally:
            # Results unsubscribe when they are collected, and would retry for 19 s without a server.
            play.place.app.backend.result_consumer.subscribed_to.clear()
            play.unbeat()
            play.stop()
            play.place.close()
