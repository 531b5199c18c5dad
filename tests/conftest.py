"""Fixtures live beside the servers that they start: one module per server in tests/support/."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

from tests.support.ending import end_with_this_process

# Servers run in their own sessions, so they would outlive a test process that is killed.
end_with_this_process()

# Let the processes that tests start keep compiled modules, as `make` does; it halves their start
# time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".cache" / "pycache"))

# No deadline: on a busy machine, anything can be slow. The number of examples bounds the time of
# `make unit`. Examples are the same in each run, so a failure comes from a change;
# `--hypothesis-profile=deep` draws new ones and thirty times as many.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", settings.get_profile("house"), derandomize=False, max_examples=3_000
)
settings.load_profile("house")

pytest_plugins = [
    "tests.support.collecting",
    "tests.support.scheduling",
    "tests.support.missing_parts",
    "tests.support.killed_process",
    "tests.support.open_files",
    "tests.support.hbase_server",
    "tests.support.kafka_server",
    "tests.support.s3_server",
    "tests.support.origin",
    "tests.support.misbehaviour",
    "tests.support.punctual_origin",
    "tests.support.rabbitmq",
    "tests.support.standalone",
    "tests.support.redis_server",
    "tests.support.postgres_server",
    "tests.support.small_disk",
    "tests.support.tables",
    "tests.support.stores",
    "tests.support.pack_places",
    "tests.support.pipeline_harness",
    "tests.support.crawl_harness",
    "tests.support.cli",
    "tests.support.thrift_server",
    "tests.support.webhook_receiver",
]
