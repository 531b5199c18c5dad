"""Closes what a report leaves open before the next one: a process may have 1,024 open files."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import kombu.pools
import pytest


@pytest.fixture(autouse=True)
def closed_pools() -> Iterator[None]:
    """Close the connections of the Celery apps that doors create."""
    yield
    kombu.pools.reset()
    gc.collect()
