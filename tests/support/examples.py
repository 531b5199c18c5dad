"""How many examples hypothesis draws for a test that needs fewer than others, or more."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

USUAL = 100
"""Examples of a test that says nothing else, in the profile `house`."""


def examples(count: int, **options: Any) -> settings:
    """
    Settings for `count` examples, which the profile `deep` multiplies like those of other tests.

    Fixtures may be shared by all examples: the test has to see to it that this does not matter.
    """
    drawn = count * settings().max_examples // USUAL
    return settings(max_examples=drawn, suppress_health_check=list(HealthCheck), **options)
