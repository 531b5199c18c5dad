"""Hedged reads of the store that the settings name and of its standby."""

from __future__ import annotations

import dataclasses

from aragog.api.hedging import HedgedReads
from aragog.bootstrap.stores import url_store
from aragog.errors import ConfigError
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


def hedged_reads(settings: Settings, store: UrlStore) -> HedgedReads | None:
    """
    Reads of `store` and its standby (`serving.standby_gateways`); None if there is no standby.

    Raises:
        ConfigError: the store's engine has no standby.
    """
    gateways = settings.serving.standby_gateways
    if not gateways:
        return None
    if settings.store.engine != "hbase":
        raise ConfigError(
            "serving.standby_gateways: only an HBase store has a standby; set store.engine to hbase"
        )
    replica = dataclasses.replace(settings.store, hbase_gateways=gateways)
    standby = url_store(dataclasses.replace(settings, store=replica))
    return HedgedReads(store, standby, threads=settings.serving.threads)
