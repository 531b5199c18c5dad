"""The operator's rules for single sites, and the spellings that robots.txt is asked about."""

from __future__ import annotations

from aragog.crawl.politeness.robots_rules import comparable_url
from aragog.errors import ConfigError
from aragog.settings import Settings
from urlspelling import InvalidSiteRules, resolve, site_rules, use_site_rules


def install_site_rules(settings: Settings) -> None:
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
    try:
        use_site_rules(site_rules(text, str(path)))
    except InvalidSiteRules as error:
        raise ConfigError(*error.problems) from error


def other_spelling(given: str, normalized: str, base: str | None = None) -> str | None:
    """
    `given` as an absolute URL, where robots.txt could answer otherwise than for `normalized`.

    None where the two differ at most in escapes, which rules are compared without. What is left are
    URLs of which normalization sorted the query or dropped tracking parameters or a session.

    Args:
        given: as it came: from a producer, or in a Location header.
        normalized: what it is normalized to.
        base: what `given` is relative to.
    """
    if given == normalized:
        return None
    absolute = resolve(given, base).partition("#")[0]
    if comparable_url(absolute) == comparable_url(normalized):
        return None
    return absolute
