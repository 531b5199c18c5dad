"""
Job types that programs in other languages share: `thrift_go/jobs` and `thrift_java` are two.

`square` is enqueued there and runs here; `print_page` is enqueued here and runs there. Start an API
(`aragog up`), a worker here, and a worker there:

    celery -A examples.job_exchange.app worker -Q squares
    python -m examples.job_exchange.produce 0 1000
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from celery import Celery

import pinlater  # noqa: F401  registers pinlater://
from pinlater.job_types import JobTypes

app = Celery("exchange", broker=os.environ.get("BROKER", "pinlater://localhost:6379/0"))
app.conf.broker_transport_options = json.loads(os.environ.get("BROKER_OPTIONS", "{}"))
jobs = JobTypes.from_toml(app, Path(__file__).with_name("jobs.toml"))


@jobs.job
def square(number: int) -> None:
    """Append a number. A second run appends it again, which is acceptable here."""
    with Path(os.environ.get("SQUARES", "squares.txt")).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")


@jobs.job
def print_page(number: int) -> None:
    """Enqueued by Python, and run by programs in other languages only."""
    raise NotImplementedError(f"page {number} is for a worker in another language")
