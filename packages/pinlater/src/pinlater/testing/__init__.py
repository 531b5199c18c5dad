"""
Test support: an in-memory shard, and a test suite for new kinds of shards.

    shard.py             `ShardContract`: a subclass named `Test…` supplies the shard
    shard_collecting.py  its tests of jobs that collect items
    shard_histories.py   compares random histories of a shard with those of the in-memory shard
    shard_world.py       a shard on which a test can advance the time
    memory_shard.py      the in-memory shard
    memory_queue.py      one of its queues
    manual_clock.py      a clock that tests advance

The suites need pytest and hypothesis: `celery-pinlater[testing]`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

DEFAULT_EXAMPLES = 100
"""A test's default number of examples."""


def examples(count: int, **options: Any) -> settings:
    """
    Return settings for `count` examples, in proportion to the profile's `max_examples`.

    Examples share the test's fixtures, so one must not affect the next.
    """
    scaled_count = count * settings().max_examples // DEFAULT_EXAMPLES
    return settings(max_examples=scaled_count, suppress_health_check=list(HealthCheck), **options)
