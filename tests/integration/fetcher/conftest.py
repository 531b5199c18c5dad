"""A fetcher that may reach loopback; patient, so that a busy machine fails no test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from aragog.clock import Clock
from aragog.fetcher.fetcher import Fetcher
from aragog.settings import FetchSettings

PATIENT = FetchSettings(
    user_agent="testbot/1.0 (+https://example.com/bot)",
    deadline_s=30.0,
    connect_timeout_s=10.0,
    read_timeout_s=20.0,
    allowed_networks=("127.0.0.0/8",),
    allowed_ports=tuple(range(1024, 65536)),
)


@pytest.fixture
def fetcher_with() -> Iterator[Callable[..., Fetcher]]:
    """Makes fetchers with these settings changed; closes them."""
    fetchers: list[Fetcher] = []

    def make(
        tls: Any = None, clock: Clock | None = None, signer: Any = None, **changes: Any
    ) -> Fetcher:
        settings = replace(PATIENT, **changes)
        fetchers.append(Fetcher(settings, tls=tls, clock=clock, signer=signer))
        return fetchers[-1]

    yield make
    for fetcher in fetchers:
        fetcher.close()


@pytest.fixture
def fetcher(fetcher_with: Callable[..., Fetcher]) -> Fetcher:
    return fetcher_with()
