"""
Contract test suites for authors of content stores.

Each module has a class of pytest tests. A subclass whose name begins with `Test` has a fixture that
returns the store; docs/extending.md has an example. The suites need pytest and hypothesis.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

DEFAULT_EXAMPLES = 100
"""The default number of examples of a test."""


def examples(count: int, **options: Any) -> settings:
    """
    Return settings for `count` examples. The hypothesis profile scales the number, as for other
    tests.

    All examples of a test use the same fixture object, so the test must not need a new one.
    """
    max_examples = count * settings().max_examples // DEFAULT_EXAMPLES
    return settings(max_examples=max_examples, suppress_health_check=list(HealthCheck), **options)
