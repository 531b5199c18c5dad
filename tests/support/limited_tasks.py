"""An app with a hanging task, which a process may run only once at a time, and a quick one."""

from __future__ import annotations

import os
import time

import redis

from aragog.tasks.policy import limited, stage
from pinlater import gates
from tests.support.pinlater_app import BROKER, NOTES, make

HANGS, QUICK, QUEUE = "test.hangs", "test.quick", "slow"
app = make(BROKER)
app.set_default()
gates.limit(QUEUE, 1)
_until = float(os.environ.get("ARAGOG_TEST_HANGS_S", "0"))


@limited(HANGS, QUEUE)
def hangs(number: int) -> None:
    """Note the start, hang like a server that does not answer, and note the end."""
    _note(f"began {number}")
    time.sleep(_until)
    _note(f"ended {number}")


@stage(QUICK)
def quick() -> None:
    """Note that it ran."""
    _note("quick")


def _note(text: str) -> None:
    with redis.Redis.from_url(NOTES) as client:
        client.rpush("notes", text)
