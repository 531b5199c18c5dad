"""
Checks Host headers, and requires a login if other machines can connect to Flower.

Flower itself does neither. Through DNS rebinding, a web page could make its host name resolve to
Flower's loopback address. It could then read everything that Flower shows and, without a login,
pause queues.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from aragog.errors import CONFIG, ConfigError
from aragog.runtime.hosts import is_allowed_host, is_loopback

OPEN_API_VARIABLE = "FLOWER_UNAUTHENTICATED_API"
_TRUE_VALUES = ("1", "true", "yes", "y", "t", "on")


def check_flower_exposure(host: str, environ: Mapping[str, str]) -> None:
    """
    Check that Flower, configured by this environment, may listen on `host`.

    Raises:
        ConfigError: other machines could reach Flower or its API without a login.
    """
    login = bool(environ.get("FLOWER_BASIC_AUTH") or environ.get("FLOWER_AUTH"))
    _check_login(
        host,
        login=login,
        unauthenticated_api=environ.get(OPEN_API_VARIABLE, "").lower() in _TRUE_VALUES,
    )


def guard_address(default_host: str) -> None:
    """
    Make Flower listen on `default_host`, not on all addresses, if its options contain no address.

    Flower exits with an error if other machines could connect to it without a login.
    """
    from flower.app import Flower  # noqa: PLC0415 - only in Flower's process

    original = Flower.start_http_server
    if getattr(original, "guards_address", False):
        return

    def start_http_server(self: Any) -> Any:
        options = self.options
        if not options.unix_socket:
            options.address = options.address or default_host
            login = bool(options.basic_auth or options.auth)
            unauthenticated_api = os.environ.get(OPEN_API_VARIABLE, "").lower() in _TRUE_VALUES
            try:
                _check_login(options.address, login=login, unauthenticated_api=unauthenticated_api)
            except CONFIG as error:
                sys.exit(f"aragog: {error}")
        return original(self)

    start_http_server.guards_address = True  # type: ignore[attr-defined] # marks it as installed
    Flower.start_http_server = start_http_server


def _check_login(host: str, *, login: bool, unauthenticated_api: bool) -> None:
    if is_loopback(host):
        return
    if not login:
        raise ConfigError(
            f"serving.flower_host: other machines can reach {host}, and Flower has no login; "
            "set FLOWER_BASIC_AUTH=user:password, or FLOWER_AUTH (see Flower's manual)"
        )
    if unauthenticated_api:
        raise ConfigError(
            f"serving.flower_host: other machines can reach {host}, and "
            f"{OPEN_API_VARIABLE} opens Flower's API to them; unset it"
        )


def guard_hosts(allowed: Sequence[str]) -> None:
    """Make Flower return 421 for every request whose Host header is not allowed."""
    from flower.app import Flower  # noqa: PLC0415 - only in Flower's process
    from tornado.web import ErrorHandler  # noqa: PLC0415

    original, names = Flower.find_handler, tuple(allowed)
    if getattr(original, "guards_hosts", False):
        return

    def find_handler(self: Any, request: Any, **kwargs: Any) -> Any:
        headers = request.headers.get_list("Host")
        if len(headers) == 1 and is_allowed_host(headers[0], names):
            return original(self, request, **kwargs)
        return self.get_handler_delegate(request, ErrorHandler, {"status_code": 421})

    find_handler.guards_hosts = True  # type: ignore[attr-defined] # marks it as installed
    Flower.find_handler = find_handler
