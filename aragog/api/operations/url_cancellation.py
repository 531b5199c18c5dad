"""The operation that cancels URLs which wait, whoever enqueued them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.crawls import control_of
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN
from aragog.api.operations.values import MOST_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """URLs that wait and shall not be fetched."""

    urls: Annotated[Sequence[str], Option("These URLs.", most_items=MOST_ITEMS, is_url=True)] = ()
    hosts: Annotated[Sequence[str], Option("All URLs of these hosts.", most_items=100)] = ()
    domains: Annotated[
        Sequence[str],
        Option("All URLs of these domains, and of the hosts below them.", most_items=100),
    ] = ()
    patterns: Annotated[
        Sequence[str],
        Option("Whole normalized URLs that match; `*` stands for any characters.", most_items=50),
    ] = ()
    dry_run: Annotated[bool, Option("Only count what waits of them.")] = False


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """The target of a cancellation."""

    waiting: int | None = None
    """How many URLs wait, in a dry run."""


@operation(
    CancelRequest,
    http=HttpRoute("POST", "/v1/cancel"),
    thrift="Fetcher.cancelUrls",
    scope=ADMIN,
    pool=Pool.BROKER,
)
def cancel_urls(caller: Caller, request: CancelRequest) -> CancelAnswer:
    """
    Cancel URLs that wait, whoever enqueued them; stored pages stay.

    What is enqueued later is fetched. A dry run reads what waits, and may take minutes.
    """
    control = control_of(caller)
    kinds = {
        "url": request.urls,
        "host": request.hosts,
        "domain": request.domains,
        "pattern": request.patterns,
    }
    given = {kind: values for kind, values in kinds.items() if values}
    if not given:
        control.cancel_urls("url", ())  # refuses it
    if request.dry_run:
        return CancelAnswer(control.waiting(given))
    for kind, values in given.items():
        control.cancel_urls(kind, values)
    return CancelAnswer()
