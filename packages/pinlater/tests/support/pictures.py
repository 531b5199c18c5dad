"""Job types of a user's application, one of them open to other programs."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from celery import Celery

from pinlater.job_types import JobTypes

app = Celery(
    "pictures", broker=os.environ.get("PICTURES_BROKER", "memory://"), set_as_current=False
)
app.conf.broker_transport_options = json.loads(os.environ.get("PICTURES_OPTIONS", "{}"))
app.conf.broker_connection_retry_on_startup = True

SECTIONS = """
[thumbnail]
queue = "pictures"
doors = ["thrift"]
retry_step_s = 0.05
max_attempts = 2

[archive]
queue = "archives"
"""

with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    file.write(SECTIONS)
    file.flush()
    jobs = JobTypes.from_toml(app, Path(file.name))


@jobs.job
def thumbnail(path, width=10):
    note(["thumbnail", path.hex() if isinstance(path, bytes) else path, width])
    if path == "broken":
        raise ValueError("no picture")


@jobs.job
def archive(path):
    note(["archive", path, 0])


def note(what):
    with Path(os.environ["PICTURES_NOTES"]).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(what) + "\n")
