"""A fetcher that may reach loopback, and little patience."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from aragog.fetcher.http import Fetcher
from aragog.settings import FetchSettings

IMPATIENT = FetchSettings(
    user_agent="testbot/1.0 (+https://example.com/bot)",
    deadline_s=2.0,
    connect_timeout_s=1.0,
    read_timeout_s=0.5,
    allowed_networks=("127.0.0.0/8",),
    allowed_ports=tuple(range(1024, 65536)),
)


@pytest.fixture
def fetcher_with() -> Iterator[Callable[..., Fetcher]]:
    """Makes fetchers with these settings changed; closes them."""
    made: list[Fetcher] = []

    def make(tls: Any = None, **changes: Any) -> Fetcher:
        made.append(Fetcher(replace(IMPATIENT, **changes), tls=tls))
        return made[-1]

    yield make
    for fetcher in made:
        fetcher.close()


@pytest.fixture
def fetcher(fetcher_with: Callable[..., Fetcher]) -> Fetcher:
    return fetcher_with()
