"""Settings, limits, headers and helper objects that all fetches of a `Fetcher` share."""

from __future__ import annotations

from collections.abc import Iterable

from aragog.crawl.fetcher.adapter import PinnedAdapter
from aragog.crawl.fetcher.body_limits import Bounds
from aragog.crawl.fetcher.http1.decoders import ACCEPT_ENCODING
from aragog.crawl.fetcher.request import basic_auth_header
from aragog.crawl.fetcher.ssrf import AddressPolicy
from aragog.crawl.fetcher.user_agent import user_agent
from aragog.errors import ConfigError
from aragog.runtime.clock import Clock
from aragog.runtime.secret import reveal
from aragog.settings import FetchSettings
from aragog.settings.credentials import credential_problems, header_lines, origin_of
from urlspelling.domain import origin

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class RequestDefaults:
    """
    The shared defaults of a `Fetcher`.

    Raises:
        ConfigError: a configured header or credential cannot be sent. The message names the
            setting.
    """

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: AddressPolicy,
        adapter: PinnedAdapter,
        clock: Clock,
        *,
        truncate_oversized: bool = False,
        trust_declared_types: bool = False,
    ) -> None:
        self.settings = settings
        self.ssrf_filter = ssrf_filter
        self.adapter = adapter
        self.clock = clock
        self.trust_declared_types = trust_declared_types
        self.bounds = Bounds(
            settings.max_wire_bytes, settings.max_body_bytes, truncate_oversized=truncate_oversized
        )
        self.headers = {
            "User-Agent": user_agent(settings),
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        problems = list(
            credential_problems(settings.headers, settings.basic_auth, settings.origin_headers)
        )
        if not self.headers["User-Agent"].isprintable():
            problems.append("fetch.user_agent: contains a control character; remove it")
        if problems:
            raise ConfigError(*problems)
        replaced_names = {name.lower() for name in settings.headers}
        self.headers = {k: v for k, v in self.headers.items() if k.lower() not in replaced_names}
        self.headers.update(settings.headers)
        self._credentials = _credentials_by_origin(settings)

    def headers_for(self, url: str, earlier_urls: Iterable[str] = ()) -> dict[str, str]:
        """
        Return all request headers for `url` except Host.

        Credentials are sent only to their own origin, and only if all of `earlier_urls` (the
        redirect chain) have that origin, so that no other site can choose the URL that receives
        them.
        """
        if not self._credentials:
            return dict(self.headers)
        target = origin(url)
        credentials = self._credentials.get(target)
        if not credentials or any(origin(other) != target for other in earlier_urls):
            return dict(self.headers)
        replaced_names = {name.lower() for name in credentials}
        headers = {k: v for k, v in self.headers.items() if k.lower() not in replaced_names}
        return headers | credentials


def _credentials_by_origin(settings: FetchSettings) -> dict[str, dict[str, str]]:
    headers: dict[str, dict[str, str]] = {}
    for key, login in settings.basic_auth.items():
        user, _, password = reveal(login).partition(":")
        headers.setdefault(origin_of(key) or "", {})["Authorization"] = basic_auth_header(
            user, password
        )
    for key, lines in settings.origin_headers.items():
        headers.setdefault(origin_of(key) or "", {}).update(header_lines(lines))
    return headers
