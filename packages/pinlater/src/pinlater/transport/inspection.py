"""
`inspect scheduled` and `inspect query_task` for tasks that wait on the server.

Celery's workers answer from memory, which with pinlater contains only due tasks. Importing this
module makes a worker also read its queues. A worker then lists all tasks that it may receive, so
every worker that consumes a queue lists the same tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from celery.worker.control import Panel, inspect_command
from celery.worker.request import Request

from pinlater import envelope
from pinlater.cluster import Cluster
from pinlater.errors import BrokerUnavailable
from pinlater.models import JobInfo

logger = logging.getLogger(__name__)

MAX_WAITING_TASKS = 1000
"""A reply lists up to this many waiting tasks, soonest first. Reading them takes about 0.1 s."""
ETA_PRIORITY = 6
"""The priority that Celery's timer gives to tasks with an ETA."""

_celery_scheduled = Panel.data["scheduled"]
_celery_query_task = Panel.data["query_task"]


@inspect_command(alias="dump_schedule")  # type: ignore[untyped-decorator]
def scheduled(state: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """List of currently scheduled ETA/countdown tasks."""
    return [
        *_celery_scheduled(state, **kwargs),
        *map(_schedule_entry, waiting_requests(state.consumer)),
    ]


@inspect_command(  # type: ignore[untyped-decorator]
    variadic="ids", signature="[id1 [id2 [... [idN]]]]"
)
def query_task(state: Any, ids: Any, **kwargs: Any) -> dict[str, Any]:
    """Query for task information by id."""
    tasks: dict[str, Any] = _celery_query_task(state, ids, **kwargs)
    missing = {ids} - tasks.keys() if isinstance(ids, str) else set(ids) - tasks.keys()
    if missing:
        tasks |= {
            r.id: ("scheduled", r.info())
            for r in waiting_requests(state.consumer)
            if r.id in missing
        }
    return tasks


def _schedule_entry(request: Request) -> dict[str, Any]:
    return {
        "eta": request.eta.isoformat(),
        "priority": ETA_PRIORITY,
        "request": request.info(),
    }


def waiting_requests(consumer: Any) -> Iterator[Request]:
    """Yield the next `MAX_WAITING_TASKS` tasks in a consumer's queues that are not due yet."""
    tasks = consumer.task_consumer
    cluster = getattr(getattr(tasks, "channel", None), "cluster", None)
    if cluster is None:
        return
    jobs = sorted(
        _scheduled_jobs(cluster, [q.name for q in tasks.queues]), key=lambda job: job.at_ms
    )
    for job in jobs[:MAX_WAITING_TASKS]:
        try:
            yield _make_request(consumer, job)
        # A sender may put anything into the body, so skip a malformed job.
        except Exception as error:  # noqa: BLE001
            logger.debug("waiting job %s cannot be shown: %s", job.job_id, error)


def _scheduled_jobs(cluster: Cluster, queues: Iterable[str]) -> Iterator[JobInfo]:
    for shard in cluster.healthy_shards():
        for queue in queues:
            try:
                with cluster.track(shard):
                    yield from shard.delayed_jobs(queue, limit=MAX_WAITING_TASKS)
            except BrokerUnavailable:
                logger.warning(
                    "the waiting jobs of %s do not include those of shard %s", queue, shard.name
                )


def _make_request(consumer: Any, job: JobInfo) -> Request:
    tasks = consumer.task_consumer
    payload = envelope.from_job(job.body, tag=job.job_id, attempt=job.attempts + 1)
    headers = payload["headers"]
    eta = None if job.attempts else headers.get("x_eta")
    # A retried job has a new due time.
    headers["eta"] = eta or datetime.fromtimestamp(job.at_ms / 1000, UTC).isoformat()
    message = tasks.channel.message_to_python(payload)
    message.accept = tasks.accept
    return Request(message, app=consumer.app, hostname=consumer.hostname)
