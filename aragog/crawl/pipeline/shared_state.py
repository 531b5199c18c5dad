"""The pipeline's shared state in Redis, built from the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import redis

from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.sitemap_walks import SitemapWalks
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.crawl.traps.held_links import HeldLinks
from aragog.crawl.traps.trap_store import TrapStore
from aragog.runtime.secret import reveal
from aragog.settings import Settings
from pinlater.redis.connect import connect


@dataclass(frozen=True, slots=True)
class SharedState:
    """
    One installation's shared state. Connects on first use.

    Args:
        nodes: the servers that share the spool and the in-flight set, `redis.url` first.
        blocks: the sites and URLs that were taken down, copied from the store.
        crawl_counts: outcomes of crawls' URLs.
        traps: knows which of a host's URL templates are still followed.
        held_links: links held back until it is decided whether to follow them.
    """

    nodes: RedisNodes
    in_flight: InFlightSet
    counters: Counters
    spool: Spool
    blocks: SiteBlocks
    walks: SitemapWalks
    crawls: CrawlRegistry
    crawl_counts: CrawlCounters
    crawl_seeds: CrawlSeeds
    traps: TrapStore
    held_links: HeldLinks

    @classmethod
    def from_settings(
        cls, settings: Settings, open_client: Callable[[str], redis.Redis] = connect
    ) -> SharedState:
        """Create the shared state from the settings. `open_client` connects to a server."""
        settings = settings.resolved()
        shared, prefix = settings.redis, settings.redis.prefix
        nodes = RedisNodes.connect(
            [reveal(url) for url in (shared.url, *shared.nodes)], open_client
        )
        return cls(
            nodes=nodes,
            in_flight=InFlightSet(nodes, prefix=prefix),
            counters=Counters(nodes.first, prefix=prefix),
            spool=Spool(nodes, prefix=prefix, max_bytes=settings.pipeline.spool_max_bytes),
            blocks=SiteBlocks(nodes.first, prefix=prefix),
            walks=SitemapWalks(nodes.first, prefix=prefix),
            crawls=CrawlRegistry(nodes.first, prefix=prefix),
            crawl_counts=CrawlCounters(nodes, prefix=prefix),
            crawl_seeds=CrawlSeeds(nodes.first, prefix=prefix),
            traps=TrapStore(nodes, prefix=prefix),
            held_links=HeldLinks(nodes, prefix=prefix),
        )

    @property
    def client(self) -> redis.Redis:
        return self.nodes.first

    def servers(self) -> dict[str, redis.Redis]:
        """Return each server's client, by the name of its setting."""
        others = enumerate(self.nodes.clients[1:])
        return {"redis.url": self.client} | {f"redis.nodes {n}": client for n, client in others}
