"""
One polite GET: a URL in, an outcome out, whatever the web does.

`Fetcher` is built on requests, with an adapter of our own under it (`adapter`). It follows
redirects by hand: each target is normalized, vetted by the guard, admitted by the gate and kept in
the chain. All limits are those of `FetchSettings`. The only things it raises are ours: a URL that
is none, a User-Agent without contact, and what the gate raises.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Self

import requests

from aragog.clock import Clock, SystemClock
from aragog.fetcher.adapter import PinnedAdapter
from aragog.fetcher.admission import Gate, OpenGate
from aragog.fetcher.attempt import FetchAttempt
from aragog.fetcher.outcome import Hop, Outcome
from aragog.fetcher.request_defaults import RequestDefaults
from aragog.fetcher.ssrf import ports
from aragog.fetcher.ssrf.filter import SsrfFilter
from aragog.fetcher.user_agent import user_agent
from aragog.settings import FetchSettings
from aragog.urls import normalize


class Fetcher:
    """
    Fetches many URLs, keeping connections; safe to use from many threads, not across a fork.

    Args:
        settings: all limits, proxy, headers.
        guard: what may be connected to; None: `aragog.fetcher.ssrf_filter.SsrfFilter(settings)`.
        clock: for timing and Retry-After.
        tls: how certificates are judged; None: by the system's and certifi's roots.
    """

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: ports.AddressPolicy | None = None,
        *,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.settings = settings
        self.ssrf_filter: ports.AddressPolicy = ssrf_filter or SsrfFilter(settings)
        self.clock = clock or SystemClock()
        self.adapter = PinnedAdapter(settings, self.ssrf_filter, clock=self.clock, tls=tls)
        self._plan = RequestDefaults(settings, self.ssrf_filter, self.adapter, self.clock)

    def fetch(
        self,
        url: str,
        *,
        gate: Gate | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        validators_url: str | None = None,
        hops: Sequence[Hop] = (),
    ) -> Outcome:
        """
        What came of fetching `url`.

        Safe to run twice: a GET changes nothing.

        Args:
            url: is normalized first.
            gate: asked for each redirect target and before each request; None lets all through.
            etag: of the copy we have; with it an unchanged page comes to NotModified.
            last_modified: the same, as the origin sent it.
            validators_url: the URL that copy came from, and the only one that is told; None: `url`.
            hops: a chain to go on from, whose last target is `url`.

        Raises:
            InvalidUrl: `url` is none.
            ConfigError: no contact in the User-Agent, and the host is not on loopback.
        """
        attempt = FetchAttempt(self._plan, normalize(url), gate or _OPEN, tuple(hops))
        attempt.remember(etag, last_modified, validators_url)
        return attempt.run()

    def session(self) -> requests.Session:
        """A `requests.Session` over the same adapter: guarded, bounded, GET only."""
        session = requests.Session()
        session.trust_env = False
        session.headers["User-Agent"] = user_agent(self.settings)
        session.mount("http://", self.adapter)
        session.mount("https://", self.adapter)
        return session

    def close(self) -> None:
        """Let go of all connections."""
        self.adapter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_OPEN = OpenGate()


def fetch(
    url: str,
    *,
    settings: FetchSettings | None = None,
    ssrf_filter: ports.AddressPolicy | None = None,
    gate: Gate | None = None,
    conditional: tuple[str | None, str | None] | None = None,
    clock: Clock | None = None,
    hops: Sequence[Hop] = (),
    tls: ssl.SSLContext | None = None,
) -> Outcome:
    """
    What came of fetching `url` once, on connections of its own; see `Fetcher.fetch`.

    `conditional` is the ETag and the Last-Modified of the copy we have; all else as there.
    """
    etag, last_modified = conditional or (None, None)
    with Fetcher(settings or FetchSettings(), ssrf_filter, clock=clock, tls=tls) as fetcher:
        return fetcher.fetch(url, gate=gate, etag=etag, last_modified=last_modified, hops=hops)
