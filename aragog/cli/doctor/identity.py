"""Whether what is published about the crawler is what its requests are signed with."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.identity.directory_check import directory_problems
from aragog.crawl.identity.keys import published_keys, read_keys, signing_key
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.settings import Settings

_PUBLISH = "publish what `aragog identity files` writes, or set identity.serve"
_FORWARD = "identity.serve is on: a web server of that host must pass its paths on to the HTTP port"


def check_identity(system: CheckedSystem) -> Iterator[Finding]:
    """The key file can be used, and verifiers find its public keys at `identity.agent`."""
    settings = system.settings
    if settings.identity.key is None:
        return
    now_s = time.time()
    keys = read_keys(settings.identity.key)
    signs = signing_key(keys, now_s)
    text = f"{signs.thumbprint} signs, one of {len(published_keys(keys, now_s))} keys"
    yield Finding("identity.key", ok=True, text=text)
    outcome, remedy = _directory(settings), _FORWARD if settings.identity.serve else _PUBLISH
    if not isinstance(outcome, Fetched) or outcome.hops:
        reason = _unusable(outcome)
        text = f"{settings.identity.agent} {reason}; {remedy}"
        yield Finding("identity.agent", ok=False, text=text)
        return
    headers = {name.lower(): value for name, value in outcome.headers}
    problems = list(directory_problems(settings.identity.agent, outcome.body, headers, keys, now_s))
    for problem in problems:
        text = f"{settings.identity.agent}: {problem}; {remedy}"
        yield Finding("identity.agent", ok=False, text=text)
    if not problems:
        text = f"{settings.identity.agent} has these keys, and their signatures are valid"
        yield Finding("identity.agent", ok=True, text=text)


def _directory(settings: Settings) -> Outcome:
    """Fetch the key directory as a verifier does, without a signature."""
    fetch = dataclasses.replace(settings.fetch, content_types=("*/*",), headers={})
    with Fetcher(fetch) as fetcher:
        return fetcher.fetch(settings.identity.agent)


def _unusable(outcome: Outcome) -> str:
    if outcome.hops:
        return "is a redirect, which verifiers do not follow"
    reason = getattr(outcome, "reason", "") or outcome.status or ""
    return f"cannot be fetched ({outcome.outcome}: {reason})".replace(": )", ")")
