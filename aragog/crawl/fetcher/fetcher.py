"""
`Fetcher`: fetches one URL and returns an outcome, whatever the origin does.

It uses the library requests with `adapter.PinnedAdapter`, and follows redirects itself: for each
one, it normalizes the target, checks it with the SSRF filter, asks the gate to admit it, and
records a hop. All limits come from `FetchSettings`. It raises only for an invalid URL, or if the
gate fails.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Self

import requests

from aragog.crawl.egress.egress import Egress
from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher import ssrf
from aragog.crawl.fetcher.adapter import PinnedAdapter
from aragog.crawl.fetcher.attempt import FetchAttempt
from aragog.crawl.fetcher.cookies import OriginCookies
from aragog.crawl.fetcher.gate import Gate, OpenGate
from aragog.crawl.fetcher.request_defaults import RequestDefaults
from aragog.crawl.fetcher.request_options import RequestOptions
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.fetcher.user_agent import user_agent
from aragog.crawl.identity.request_signer import RequestSigner
from aragog.fetch_record.outcome import Hop, Outcome
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import FetchSettings
from urlspelling import normalize


class Fetcher:
    """
    Fetches URLs and reuses connections. Thread-safe. Must not be used across a fork.

    >>> fetcher = Fetcher(settings.fetch)
    >>> outcome = fetcher.fetch(url)
    >>> outcome.outcome.value, outcome.status, outcome.body
    ('Fetched', 200, b'<h1>Hat</h1>')
    >>> fetcher.fetch("http://10.0.0.1/").outcome.value  # a private address
    'Blocked'
    >>> fetcher.close()

    Args:
        ssrf_filter: decides which addresses are allowed; `SsrfFilter(settings)` by default.
        tls: context for HTTPS. By default it trusts the roots of the system and certifi.
        connections_from: another fetcher to share connections with. It must have the same egress
            routes and TLS context.
        signer: signs every request. If None, requests are not signed.
        trust_declared_types: if True, bodies of an accepted type are not sniffed.
        truncate_oversized: if True, a body whose Content-Length is too large, or that looks like a
            decompression bomb, is truncated. If False, the outcome is TooLarge.
        egress: the egress routes. By default those of `connections_from`, or else those of
            `fetch.proxy`.
    """

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: ssrf.AddressPolicy | None = None,
        *,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        connections_from: Fetcher | None = None,
        signer: RequestSigner | None = None,
        truncate_oversized: bool = False,
        trust_declared_types: bool = False,
        egress: Egress | None = None,
    ) -> None:
        self.settings = settings
        self.ssrf_filter: ssrf.AddressPolicy = ssrf_filter or SsrfFilter(settings)
        self.clock = clock or SystemClock()
        self.adapter: PinnedAdapter = PinnedAdapter(
            settings,
            self.ssrf_filter,
            clock=self.clock,
            tls=tls,
            connections_from=connections_from.adapter if connections_from else None,
            signer=signer,
            egress=egress,
        )
        self._defaults = RequestDefaults(
            settings,
            self.ssrf_filter,
            self.adapter,
            self.clock,
            truncate_oversized=truncate_oversized,
            trust_declared_types=trust_declared_types,
        )

    def fetch(
        self,
        url: str,
        *,
        gate: Gate | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        validators_url: str | None = None,
        hops: Sequence[Hop] = (),
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes = b"",
        error_body_bytes: int = 0,
        egress: EgressContext = ANY_CONTEXT,
        cookies: OriginCookies | None = None,
    ) -> Outcome:
        """
        Fetch `url` and return its outcome. Idempotent, except for POST.

        Args:
            url: the URL. It is normalized first.
            gate: admits redirect targets and grants permits to send. If None, all requests are
                allowed.
            etag: the stored copy's ETag. If the page is unchanged, the outcome is NotModified.
            last_modified: the stored copy's Last-Modified, as the origin sent it.
            validators_url: the stored copy's URL; `url` if None. Only requests to this URL carry
                the ETag and the date.
            hops: the redirects that led to `url`, if an earlier fetch was interrupted there.
            headers: sent in addition to the usual headers, or instead of those with the same name.
            method: GET, HEAD or POST. If a POST is redirected, the redirect is not followed; the
                outcome has the status and headers of the redirect.
            body: the body of a POST.
            error_body_bytes: how much of a 4xx or 5xx response's body to keep in the outcome's
                `error_body`; 0 for none.
            egress: what the egress rules depend on, besides the URL.
            cookies: a session with an origin. The cookies are sent only to that origin, which may
                change them.

        Raises:
            InvalidUrl: `url` is not an http(s) URL.
        """
        options = RequestOptions(
            etag=etag,
            last_modified=last_modified,
            validators_url=validators_url,
            headers=headers or {},
            method=method,
            body=body,
            error_body_bytes=error_body_bytes,
            egress=egress,
            cookies=cookies,
        )
        attempt = FetchAttempt(
            self._defaults, normalize(url), gate or _OPEN_GATE, tuple(hops), options
        )
        return attempt.run()

    def session(self) -> requests.Session:
        """Return a `requests.Session` with the same SSRF filter and limits."""
        session = requests.Session()
        session.trust_env = False
        session.headers["User-Agent"] = user_agent(self.settings)
        session.mount("http://", self.adapter)
        session.mount("https://", self.adapter)
        return session

    def close(self) -> None:
        self.adapter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_OPEN_GATE = OpenGate()


def fetch(
    url: str,
    *,
    settings: FetchSettings | None = None,
    ssrf_filter: ssrf.AddressPolicy | None = None,
    gate: Gate | None = None,
    conditional: tuple[str | None, str | None] | None = None,
    clock: Clock | None = None,
    hops: Sequence[Hop] = (),
    tls: ssl.SSLContext | None = None,
) -> Outcome:
    """
    Fetch `url` once on new connections and return its outcome; see `Fetcher.fetch`.

    `conditional` contains the stored copy's ETag and Last-Modified.
    """
    etag, last_modified = conditional or (None, None)
    with Fetcher(settings or FetchSettings(), ssrf_filter, clock=clock, tls=tls) as fetcher:
        return fetcher.fetch(url, gate=gate, etag=etag, last_modified=last_modified, hops=hops)
