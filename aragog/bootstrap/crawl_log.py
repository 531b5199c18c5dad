"""Connect the parts of the crawl log, if it is on."""

from __future__ import annotations

import redis

from aragog.crawl.pipeline.crawl_log import CrawlLogStream
from aragog.crawl.pipeline.crawl_log_files import log_files
from aragog.crawl.pipeline.crawl_log_writer import CrawlLogWriter, writer_lease
from aragog.settings import Settings


def crawl_log_stream(client: redis.Redis, settings: Settings) -> CrawlLogStream | None:
    """Return the stream of crawl log rows, or None if the log is off."""
    if settings.crawl_log.engine == "off":
        return None
    return CrawlLogStream(client, prefix=settings.redis.prefix)


def crawl_log_writer(client: redis.Redis, settings: Settings) -> CrawlLogWriter | None:
    """Return the writer that moves crawl log rows to files, or None if the log is off."""
    stream = crawl_log_stream(client, settings)
    if stream is None:
        return None
    files = log_files(settings.crawl_log, settings.content, settings.data_dir)
    lease = writer_lease(client, prefix=settings.redis.prefix)
    return CrawlLogWriter(stream, files, settings.crawl_log.span_s, lease)
