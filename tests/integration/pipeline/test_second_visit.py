"""The effect of a second visit on a stored page, on every engine (tests.support.second_visit)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aragog.bootstrap.stages import connect
from aragog.bootstrap.stores import tables as open_tables
from aragog.crawl.pipeline import counters
from aragog.settings import (
    FetchSettings,
    PipelineSettings,
    PolitenessSettings,
    Settings,
    StoreSettings,
    WebhookSettings,
)
from aragog.settings.servers import RedisSettings
from aragog.standalone.postgres_server import PostgresServer
from aragog.urlstore.content import open_content
from tests.support.crawl_harness import AGENT, CONTENT, CrawlHarness
from tests.support.pipeline_harness import Sent
from tests.support.postgres_server import store_settings
from tests.support.second_visit.hooks import LOOPBACK, receiver
from tests.support.second_visit.seen import Seen, expected
from tests.support.second_visit.site import Sites
from tests.support.second_visit.table import CELLS, COLUMNS, COUNTED
from tests.support.second_visit.visits import Visits

pytestmark = pytest.mark.redis


INDEXED = ("page.title",)


def sqlite(_request: pytest.FixtureRequest) -> StoreSettings:
    return StoreSettings(engine="sqlite", sqlite_shards=2, indexed=INDEXED)


def postgres(request: pytest.FixtureRequest) -> StoreSettings:
    server: PostgresServer = request.getfixturevalue("postgres_server")
    dsn = server.create_database("second_visit")
    return store_settings(dsn, indexed=INDEXED)


def hbase(request: pytest.FixtureRequest) -> StoreSettings:
    its: StoreSettings = request.getfixturevalue("hbase_settings")
    return replace(its, hbase_prefix="second_", indexed=INDEXED)


ENGINES = {"sqlite": sqlite, "postgres": postgres, "hbase": hbase}


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("hbase", marks=pytest.mark.hbase),
    ],
)
def seen(request, redis_server, tmp_path_factory) -> Iterator[Seen]:
    """The store of one engine after both visits of all cells."""
    folder: Path = tmp_path_factory.mktemp("second")
    sites = Sites()
    with sites.origin as origin, receiver() as hook:
        settings = Settings(
            data_dir=folder,
            redis=RedisSettings(url=redis_server.url, prefix=f"second-{request.param}:"),
            politeness=PolitenessSettings(qps=1000),
            store=ENGINES[request.param](request),
            content=CONTENT,
            fetch=FetchSettings(
                user_agent=AGENT,
                host_map={"*.test": origin.address},
                allowed_networks=("127.0.0.0/8",),
                read_timeout_s=1.0,
            ),
            pipeline=PipelineSettings(retry_first_s=0.01, max_attempts=2),
            webhooks=WebhookSettings(allowed_hosts=(LOOPBACK,)),
        )
        engine = open_tables(settings)
        engine.create()
        engine.close()
        sent = Sent()
        harness = CrawlHarness(connect(settings, sent), origin, sent)
        visits = Visits(harness, sites, hook)
        visits.run()
        yield Seen(visits, open_content(settings.content, folder), folder)
        harness.pipeline.close()


# Not specific to a page, or random: rule files are compared by a sample.
NOT_EXACT = (
    counters.ENQUEUED, counters.BYTES, counters.ROBOTS, counters.RESCHEDULED,
    counters.ROBOTS_COMPARED, counters.ROBOTS_DIFFERENT,
)  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
def test_counters_after_the_second_visit(seen, column):
    counts = {name: n for name, n in seen.visits.counts[column].items() if n}
    asked = {name: n for name, n in counts.items() if name in counters.EVENTS or "_" in name}
    for name in NOT_EXACT:
        asked.pop(name, None)
    assert asked == COUNTED[column]


def test_nothing_is_in_flight_after_the_second_visit(seen):
    assert seen.visits.harness.pipeline.store.in_flight.count() == 0


@pytest.mark.parametrize(("cell", "name"), CELLS.items(), ids=map("-".join, CELLS))
def test_second_visit(seen, cell, name):
    assert seen.of(cell, name) == expected(cell, name)
