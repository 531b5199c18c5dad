"""
Who may reach Flower: requests for hosts that it answers for, and a login off loopback.

Flower has neither. A page in a browser could point a name of its own at Flower's loopback address
(DNS rebinding) and read all that Flower shows, and pause queues where its API needs no login.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aragog.errors import ConfigError
from aragog.settings.allowed_hosts import is_allowed_host, is_loopback


def check_flower_exposure(host: str, environ: Mapping[str, str]) -> None:
    """
    Return if Flower may listen on `host`.

    Raises:
        ConfigError: other machines would reach it without a login, or its API without one.
    """
    if is_loopback(host):
        return
    if not (environ.get("FLOWER_BASIC_AUTH") or environ.get("FLOWER_AUTH")):
        raise ConfigError(
            f"serving.flower_host: {host} is reached from other machines, and Flower has no login; "
            "set FLOWER_BASIC_AUTH=user:password, or FLOWER_AUTH (see Flower's manual)"
        )
    if environ.get("FLOWER_UNAUTHENTICATED_API", "").lower() in (
        "1",
        "true",
        "yes",
        "y",
        "t",
        "on",
    ):
        raise ConfigError(
            f"serving.flower_host: {host} is reached from other machines, and "
            "FLOWER_UNAUTHENTICATED_API opens Flower's API to them; unset it"
        )


def guard_hosts(allowed: Sequence[str]) -> None:
    """Let Flower answer 421 to every request whose Host header names another host."""
    from flower.app import Flower  # noqa: PLC0415 - only in Flower's process
    from tornado.web import ErrorHandler  # noqa: PLC0415

    stock, names = Flower.find_handler, tuple(allowed)
    if getattr(stock, "guards_hosts", False):
        return

    def find_handler(self: Any, request: Any, **kwargs: Any) -> Any:
        headers = request.headers.get_list("Host")
        if len(headers) == 1 and is_allowed_host(headers[0], names):
            return stock(self, request, **kwargs)
        return self.get_handler_delegate(request, ErrorHandler, {"status_code": 421})

    find_handler.guards_hosts = True  # type: ignore[attr-defined] # the mark of a second call
    Flower.find_handler = find_handler
