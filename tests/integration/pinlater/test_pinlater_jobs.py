"""The job types example, run as its docstring says."""

import os
import subprocess
import sys

import pytest

from pinlater.errors import InvalidConfig
from pinlater.job_types import JobTypes
from pinlater.models import JobState
from tests.support.celery_worker import ROOT, Worker
from tests.support.pinlater_app import make
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


def test_job_type_is_a_function_with_a_section(place, tmp_path):
    env = {"BROKER": place.broker}
    with Worker("examples.jobs.app", tmp_path / "log", env=env, args=["-Q", "images,mail", "-c1"]):
        out = subprocess.run(
            [sys.executable, "-m", "examples.jobs.enqueue", str(tmp_path)],
            env=os.environ | env, cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        letters = tmp_path / "letters.txt"
        wait_until(lambda: letters.exists() and len(letters.read_text().splitlines()) == 2)
        wait_until(lambda: place.shard.sizes("images").failed == 1)
        (tmp_path / "cat.img").write_bytes(b"a picture of a cat")
        place.shard.retry("images", limit=1)
        wait_until((tmp_path / "cat.10.img").exists)

    assert out == "resize: enqueued\nresize: already there\n"
    assert letters.read_text() == "Hello, Ada!\nHello, Grace!\n"
    assert place.shard.settings("images") == {
        "max_attempts": 4,
        "retry_step_ms": 100,
        "rate": 50,
    }
    assert place.shard.stats("images")["retried"] == 3
    [done] = place.shard.jobs("images", JobState.SUCCEEDED, limit=5)
    assert done.name == "resize"


def test_unconfigured_job_is_refused_and_all_configuration_errors_are_listed(tmp_path):
    bad = tmp_path / "jobs.toml"
    bad.write_text("[a]\nrate_per_s = -1\nspeed = 2\n")
    app = make("memory://")

    with pytest.raises(InvalidConfig) as raised:
        JobTypes.from_toml(app, bad)
    with pytest.raises(InvalidConfig, match="has no section"):
        JobTypes(app, {}).job(lambda: None)

    assert sorted(raised.value.problems) == [
        "a.queue: must be the name of a queue",
        "a.rate_per_s: must be a number above 0, got -1",
        "a.speed: is not a setting of a job type",
    ]
