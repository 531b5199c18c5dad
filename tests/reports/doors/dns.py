"""
Names with the answers of a resolver over time, and the addresses to which the fetcher may connect.

Input: `names`, each a list of the resolver's answers, one per lookup, with the last one repeated: a
list of addresses, or the name of a getaddrinfo error, `EAI_AGAIN`, `EAI_NONAME` or `hangs`.
`steps`, each of

    resolve name    the addresses to which a connection may go
    fetch url       a page from a server on 127.0.0.1, at the port `{port}`
    passes seconds  on the clock of the cache

`allowed` are networks that the operator allows, `redirects` is where the server redirects every
request, and `twin` makes it listen on ::1, too.

The answers: `said`, a line per step: `vetted` with addresses, `denied`, `unresolved`, or the
outcome of a fetch; `why`, the last reason; `lookups`, the number of queries to the resolver.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Any

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.ssrf import Denied, SsrfFilter, Unresolved
from aragog.errors import InvalidUrl
from aragog.runtime.clock import ManualClock
from aragog.settings import FetchSettings
from tests.support.origin import HELLO, Origin, page, redirect

ERRORS = {"EAI_AGAIN": socket.EAI_AGAIN, "EAI_NONAME": socket.EAI_NONAME}


class _Resolver:
    """Gives the configured answers; for other names, it asks the system."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._left = {name: list(answers) for name, answers in names.items()}
        self.asked: list[str] = []
        self.ended = threading.Event()

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self._left:
            return [str(info[4][0]) for info in socket.getaddrinfo(host, None)]
        left = self._left[host]
        said = left.pop(0) if len(left) > 1 else left[0]
        if said == "hangs":
            self.ended.wait()
            return []
        if isinstance(said, str):
            raise socket.gaierror(ERRORS[said], said)
        return list(said)


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The results of the steps."""
    resolver, clock = _Resolver(given.get("names", {})), ManualClock()
    to = given.get("redirects")
    handler = redirect(to) if to else page(HELLO)
    said, why = [], ""
    with Origin({"/*": handler}) as origin:
        settings = FetchSettings(
            user_agent="aragog/1.0 (+https://example.com/bot)", deadline_s=10.0,
            connect_timeout_s=1.0, read_timeout_s=2.0,
            allowed_networks=tuple(given.get("allowed", ())),
            allowed_ports=(80, 443, origin.port),
        )  # fmt: skip
        policy = SsrfFilter(settings, clock=clock, lookup=resolver)
        with Fetcher(settings, policy) as fetcher:
            for verb, value in given["steps"]:
                if verb == "passes":
                    clock.advance_ms(value * 1000)
                    continue
                if verb == "resolve":
                    line, why = _resolved(policy, value)
                else:
                    line, why = _fetched(fetcher, value.replace("{port}", str(origin.port)))
                said.append(line)
    resolver.ended.set()
    return {"said": said, "why": why, "lookups": len(resolver.asked)}


def _resolved(policy: SsrfFilter, host: str) -> tuple[str, str]:
    found = policy.resolve(host, 80)
    if isinstance(found, Denied):
        return "denied", found.reason
    if isinstance(found, Unresolved):
        return "unresolved", found.reason
    return "vetted " + " ".join(address for address, _ in found.addresses), ""


def _fetched(fetcher: Fetcher, url: str) -> tuple[str, str]:
    try:
        outcome = fetcher.fetch(url)
    except InvalidUrl as error:
        return "invalid", error.reason
    kind = getattr(outcome, "kind", "")
    return f"{outcome.outcome.value} {kind}".strip(), outcome.reason or ""
