"""
The task that fetches a batch of URLs politely.

It is safe to run twice; see aragog.crawl.stages.fetch.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import current_task
from celery.exceptions import Ignore

from aragog.crawl.pipeline.producer_messages import read_fetch
from aragog.crawl.pipeline.routing import FETCH_BY_MODULE
from aragog.observability.tracing.context import HEADER
from aragog.tasks import continuation
from aragog.tasks.policy import callable_module, stage
from aragog.tasks.routes import FETCH
from aragog.workers.services import pipeline, send_all

log = logging.getLogger(__name__)


def _fetch(message: dict[str, Any] | list[str] | str) -> None:
    """
    Fetch the URLs that are due. The message is a URL (`fetch.delay("https://…")`), a list, or a
    batch.
    """
    batch, problems = read_fetch(message)
    for problem in problems:
        log.error("fetch: skipping an entry of a batch: %s", problem)
    stage = pipeline().fetch
    if not isinstance(message, dict):  # aragog's own batches already have their trace contexts
        batch = stage.traces.with_caller_trace(
            batch, getattr(current_task.request, HEADER, None) or ""
        )
    request, backend = current_task.request, current_task.app.backend
    send_all(stage.run(continuation.add_continuation(batch, request, backend)))
    # Do this last, so that a failed run still has its linked tasks when it is retried.
    waited_for = continuation.waits_for_result(request, backend)
    continuation.unlink_tasks(request)
    if waited_for:
        raise Ignore("the result is stored when the URLs are done")


fetch = stage(FETCH, has_result=True)(_fetch)
fetch_by_module = stage(FETCH_BY_MODULE, has_result=True)(_fetch)
__getattr__ = callable_module(fetch)
