"""Check the egress routes: their logins, addresses and proxies."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.egress.routes import EgressRoute
from aragog.errors import ConfigError

CONNECT_TIMEOUT_S = 5.0
_EXAMPLE_URL = "https://example.com/"


def check_egress(system: CheckedSystem) -> Iterator[Finding]:
    """Check that this machine can use each egress route. Sends nothing through the routes."""
    settings = system.settings
    for name, route in settings.egress.ways.items():
        part = f"egress.ways.{name}"
        try:
            yield Finding(part, ok=True, text=_try_route(EgressRoute.from_settings(name, route)))
        except ConfigError as error:
            yield Finding(part, ok=False, text=str(error))
        except OSError as error:
            yield Finding(part, ok=False, text=f"{error.strerror or error}; its URLs are waiting")
    if settings.fetch.proxy:
        try:
            text = _try_route(EgressRoute.from_fetch_proxy(settings.fetch.proxy))
            yield Finding("fetch.proxy", ok=True, text=text)
        except OSError as error:
            yield Finding(
                "fetch.proxy", ok=False, text=f"{error.strerror or error}; all URLs are waiting"
            )


def _try_route(route: EgressRoute) -> str:
    """Try an egress route, and describe the result. Raised OSErrors contain no credentials."""
    server = route.server(_EXAMPLE_URL, "", 0)
    if server is None:
        for version, address in route.addresses.items():
            family = socket.AF_INET6 if version == 6 else socket.AF_INET
            with contextlib.closing(socket.socket(family)) as sock:
                sock.bind((address, 0))
        return f"direct from {' and '.join(route.addresses.values())}"
    with socket.create_connection((server.host, server.port), timeout=CONNECT_TIMEOUT_S):
        return f"{server.redacted_url} accepts connections; its login was not tried"
