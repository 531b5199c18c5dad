"""Claim the configured Redis for one store, and check the claim."""

from __future__ import annotations

import socket
from contextlib import closing

from aragog.bootstrap.redis_services import quick_client
from aragog.bootstrap.stores import tables
from aragog.crawl.pipeline.store_claim import StoreClaim, StoreIdentity, conflict_message
from aragog.settings import Settings
from pinlater.redis.address import server_name
from zengraph.tables import Tables


def store_identity(settings: Settings, engine: Tables) -> StoreIdentity:
    """Return the identity of the configured store, as Redis records it."""
    if settings.store.engine == "hbase":
        location = ", ".join(settings.store.hbase_gateways)
    elif settings.store.dsn:
        location = str(settings.store.dsn)
    else:
        location = f"{socket.gethostname()}:{settings.data_dir.absolute()}"
    return StoreIdentity(engine.identity(), settings.store.engine, location)


def store_conflict(settings: Settings, *, claim: bool = True) -> str | None:
    """
    Return why `redis.url` must not be used with the configured store, or None.

    With `claim`, a Redis that belongs to no store is assigned to this store.

    Raises:
        BrokerUnavailable, StoreUnavailable: Redis or the store does not respond.
    """
    resolved = settings.resolved()
    with closing(tables(settings)) as engine:
        identity = store_identity(settings, engine)
    if not identity.id:
        return None
    with quick_client(resolved.redis.url) as client:
        store_claim = StoreClaim(client, prefix=resolved.redis.prefix)
        if str(settings.redis_socket) in resolved.redis.url:
            # This Redis is in the data folder, so an earlier store in that folder is gone.
            if claim:
                store_claim.take(identity)
            return None
        owner = store_claim.claim(identity) if claim else store_claim.owner()
    return conflict_message(identity, owner, server_name(resolved.redis.url))
