"""Turn a defect of aragog in one fetch into an outcome, so that the rest of its batch succeeds."""

from __future__ import annotations

import logging
from collections.abc import Callable

from aragog.clock import Clock
from aragog.errors import AragogError
from aragog.fetcher.outcome import Outcome, Unreachable, UnreachableKind

log = logging.getLogger(__name__)


def contained(fetch: Callable[[], Outcome], *, url: str, next_url: str, clock: Clock) -> Outcome:
    """
    The outcome of `fetch()`; `Unreachable` if a defect ended it, which one response may trigger.

    Args:
        fetch: sends the request.
        url: the URL that was to be fetched.
        next_url: the one that is requested, after redirects that are done.
        clock: dates the failure.

    Raises:
        AragogError: our own infrastructure failed.
    """
    try:
        return fetch()
    except AragogError:
        raise
    except Exception as error:
        log.exception("a fetch failed within aragog: %s", next_url)
        return Unreachable(
            url=url,
            final_url=next_url,
            fetched_at_ms=clock.now_ms(),
            kind=UnreachableKind.INTERNAL,
            reason=f"{type(error).__name__}: {error}",
        )
