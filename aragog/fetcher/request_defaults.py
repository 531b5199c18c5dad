"""What all fetches of one Fetcher have in common: its parts, its bounds, its request headers."""

from __future__ import annotations

from collections.abc import Iterable

from aragog.clock import Clock
from aragog.errors import ConfigError
from aragog.fetcher.adapter import PinnedAdapter
from aragog.fetcher.http1.body import Bounds
from aragog.fetcher.http1.decoders import ACCEPT_ENCODING
from aragog.fetcher.request import basic
from aragog.fetcher.ssrf.ports import AddressPolicy
from aragog.fetcher.user_agent import user_agent
from aragog.settings import FetchSettings
from aragog.settings.credentials import credential_problems, header_lines, origin_of
from aragog.settings.secret import reveal
from aragog.urls.domain import origin

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class RequestDefaults:
    """See the module; raises ConfigError for headers that cannot be sent."""

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: AddressPolicy,
        adapter: PinnedAdapter,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.ssrf_filter = ssrf_filter
        self.adapter = adapter
        self.clock = clock
        self.bounds = Bounds(settings.max_wire_bytes, settings.max_body_bytes)
        self.headers = {
            "User-Agent": user_agent(settings),
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        problems = [
            *credential_problems(settings.headers, settings.basic_auth, settings.origin_headers)
        ]
        if not self.headers["User-Agent"].isprintable():
            problems.append("fetch.user_agent: holds a control character; remove it")
        if problems:
            raise ConfigError(*problems)
        own = {name.lower() for name in settings.headers}
        self.headers = {k: v for k, v in self.headers.items() if k.lower() not in own}
        self.headers.update(settings.headers)
        self._credentials = _by_origin(settings)

    def headers_for(self, url: str, asked: Iterable[str] = ()) -> dict[str, str]:
        """
        Everything but Host that goes to `url`.

        Credentials go to the origin they are bound to, and only where every URL `asked` before in
        this chain is of that origin too: another site must not choose what is asked with them.
        """
        if not self._credentials:
            return dict(self.headers)
        home = origin(url)
        own = self._credentials.get(home)
        if not own or any(origin(other) != home for other in asked):
            return dict(self.headers)
        replaced = {name.lower() for name in own}
        headers = {k: v for k, v in self.headers.items() if k.lower() not in replaced}
        return headers | own


def _by_origin(settings: FetchSettings) -> dict[str, dict[str, str]]:
    """The headers bound to each origin."""
    found: dict[str, dict[str, str]] = {}
    for key, login in settings.basic_auth.items():
        user, _, password = reveal(login).partition(":")
        found.setdefault(origin_of(key) or "", {})["Authorization"] = basic(user, password)
    for key, lines in settings.origin_headers.items():
        found.setdefault(origin_of(key) or "", {}).update(header_lines(lines))
    return found
