"""Flower is not exposed to other machines without a login."""

import pytest

from aragog.dashboard.exposure import check_flower_exposure
from aragog.errors import ConfigError

LOGIN = {"FLOWER_BASIC_AUTH": "user:password"}


def refusal(host, environ):
    """The reason why Flower does not start, or None if it does."""
    try:
        check_flower_exposure(host, environ)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("host", "environ"),
    [("127.0.0.1", {}), ("::1", {}), ("localhost", {}), ("0.0.0.0", LOGIN)],
)
def test_flower_starts_on_loopback_or_with_a_login(host, environ):
    assert refusal(host, environ) is None


@pytest.mark.parametrize(
    ("host", "environ", "remedy"),
    [
        ("0.0.0.0", {}, "FLOWER_BASIC_AUTH"),
        ("10.0.0.5", {"FLOWER_UNAUTHENTICATED_API": "true"}, "FLOWER_BASIC_AUTH"),
        ("::", {**LOGIN, "FLOWER_UNAUTHENTICATED_API": "true"}, "FLOWER_UNAUTHENTICATED_API"),
    ],
)
def test_flower_does_not_start_elsewhere_without_a_login(host, environ, remedy):
    assert remedy in refusal(host, environ)
