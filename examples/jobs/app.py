"""
Two job types. Each is a function and a section of jobs.toml.

Start a worker, then enqueue (a Redis on its usual port is expected; BROKER names another):

    celery -A examples.jobs.app worker -Q images,mail
    python -m examples.jobs.enqueue
"""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

import pinlater  # noqa: F401  registers pinlater://
from pinlater.job_types import JobTypes

app = Celery("jobs", broker=os.environ.get("BROKER", "pinlater://localhost:6379/0"))
jobs = JobTypes.from_toml(app, Path(__file__).with_name("jobs.toml"))


@jobs.job
def resize(path: str, width: int) -> None:
    """Raise if the picture does not exist (yet); the job then runs again later."""
    picture = Path(path)
    small = picture.with_suffix(f".{width}{picture.suffix}")
    small.write_bytes(picture.read_bytes()[:width])


@jobs.job
def greet(name: str, into: str) -> None:
    """Append a greeting. A second run appends a second one, which is acceptable here."""
    with Path(into).open("a", encoding="utf-8") as file:
        file.write(f"Hello, {name}!\n")
