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

MAX_FEED_WAIT_MS = 30_000
POLL_S = 0.5
"""Poll interval for a waiting reader."""
NOW = "now"
"""The cursor for the current end of the feed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRequest:
    """Which part of the change feed to read."""

    cursor: Annotated[
        str | None,
        Option(
            "Return changes after this cursor. Default: from the oldest one. `now`: only new ones."
        ),
    ] = None
    limit: Limit = 100
    owner: Annotated[str | None, Option("Only pages that this owner watches.")] = None
    host: Annotated[str | None, Option("Only pages of this host.")] = None
    wait_ms: Annotated[
        int,
        Option(
            "How long to wait for a change, at most 30,000.", minimum=0, maximum=MAX_FEED_WAIT_MS,
            capped=True,
        ),
    ] = 0  # fmt: skip
    purpose: Annotated[
        str | None,
        Option("Return fields only if the page's site allows this purpose (`search`, "
               "`ai-input` or `ai-train`). Other changes have no fields.",
               choices=PURPOSES, http="for"),
    ] = None  # fmt: skip
    items: Annotated[
        str | None, Option("Only changes to items of this kind, with item values only.")
    ] = None
    key: Annotated[
        str | None,
        Option("Only changes to the item with this key. Needs `items`.", max_bytes=2000),
    ] = None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes, and the cursor for those that follow."""

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
    Return the changes that refetches found, from a cursor on. Each is returned at least once.

    A result may be empty even if more changes follow its cursor.
    """
    remaining_s = request.wait_ms / 1000
    page = read_changes(caller.store, request, request.cursor)
    while not page.items and remaining_s > 0 and not caller.parts.stopping():
        yield Wait(Future(), min(POLL_S, remaining_s))
        remaining_s -= POLL_S
        page = read_changes(caller.store, request, page.cursor)
    return ChangePage(tuple(page.items), page.cursor)


def read_changes(store: UrlStore, request: ChangesRequest, cursor: str | None) -> ListPage[Change]:
    """Read the feed once, after a cursor."""
    if cursor == NOW:
        cursor = store.feed.end()
    if request.key and not request.items:
        raise BadInput("key: needs items, the kind of the item")
    page = store.feed.changes(
        cursor or None,
        request.limit,
        owner=request.owner or None,
        host=site_name(request.host) if request.host else None,
        item=(request.items, request.key or None) if request.items else None,
    )
    return replace(page, items=list(usable_changes(store, page.items, request.purpose)))
