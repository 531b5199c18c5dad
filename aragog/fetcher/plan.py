"""What all fetches of one Fetcher have in common: its parts, its bounds, its request headers."""

from __future__ import annotations

from aragog.clock import Clock
from aragog.errors import ConfigError
from aragog.fetcher.adapter import PinnedAdapter
from aragog.fetcher.body import Bounds
from aragog.fetcher.decoders import ACCEPT_ENCODING
from aragog.fetcher.ports import Guard
from aragog.fetcher.request import basic
from aragog.fetcher.user_agent import user_agent
from aragog.settings import FetchSettings

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

# Never sent on to another host than the first of a chain.
PRIVATE_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class Plan:
    """See the module; raises ConfigError for headers that cannot be sent."""

    def __init__(
        self, settings: FetchSettings, guard: Guard, adapter: PinnedAdapter, clock: Clock
    ) -> None:
        self.settings = settings
        self.guard = guard
        self.adapter = adapter
        self.clock = clock
        self.bounds = Bounds(settings.max_wire_bytes, settings.max_body_bytes)
        self.headers = {
            "User-Agent": user_agent(settings),
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        own = {name.lower() for name in settings.headers}
        if bad := [n for n, v in settings.headers.items() if not f"{n}{v}".isprintable()]:
            raise ConfigError(f"fetch.headers: {bad[0]!r} holds a control character; remove it")
        self.headers = {k: v for k, v in self.headers.items() if k.lower() not in own}
        self.headers.update(settings.headers)
        self.public_headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in PRIVATE_HEADERS
        }

    def headers_for(self, url: str, first_url: str) -> dict[str, str]:
        """
        Everything but Host that goes to `url`.

        What is private stays with the host it is for, and is not sent in the clear where the chain
        began with TLS.
        """
        host = host_of(url)
        bared = first_url.startswith("https:") and not url.startswith("https:")
        at_home = host == host_of(first_url) and not bared
        headers = dict(self.headers if at_home else self.public_headers)
        if host in self.settings.basic_auth and not bared:
            user, _, password = self.settings.basic_auth[host].partition(":")
            headers["Authorization"] = basic(user, password)
        return headers


def host_of(url: str) -> str:
    """The host of a normalized URL, without port."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    return authority if authority.endswith("]") else authority.partition(":")[0]
