"""
Contract suites for whoever writes an engine: what every content store does.

Each module has a class of pytest tests. A subclass whose name begins with `Test` supplies the
engine by a fixture; docs/extending.md shows it. The suites need pytest and hypothesis.
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
