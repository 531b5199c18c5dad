"""Detect problems with the settings, before they occur in every worker."""

from __future__ import annotations

import os
import time

from aragog.api.server.tokens import check_exposure
from aragog.bootstrap.rendering import check_rendering
from aragog.crawl.egress.egress import Egress
from aragog.crawl.identity.keys import check_key_file
from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.stages.sign_in import check_values
from aragog.dashboard.exposure import check_flower_exposure
from aragog.runtime.clock import SystemClock
from aragog.runtime.extras import has, require
from aragog.settings import Settings


def check(settings: Settings) -> None:
    """
    Check the settings.

    It finds servers that are open to other machines without a token or login, an invalid overrides
    file, a missing login, extractors that are not installed, a crawl log without its library, an
    unusable key file, and a required browser that cannot be started.

    Raises:
        ConfigError: lists each problem with its setting or file.
    """
    check_exposure(settings.serving)
    if has("flower"):
        check_flower_exposure(settings.serving.flower_host, os.environ)
    politeness = settings.politeness
    Overrides(politeness.overrides_file, blocked_hosts=BlockedHosts(politeness.blocked_hosts))
    check_rendering(settings)
    if settings.identity.key is not None:
        check_key_file(settings.identity.key, time.time())
    check_values(settings.fetch.sign_in)
    Egress(settings.egress, settings.fetch, SystemClock())  # reads the logins
    if settings.crawl_log.engine != "off":
        # Without this library, every fetch would be logged to Redis, but never to a file.
        require("parquet", f'crawl_log.engine = "{settings.crawl_log.engine}"')
    if settings.crawl_log.engine == "s3":
        require("s3", 'crawl_log.engine = "s3"')
    if settings.pipeline.extractors or settings.extract:
        from aragog.pages.extractors import load_all  # noqa: PLC0415 - it imports the parsers

        load_all(settings.pipeline.extractors, settings.extract)
