"""Handling of services that this machine lacks."""

import os
from typing import NoReturn

import pytest


def absent(reason: str) -> NoReturn:
    """Skips the test, or fails it if CI=true, so that a skip is never mistaken for a pass."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
