"""
A history of one queue, played on a shard: enqueuing, claims, completed jobs, dead workers, and the
remaining jobs.

Input: `steps`, each a table with `do` and its arguments; `settings` of the queue. Jobs are
identified by their `name`. Steps:

    enqueue    name, and priority, delay_ms, unique, attempts, body
    claim      worker, limit, timeout_ms: notes the names of the jobs; `when_due` waits for one
    ack, nack  name; nack also takes step (again, release, fail), delay_ms, problem
    extend     name, timeout_ms
    reap       waits until expired claims are returned
    retry, delete, drop, release, configure, stats, reopen

`seen` has a line for each step with output; `sizes` are the remaining jobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from aragog.errors import BrokerUnavailable
from pinlater.job_codec import decode
from pinlater.models import ClaimRequest, JobState, Nack, NewJob
from pinlater.shard import Shard
from tests.support.waiting import wait_until

_queues = itertools.count(1)


class QueueHistory:
    """One queue and its current claims, by the names of their jobs."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.queue = f"reports-{next(_queues)}"
        self.held: dict[str, tuple[str, int]] = {}
        self.seen: list[str] = []

    def play(self, step: Mapping[str, Any]) -> None:
        """Do one step and note its visible result."""
        arguments = dict(step)
        try:
            said = getattr(self, f"_{arguments.pop('do')}")(**arguments)
        except (ValueError, BrokerUnavailable) as error:
            said = f"{type(error).__name__}"
        if said:
            self.seen.append(said)

    def _enqueue(self, name, priority=0, delay_ms=0, unique="", attempts=0, body="", times=1):
        job = NewJob(
            (body or name).encode(), priority=priority, delay_ms=delay_ms, max_attempts=attempts,
            unique_key=unique, name=name,
        )  # fmt: skip
        for enqueued in self.shard.enqueue(self.queue, [job] * times):
            if enqueued.already_there:
                return f"{name} is already there"
        return ""

    def _claim(self, worker="a", limit=10, timeout_ms=60_000, when_due=False):
        request = ClaimRequest(limit=limit, timeout_ms=timeout_ms, worker=worker)
        if when_due:
            claims = wait_until(lambda: self.shard.claim(self.queue, request).claims)
        else:
            claims = self.shard.claim(self.queue, request).claims
        names = []
        for claim in claims:
            job = decode(claim.record)
            self.held[f"{worker}:{job.name}"] = self.held[job.name] = (claim.job_id, claim.token)
            names.append(job.name if claim.attempt == 1 else f"{job.name}#{claim.attempt}")
        return f"{worker} claims {' '.join(names) or 'nothing'}"

    def _ack(self, name):
        done = self.shard.ack(self.queue, [self.held[name]])[0]
        return f"ack {name}: {'yes' if done else 'no'}"

    def _nack(self, name, step="again", delay_ms=0, problem=""):
        job_id, token = self.held[name]
        nack = Nack(job_id, token, step=step, delay_ms=delay_ms, problem=problem)
        state = self.shard.nack(self.queue, [nack])[0]
        return f"nack {name}: {state.value.lower() if state else 'no'}"

    def _extend(self, name, timeout_ms=60_000):
        done = self.shard.extend(self.queue, [self.held[name]], timeout_ms=timeout_ms)[0]
        return f"extend {name}: {'yes' if done else 'no'}"

    def _reap(self):
        def reaped():
            now_ms = self.shard.time_and_uptime_ms()[0]
            swept = self.shard.sweep(self.queue, reap_before_ms=now_ms)
            return swept.returned + swept.failed

        wait_until(reaped)

    def _sweep(self):
        swept = self.shard.sweep(self.queue, reap_before_ms=self.shard.time_and_uptime_ms()[0])
        return f"swept {swept.returned}"

    def _retry(self, limit=10):
        return f"retried {self.shard.retry(self.queue, limit=limit)}"

    def _delete(self, state="pending", limit=10):
        number = self.shard.delete(self.queue, JobState(state.upper()), limit=limit)
        return f"deleted {number}"

    def _drop(self):
        self.shard.drop(self.queue)

    def _release(self, worker):
        ids = [job_id for job_id, _ in set(self.held.values())]
        return f"released {self.shard.release(self.queue, worker, ids)}"

    def _configure(self, **changes):
        self.shard.configure(self.queue, changes)

    def _failed(self):
        jobs = self.shard.jobs(self.queue, JobState.FAILED, limit=10)
        return "failed: " + ", ".join(f"{job.name} ({job.problem})" for job in jobs)

    def _listed(self, state="pending"):
        jobs = self.shard.jobs(self.queue, JobState(state.upper()), limit=10)
        return "listed " + " ".join(job.name for job in jobs)


def play(given: Mapping[str, Any], shard: Shard) -> dict[str, Any]:
    """Play the steps of an input on a new queue of a shard."""
    history = QueueHistory(shard)
    if "settings" in given:
        shard.configure(history.queue, given["settings"])
    for step in given["steps"]:
        history.play(step)
    sizes = shard.sizes(history.queue)
    left = {
        "due": sizes.due, "later": sizes.later, "running": sizes.running,
        "succeeded": sizes.succeeded, "failed": sizes.failed,
    }  # fmt: skip
    return {"seen": history.seen, "last": history.seen[-1] if history.seen else "", **left}
