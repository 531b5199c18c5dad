"""
A fetcher that may reach loopback, with limits generous enough for a busy machine.

`origin` and `fetcher_with` use HTTP/1.1, and also HTTP/2 over TLS in modules that use
`BOTH_VERSIONS`, so one test expects the same outcome from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.runtime.clock import Clock
from aragog.settings import FetchSettings
from tests.support.http2_origin import http2_misbehaviour
from tests.support.misbehaviour import misbehaviour
from tests.support.origin import Handler, Origin
from tests.support.tls import client_context, server_context

PATIENT = FetchSettings(
    user_agent="testbot/1.0 (+https://example.com/bot)",
    deadline_s=30.0,
    connect_timeout_s=10.0,
    read_timeout_s=20.0,
    allowed_networks=("127.0.0.0/8",),
    allowed_ports=tuple(range(1024, 65536)),
)


NAMES = ("127.0.0.1", "a.test", "b.test", "shop.test", "other.test")


@pytest.fixture
def version() -> str:
    """The HTTP version between the fetcher and the origin; parametrized by `BOTH_VERSIONS`."""
    return "1.1"


@pytest.fixture
def origin_with(version) -> Callable[[dict[str, Handler]], Origin]:
    """
    Makes origins with these handlers, with the HTTP version of the test; use them in a `with`.
    """
    return lambda handlers: Origin(handlers, tls=server_context(*NAMES) if version == "2" else None)


@pytest.fixture
def origin(version, origin_with) -> Iterator[Origin]:
    """An origin that misbehaves on request."""
    with origin_with(http2_misbehaviour() if version == "2" else misbehaviour()) as running:
        yield running


@pytest.fixture
def fetcher_with(version) -> Iterator[Callable[..., Fetcher]]:
    """Makes fetchers with changed settings and closes them."""
    fetchers: list[Fetcher] = []

    def make(
        tls: Any = None, clock: Clock | None = None, signer: Any = None, **changes: Any
    ) -> Fetcher:
        if tls is None and changes.get("verify_tls", True):
            tls = client_context(http2=version == "2")
        if version == "2":
            changes = {"http2_hosts": ("*",), **changes}
        settings = replace(PATIENT, **changes)
        fetchers.append(Fetcher(settings, tls=tls, clock=clock, signer=signer))
        return fetchers[-1]

    yield make
    for fetcher in fetchers:
        fetcher.close()


@pytest.fixture
def fetcher(fetcher_with: Callable[..., Fetcher]) -> Fetcher:
    return fetcher_with()
