"""The stages with everything real but the broker: Redis, limiter, robots cache, fetcher, origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aragog.bootstrap import connect
from aragog.pipeline.services import Services
from aragog.settings import FetchSettings, PolitenessSettings, Settings, StoreSettings
from aragog.settings.sections import RedisSettings
from tests.support.origin import Handler, Origin
from tests.support.pipeline_stand import Sent

NO_RULES = b"User-agent: *\nDisallow:\n"


@dataclass
class CrawlStand:
    """One process's services and the origin that every host under `.test` leads to."""

    services: Services
    origin: Origin
    sent: Sent

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}{path}"

    def know_rules(self, *hosts: str, body: bytes = NO_RULES) -> None:
        """Have the rules of these hosts in the cache, as if fetched now."""
        for host in hosts:
            now_ms = self.services.clock.now_ms()
            self.services.robots.put(f"http://{host}", 200, body, now_ms)


@pytest.fixture
def crawl_stand(redis_url: str, tmp_path: Path) -> Iterator[Callable[..., CrawlStand]]:
    """Makes stands: `crawl_stand(handlers, qps=10)`; further keywords are politeness settings."""
    made: list[CrawlStand] = []

    def make(handlers: dict[str, Handler], **politeness: Any) -> CrawlStand:
        origin = Origin(handlers)
        origin.start()
        settings = Settings(
            data_dir=tmp_path,
            redis=RedisSettings(url=redis_url),
            politeness=PolitenessSettings(**politeness),
            store=StoreSettings(engine="memory"),
            fetch=FetchSettings(
                user_agent="aragog/1.0 (+http://127.0.0.1/)",
                host_map={"*.test": origin.address},
                allowed_networks=("127.0.0.0/8",),
            ),
        )
        sent = Sent()
        made.append(CrawlStand(connect(settings, sent), origin, sent))
        return made[-1]

    yield make
    for stand in made:
        stand.origin.stop()
        stand.services.limiter.close()
        stand.services.close()
