"""
The operator's rules for particular sites, and original forms of URLs that robots.txt must also
allow.
"""

from __future__ import annotations

from aragog.crawl.politeness.robots_rules import comparable_url
from aragog.errors import ConfigError
from aragog.settings import Settings
from urlspelling import InvalidSiteRules, resolve, site_rules, use_site_rules


def install_site_rules(settings: Settings) -> None:
    """
    Use the rules in `site_rules_file`, if it is set, for normalization.

    Raises:
        ConfigError: the file is unreadable or invalid. The message names the file, key and value of
            each problem.
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


def original_form_for_robots(
    original_url: str, normalized: str, base: str | None = None
) -> str | None:
    """
    Return `original_url` as an absolute URL if robots.txt might decide differently about it than
    `normalized`.

    Returns None if the URLs differ only in percent-escapes, which are normalized before URLs are
    compared with robots rules.
    Normalization may also sort the query, or remove tracking parameters or a session ID.

    Args:
        original_url: the original form, from a producer or a Location header.
        normalized: its normalized form.
        base: the URL that `original_url` is relative to.
    """
    if original_url == normalized:
        return None
    absolute = resolve(original_url, base).partition("#")[0]
    if comparable_url(absolute) == comparable_url(normalized):
        return None
    return absolute
