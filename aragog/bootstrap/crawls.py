"""Connect the crawl control, which starts, pauses and cancels crawls."""

from __future__ import annotations

from functools import cache

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.redis_services import lines_of
from aragog.bootstrap.stores import url_store
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.dashboard.domain_rows import domain_paces
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore
from pinlater.admin import Admin
from pinlater.brokers import kind_of


def crawl_control(settings: Settings, store: UrlStore | None = None) -> CrawlControl:
    """Return the crawl control. It uses `store` or, if that is None, opens the store on demand."""
    settings = settings.resolved()
    shared, broker = SharedState.from_settings(settings), settings.broker
    is_pinlater = kind_of(broker.url) == "pinlater"
    get_components = cache(lambda: components(settings, store=store))
    return CrawlControl(
        registry=shared.crawls,
        counts=shared.crawl_counts,
        lines=lines_of(settings),
        in_flight=shared.in_flight,
        admin=Admin.connect(broker.url, broker.shards) if is_pinlater else None,
        store=cache(lambda: store or url_store(settings)),
        seeds=shared.crawl_seeds,
        paces=lambda domains: domain_paces(domains, get_components()),
        traps=shared.traps,
    )
