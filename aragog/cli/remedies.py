"""What to do about our own infrastructure that does not answer: the second line of such errors."""

from __future__ import annotations

from urllib.parse import urlsplit

from aragog.errors import (
    AragogError,
    BrokerFull,
    ConfigError,
    ContentUnavailable,
    SlowDown,
    StoreUnavailable,
    TransientError,
)
from aragog.settings import Settings, load_settings


def remedy(error: AragogError) -> str | None:
    """A line that names the setting, its value and the next step; None when the error says it."""
    if not isinstance(error, TransientError) or isinstance(error, BrokerFull | SlowDown):
        return None
    try:
        settings = load_settings()
    except ConfigError:
        return None
    if isinstance(error, StoreUnavailable):
        return _store(settings)
    if isinstance(error, ContentUnavailable):
        return f"content.engine is {settings.content.engine}; `aragog doctor` looks at every part"
    if settings.private_redis:
        return (
            f"data_dir: nothing answers in {settings.data_dir.absolute()}; `aragog up` starts the "
            "system there, or set redis.url and broker.url to servers of yours"
        )
    return (
        f"redis.url is {_shown(settings.redis.url)}, broker.url {_shown(settings.broker.url)}; do "
        "they run, and can this machine reach them?"
    )


def _store(settings: Settings) -> str:
    if settings.store.engine == "hbase":
        gateways = ", ".join(settings.store.hbase_gateways)
        return f"store.hbase_gateways: {gateways}; does a Thrift gateway run there?"
    return f"data_dir: {settings.data_dir.absolute()}; is there space, and may it be written?"


def _shown(url: str) -> str:
    """The URL without its password."""
    place = urlsplit(url)
    return f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
