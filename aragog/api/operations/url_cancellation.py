"""The operation that cancels queued URLs, no matter who enqueued them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.crawls import get_control
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN
from aragog.api.operations.values import MAX_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """Which queued URLs to cancel."""

    urls: Annotated[Sequence[str], Option("URLs to cancel.", max_items=MAX_ITEMS, is_url=True)] = ()
    hosts: Annotated[Sequence[str], Option("Cancel all URLs of these hosts.", max_items=100)] = ()
    domains: Annotated[
        Sequence[str],
        Option("Cancel all URLs of these domains and their subdomains.", max_items=100),
    ] = ()
    patterns: Annotated[
        Sequence[str],
        Option(
            "Cancel URLs whose whole normalized form matches; `*` matches any characters.",
            max_items=50,
        ),
    ] = ()
    dry_run: Annotated[bool, Option("Only count the matching queued URLs.")] = False


@dataclass(frozen=True, slots=True)
class CancelResult:
    """The result of a cancellation."""

    waiting: int | None = None
    """In a dry run, the number of matching queued URLs."""


@operation(
    CancelRequest,
    http=HttpRoute("POST", "/v1/cancel"),
    thrift="Fetcher.cancelUrls",
    scope=ADMIN,
    pool=Pool.BROKER,
)
def cancel_urls(caller: Caller, request: CancelRequest) -> CancelResult:
    """
    Cancel queued URLs, no matter who enqueued them. Stored pages are kept.

    URLs that are enqueued afterwards are fetched. A dry run counts the queued URLs, which may take
    minutes.
    """
    control = get_control(caller)
    values_by_kind = {
        "url": request.urls,
        "host": request.hosts,
        "domain": request.domains,
        "pattern": request.patterns,
    }
    selected = {kind: values for kind, values in values_by_kind.items() if values}
    if not selected:
        control.cancel_urls("url", ())  # raises the error for an empty request
    if request.dry_run:
        return CancelResult(control.waiting(selected))
    for kind, values in selected.items():
        control.cancel_urls(kind, values)
    return CancelResult()
