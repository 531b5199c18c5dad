"""Make jobs of task messages, in memory."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson

from pinlater.models import NewJob


def job_of(task: str, message: Any, **options: Any) -> NewJob:
    """Return the job of a Celery message to `task` with one argument."""
    body = b64encode(orjson.dumps([[message], {}, {}])).decode()
    headers = {"task": task, "id": "1"}
    wire = {"body": body, "headers": headers, "properties": {"body_encoding": "base64"}}
    return NewJob(orjson.dumps(wire), name=task, **options)
