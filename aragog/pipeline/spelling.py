"""The operator's rules for single sites' query parameters, taken up once a process."""

from __future__ import annotations

from aragog.errors import ConfigError
from aragog.settings import Settings
from aragog.urls import use_site_rules
from aragog.urls.query import site_rules


def take_up_site_rules(settings: Settings) -> None:
    """
    Normalize by the rules of `site_rules_file`, if there is one; producers and workers alike.

    Raises:
        ConfigError: the file cannot be read; every problem names file, key and value.
    """
    path = settings.site_rules_file
    if path is None:
        return
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"site_rules_file: {path} cannot be read: {error}") from error
    use_site_rules(site_rules(text, str(path)))
