"""
For tests: a shard in this process, and what every shard does, for whoever writes another.

    shard.py             `ShardContract`: a subclass named `Test…` supplies the shard
    shard_collecting.py  the part of it about jobs that collect items
    shard_histories.py   random histories of a shard beside those of the one in memory
    shard_world.py       a shard whose time a test can let pass
    memory_shard.py      a shard in this process
    memory_queue.py      one of its queues
    manual_clock.py      a clock that only a test moves

The suites need pytest and hypothesis: `celery-pinlater[testing]`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

USUAL = 100
"""The default number of examples of a test."""


def examples(count: int, **options: Any) -> settings:
    """
    Settings for `count` examples, which a profile with more multiplies like those of other tests.

    Fixtures may be shared by all examples: the test has to see to it that this does not matter.
    """
    drawn = count * settings().max_examples // USUAL
    return settings(max_examples=drawn, suppress_health_check=list(HealthCheck), **options)
