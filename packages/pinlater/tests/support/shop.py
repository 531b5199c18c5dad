"""A user's application: a Celery app that records in a file what ran."""

from __future__ import annotations

import os
import time
from pathlib import Path

from celery import Celery
from support.waiting import wait_until

from pinlater.worker import at_least_once

app = Celery("shop", broker=os.environ.get("SHOP_BROKER", "memory://"), set_as_current=False)
app.conf.broker_transport_options = {"claim_timeout_s": 2}
app.conf.broker_connection_retry_on_startup = True
at_least_once(app)

DUE = "due"
BLOCKING = "blocking"


def note(text: str) -> None:
    with Path(os.environ["SHOP_NOTES"]).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


@app.task(name=DUE)
def due(at_s: float) -> None:
    note(f"{DUE} {time.time() - at_s:.3f}")


@app.task(name=BLOCKING)
def blocking(gate: str) -> None:
    """Runs until the file exists."""
    note(f"{BLOCKING} begun")
    wait_until(Path(gate).exists)
    note(f"{BLOCKING} done")
