"""Fetch single URLs politely, in programs that are not workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from aragog.bootstrap.egress import create_egress
from aragog.bootstrap.fetch_limits import for_robots
from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    lines_of,
    robots_cache,
    server_ms,
)
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.identity.request_signer import request_signer
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.site_rules import install_site_rules
from aragog.crawl.politeness.shared_clock import ServerTime
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.access_rules import AccessRules
from aragog.crawl.stages.robots import RobotsStage
from aragog.crawl.stages.single_fetch import SingleFetch
from aragog.crawl.stages.waiting_line import WaitingLine
from aragog.runtime.green_threads import GreenClock, GreenPool
from aragog.runtime.open_files import sockets_within_limit
from aragog.settings import FetchSettings, Settings


class SingleFetches(NamedTuple):
    """The fetcher, and a function that closes it."""

    fetch: SingleFetch
    close: Callable[[], None]


def single_fetches(settings: Settings) -> SingleFetches:
    """
    Connect to the limiter, the robots cache and the takedowns in the configured Redis.

    Raises:
        ConfigError: a setting is invalid, such as the overrides file.
    """
    settings = settings.resolved()
    install_site_rules(settings)
    shared, overrides = SharedState.from_settings(settings), connect_overrides(settings)
    clock = ServerTime(GreenClock(), partial(server_ms, shared.client))
    limits = limiter(settings, overrides, clock)
    rules = AccessRules(
        limiter=limits,
        robots=robots_cache(settings, clock),
        overrides=overrides,
        takedowns=shared.blocks,
        ssrf_filter=SsrfFilter(settings.fetch),
        settings=settings,
    )
    access = Access(
        rules=rules,
        line=WaitingLine(lines_of(settings), settings.politeness.wait_inline_ms),
    )
    signer = request_signer(settings.identity, clock)
    egress = create_egress(settings, shared.client, clock)
    pages = Fetcher(
        _single_fetch_settings(settings.fetch),
        rules.ssrf_filter,
        clock=clock,
        signer=signer,
        egress=egress,
    )
    robots = RobotsStage(
        robots=rules.robots,
        limiter=limits,
        fetcher=Fetcher(
            for_robots(settings.fetch),
            rules.ssrf_filter,
            clock=clock,
            signer=signer,
            connections_from=pages,
            truncate_oversized=True,
        ),
        pool=GreenPool(sockets_within_limit(settings.fetch.concurrency)),
        counters=shared.counters,
        clock=clock,
        settings=settings,
        find_forbidden=rules.find_forbidden,
        line=access.line,
    )

    def close() -> None:
        pages.close()
        limits.close()

    return SingleFetches(SingleFetch(access, pages, robots, clock), close)


def _single_fetch_settings(fetch: FetchSettings) -> FetchSettings:
    """Return settings for single requests, without redirects, with any content type."""
    return dataclasses.replace(fetch, content_types=("*/*",), max_redirects=0)
