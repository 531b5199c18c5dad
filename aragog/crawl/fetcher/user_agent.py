"""The User-Agent header, which must contain a contact for site owners."""

from __future__ import annotations

import importlib.metadata
import re

from aragog.errors import ConfigError
from aragog.runtime.extras import DISTRIBUTION
from aragog.runtime.hosts import is_loopback
from aragog.settings import FetchSettings
from urlspelling.hosts import split_port

_CONTACT = re.compile(
    r"https?://[^\s/)]{1,253}\.[^\s)]|[^\s@(<+;]@[^\s@]{1,253}\.[a-z]{2}", re.IGNORECASE
)
"""A URL or an email address. Host names have at most 253 characters."""


def user_agent(settings: FetchSettings) -> str:
    """Return the User-Agent sent with every request."""
    return settings.user_agent or f"aragog/{importlib.metadata.version(DISTRIBUTION)}"


def has_contact(settings: FetchSettings) -> bool:
    """Return True if the User-Agent contains a URL or an email address."""
    return bool(_CONTACT.search(settings.user_agent))


def check_user_agent(settings: FetchSettings, url: str) -> None:
    """
    Check that `url` may be fetched with this User-Agent.

    Raises:
        ConfigError: the User-Agent has no contact, and `url` does not lead to a loopback address,
            even after `host_map` is applied.
    """
    if reason := user_agent_refusal(settings, url):
        raise ConfigError(reason)


def user_agent_refusal(settings: FetchSettings, url: str) -> str | None:
    """Return why `url` must not be requested with this User-Agent, or None."""
    if has_contact(settings) or _is_loopback(settings, url):
        return None
    return missing_contact_message(settings)


def missing_contact_message(settings: FetchSettings) -> str:
    """Return the error message for a User-Agent without a contact."""
    return (
        f"fetch.user_agent: must contain a contact URL or email address, got "
        f"{settings.user_agent!r}; "
        'set it to something like "examplebot/1.0 (+https://example.com/bot)"'
    )


def _is_loopback(settings: FetchSettings, url: str) -> bool:
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    host = split_port(authority)[0]
    mapped = (
        target
        for name, target in settings.host_map.items()
        if name == host or (name.startswith("*.") and host.endswith(name[1:]))
    )
    host = split_port(next(mapped, host))[0].strip("[]")
    return is_loopback(host) or host.endswith(".localhost")
