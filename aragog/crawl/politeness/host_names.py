"""Host and domain names in a setting."""

from __future__ import annotations

from collections.abc import Sequence

import idna

from aragog.errors import ConfigError
from urlspelling.hosts import longest_match


class HostNames:
    """
    Host names, each of which includes its subdomains. Immutable.

    Args:
        names: host names in any case, Unicode or Punycode.
        setting: the name of the setting, for error messages.

    Raises:
        ConfigError: a name is not a host name.
    """

    def __init__(self, names: Sequence[str], setting: str) -> None:
        hosts = {name: host_name(name) for name in names}
        problems = [
            f"{setting}: {name!r} is not a host name; use a name without scheme, port or path"
            for name, host in hosts.items()
            if host is None
        ]
        if problems:
            raise ConfigError(*problems)
        self.names = frozenset(host for host in hosts.values() if host is not None)

    def find(self, host: str) -> str | None:
        """Return the longest name that is `host` or a parent domain of `host`, or None."""
        return longest_match(host, self.names) if self.names else None


def host_name(name: str) -> str | None:
    """Return the name in lower case and Punycode, or None if it is not a host name."""
    bare_name = name.strip().rstrip(".").lower()
    if bare_name.isascii():
        is_allowed = bare_name.replace("-", "").replace(".", "").replace("_", "").isalnum()
        return (
            bare_name
            if is_allowed and ".." not in bare_name and not bare_name.startswith(".")
            else None
        )
    try:
        return idna.encode(bare_name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
