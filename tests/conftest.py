"""Fixtures are kept beside the servers they start, in tests/support/, one module a server."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

from tests.support.ending import end_with_this_process

# Servers live in sessions of their own: they would outlive a test process that is killed.
end_with_this_process()

# The processes that tests start keep compiled modules, as those of `make` do: half of their start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".cache" / "pycache"))

# A busy machine is no fault: nothing that is slow for once may fail. The number of examples bounds
# the time of `make unit`. They are the same in each run, so that what fails is what was changed;
# `--hypothesis-profile=deep` searches thirty times as long, with new ones.
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
    "tests.support.pipeline_stand",
    "tests.support.crawl_stand",
    "tests.support.cli",
    "tests.support.thrift_server",
    "tests.support.webhook_receiver",
]
