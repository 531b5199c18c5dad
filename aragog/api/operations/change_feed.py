"""The operation that reads the change feed."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Annotated

from aragog.api.operations.operation import Caller, Form, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.steps import Steps, Wait
from aragog.api.operations.values import (
    Limit,
)
from aragog.errors import BadInput
from aragog.pages.preferences import PURPOSES
from aragog.urlstore.feed import Change
from aragog.urlstore.records import ListPage
from aragog.urlstore.store import UrlStore
from aragog.urlstore.tombstones import site_name
from aragog.urlstore.uses import usable_changes

LONGEST_FEED_WAIT_MS = 30_000
LOOK_S = 0.5
"""How often the feed is polled for a reader that waits."""
NOW = "now"
"""A cursor that stands for the feed's current end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRequest:
    """A part of the change feed."""

    cursor: Annotated[
        str | None,
        Option("Changes after it; none: since the oldest that is kept; `now`: the feed's end."),
    ] = None
    limit: Limit = 100
    owner: Annotated[str | None, Option("Only of pages that this owner watches.")] = None
    host: Annotated[str | None, Option("Only of pages of this host.")] = None
    wait_ms: Annotated[
        int,
        Option(
            "How long to wait for a change; 30,000 at most.", least=0, most=LONGEST_FEED_WAIT_MS,
            capped=True,
        ),
    ] = 0  # fmt: skip
    purpose: Annotated[
        str | None,
        Option("Fields only of pages whose sites do not refuse this use of them (`search`, "
               "`ai-input` or `ai-train`); changes of others have no fields.",
               choices=PURPOSES, http="for"),
    ] = None  # fmt: skip
    items: Annotated[
        str | None, Option("Only changes of items of this kind, with the values of items alone.")
    ] = None
    key: Annotated[
        str | None, Option("Only changes of the item of that kind with this key.", most_bytes=2000)
    ] = None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes, and the cursor after them."""

    changes: tuple[Change, ...]
    cursor: str | None


@operation(
    ChangesRequest,
    http=HttpRoute("GET", "/v1/changes", form=Form.FEED),
    thrift="UrlStore.changes",
    pool=Pool.FEED,
    waits=True,
)
def changes(caller: Caller, request: ChangesRequest) -> Steps[ChangePage]:
    """
    Changes found by refetching pages, after a cursor. Each change is returned at least once.

    A page may be empty although more changes follow its cursor.
    """
    left_s = request.wait_ms / 1000
    page = read_changes(caller.store, request, request.cursor)
    while not page.items and left_s > 0 and not caller.parts.stopping():
        yield Wait(Future(), min(LOOK_S, left_s))
        left_s -= LOOK_S
        page = read_changes(caller.store, request, page.cursor)
    return ChangePage(tuple(page.items), page.cursor)


def read_changes(store: UrlStore, request: ChangesRequest, cursor: str | None) -> ListPage[Change]:
    """Read the feed once, after a cursor."""
    if cursor == NOW:
        cursor = store.feed.end()
    if request.key and not request.items:
        raise BadInput("key: is that of an item; give its kind in items")
    page = store.feed.changes(
        cursor or None,
        request.limit,
        owner=request.owner or None,
        host=site_name(request.host) if request.host else None,
        item=(request.items, request.key or None) if request.items else None,
    )
    return replace(page, items=list(usable_changes(store, page.items, request.purpose)))
