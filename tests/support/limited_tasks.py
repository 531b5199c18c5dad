"""An app with a task that hangs, of which a process may have one at once, and one that does not."""

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
    """Note its beginning, hang as a server that does not answer, and note its end."""
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
