"""
The settings: one frozen value. It is read from a TOML file and the environment, and validated.

`load_settings(path, environ)` reads a TOML file, applies `ARAGOG_<FIELD>` and
`ARAGOG_<SECTION>__<FIELD>`, and raises one `ConfigError` that lists every invalid key. No other
module reads `ARAGOG_` variables.
"""

from aragog.settings.crawling import (
    FetchSettings,
    IdentitySettings,
    PipelineSettings,
    PolitenessSettings,
    PreferencesSettings,
    RefreshSettings,
    RenderingSettings,
    WorkerSettings,
)
from aragog.settings.egress import EgressRule, EgressSettings, WaySettings
from aragog.settings.loading import build_settings, configured_names, load_settings, settings_file
from aragog.settings.servers import (
    BrokerSettings,
    ContentSettings,
    CrawlLogSettings,
    LogSettings,
    RedisSettings,
    StandaloneSettings,
    StoreSettings,
    TracingSettings,
)
from aragog.settings.serving import ServingSettings, WebhookSettings
from aragog.settings.settings import Settings
from aragog.settings.sign_in import SignInSettings
from aragog.settings.values import duration_s, plain

__all__ = [
    "BrokerSettings",
    "ContentSettings",
    "CrawlLogSettings",
    "EgressRule",
    "EgressSettings",
    "FetchSettings",
    "IdentitySettings",
    "LogSettings",
    "PipelineSettings",
    "PolitenessSettings",
    "PreferencesSettings",
    "RedisSettings",
    "RefreshSettings",
    "RenderingSettings",
    "ServingSettings",
    "Settings",
    "SignInSettings",
    "StandaloneSettings",
    "StoreSettings",
    "TracingSettings",
    "WaySettings",
    "WebhookSettings",
    "WorkerSettings",
    "build_settings",
    "configured_names",
    "duration_s",
    "load_settings",
    "plain",
    "settings_file",
]
