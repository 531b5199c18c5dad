"""
Run the tasks linked to a `fetch` task once its URLs are done.

Celery runs linked tasks when a task returns. But `fetch` returns before its URLs are done, because
they wait for slots (their domain's turn), robots.txt, and two more stages. `fetch` therefore moves
the linked tasks into its URLs' jobs, and the task `aragog.finished` runs them when a URL is done.

- `chain(fetch.s(url), mine.s())`: `mine` gets `{"url": …, "canonical_url": …, "outcome": …}`. After
  a fetch of several URLs it runs once for each.
- `fetch.delay(url).get()`, with `broker.result_backend`, returns the same value, or a list for
  several URLs.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from celery import group
from celery.app.task import Context
from celery.backends.base import DisabledBackend
from celery.canvas import Signature

from aragog.crawl.pipeline.finished_urls import Finished, FinishedUrls
from aragog.crawl.pipeline.messages import FetchBatch
from aragog.errors import InvalidMessage

MAX_BYTES = 16_384
"""Maximum size of the linked tasks as JSON, because each URL carries a copy."""
_REQUEST_FIELDS = ("id", "root_id", "group", "group_index", "chord", "callbacks", "chain")


def add_continuation(batch: FetchBatch, request: Any, backend: Any) -> FetchBatch:
    """
    Return the batch with the tasks to run after each of its URLs.

    Args:
        batch: the batch in the message.
        request: the request of the running task (`celery.app.task.Context`).
        backend: the app's result backend.

    Raises:
        InvalidMessage: the linked tasks are larger than MAX_BYTES.
    """
    has_result = waits_for_result(request, backend)
    if not (request.callbacks or request.chain or request.chord or has_result):
        return batch
    values = {name: getattr(request, name, None) for name in _REQUEST_FIELDS}
    then = {name: value for name, value in values.items() if value is not None}
    then |= {"urls": len({job.url for job in batch.jobs}), "result": has_result}
    text = orjson.dumps(then)
    if len(text) > MAX_BYTES:
        raise InvalidMessage(
            "fetch", f"the tasks linked to it have {len(text)} bytes, more than {MAX_BYTES}"
        )
    return FetchBatch(tuple(replace(job, then=text.decode()) for job in batch.jobs))


def waits_for_result(request: Any, backend: Any) -> bool:
    """Return True if a caller may wait for the result of this task."""
    return not request.ignore_result and not isinstance(backend, DisabledBackend)


def unlink_tasks(request: Any) -> None:
    """Prevent Celery from running the linked tasks, which the jobs now carry."""
    request.callbacks = request.chain = request.chord = None


def run_linked_tasks(app: Any, message: Finished, finished_urls: FinishedUrls) -> None:
    """
    Run the tasks linked to a fetch for one URL, and store the URL's result.

    The linked tasks only run again, under the same IDs, if this process is killed before it has
    recorded the delivery.

    Raises:
        InvalidMessage: `then` was not created by `add_continuation`.
        OperationalError: the broker does not respond.
    """
    then, url = _parse_then(message), str(message.answer["url"])
    result = dict(message.answer)
    if not finished_urls.contains(then["id"], url):
        _send(app, then, result)
    results = finished_urls.record(then["id"], url, orjson.dumps(result))
    if len(results) == then["urls"]:
        _store_result(app, then, [orjson.loads(encoded) for encoded in results])


def _parse_then(message: Finished) -> dict[str, Any]:
    try:
        then = orjson.loads(message.then)
        return {**then, "id": str(then["id"]), "urls": int(then["urls"])}
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidMessage("finished.then", str(error)) from error


def _send(app: Any, then: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    ids = {"parent_id": then["id"], "root_id": then.get("root_id") or then["id"]}
    is_batch = then["urls"] > 1
    callbacks = then.get("callbacks") or ()
    if signatures := [_signature(app, wire, then, result, is_batch) for wire in callbacks]:
        group(signatures, app=app).apply_async((result,), **ids)
    if chain := then.get("chain"):
        *rest, next_task = [_signature(app, wire, then, result, is_batch) for wire in chain]
        next_task.apply_async((result,), chain=rest, **ids)


def _signature(
    app: Any, serialized: Any, then: Mapping[str, Any], result: Mapping[str, Any], is_batch: bool
) -> Any:
    """Return the caller's signature. If there are several URLs, each URL's task gets its own ID."""
    signature = Signature.from_dict(serialized, app=app)
    task_id = signature.options.get("task_id")
    if is_batch or task_id is None:
        name = f"{then['id']} {task_id or signature.task} {result['url']}"
        signature.set(task_id=str(uuid.uuid5(uuid.NAMESPACE_URL, name)))
    return signature


def _store_result(app: Any, then: Mapping[str, Any], results: list[Any]) -> None:
    if not (then.get("result") or then.get("chord")):
        return
    result = results if then["urls"] > 1 else results[0]
    request = Context({name: then.get(name) for name in _REQUEST_FIELDS} | {"ignore_result": False})
    app.backend.mark_as_done(then["id"], result, request, bool(then.get("result")))
