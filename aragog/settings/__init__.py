"""
Everything an operator can set, in one frozen value, checked whole before anything starts.

`load_settings(path, environ)` reads a TOML file, overlays `ARAGOG_<FIELD>` and
`ARAGOG_<SECTION>__<FIELD>`, and raises one `ConfigError` that names every bad key. Nothing else in
aragog reads the environment. What there is to set: `sections`; how it is read: `loading` and
`values`; what is refused: `checks`.
"""

from aragog.settings.loading import load_settings
from aragog.settings.sections import (
    BrokerSettings,
    ContentSettings,
    FetchSettings,
    PipelineSettings,
    PolitenessSettings,
    RedisSettings,
    RefreshSettings,
    ServingSettings,
    Settings,
    StandaloneSettings,
    StoreSettings,
    WebhookSettings,
    WorkerSettings,
)
from aragog.settings.values import duration_s

__all__ = [
    "BrokerSettings",
    "ContentSettings",
    "FetchSettings",
    "PipelineSettings",
    "PolitenessSettings",
    "RedisSettings",
    "RefreshSettings",
    "ServingSettings",
    "Settings",
    "StandaloneSettings",
    "StoreSettings",
    "WebhookSettings",
    "WorkerSettings",
    "duration_s",
    "load_settings",
]
