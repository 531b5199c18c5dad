"""What a test needs and this machine does not have."""

import os
from typing import NoReturn

import pytest


def absent(reason: str) -> NoReturn:
    """Skip the test; fail where CI=true, so that a skip never passes for a pass."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
