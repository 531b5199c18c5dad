"""
The settings: one frozen value, read from a TOML file and the environment and validated at start.

`load_settings(path, environ)` reads a TOML file, applies `ARAGOG_<FIELD>` and
`ARAGOG_<SECTION>__<FIELD>`, and raises one `ConfigError` that names every invalid key. No other
module reads `ARAGOG_` variables. `sections` defines the settings, `loading` and `values` read them,
and `checks` validates them.
"""

from aragog.settings.loading import load_settings, names_set, settings_file, settings_of
from aragog.settings.sections.crawling import (
    FetchSettings,
    PipelineSettings,
    PolitenessSettings,
    RenderingSettings,
    WorkerSettings,
)
from aragog.settings.sections.operation import CrawlLogSettings, LogSettings, StandaloneSettings
from aragog.settings.sections.servers import BrokerSettings, RedisSettings
from aragog.settings.sections.serving import ServingSettings, WebhookSettings
from aragog.settings.sections.storage import ContentSettings, RefreshSettings, StoreSettings
from aragog.settings.settings import Settings
from aragog.settings.values import duration_s, plain

__all__ = [
    "BrokerSettings",
    "ContentSettings",
    "CrawlLogSettings",
    "FetchSettings",
    "LogSettings",
    "PipelineSettings",
    "PolitenessSettings",
    "RedisSettings",
    "RefreshSettings",
    "RenderingSettings",
    "ServingSettings",
    "Settings",
    "StandaloneSettings",
    "StoreSettings",
    "WebhookSettings",
    "WorkerSettings",
    "duration_s",
    "load_settings",
    "names_set",
    "plain",
    "settings_file",
    "settings_of",
]
