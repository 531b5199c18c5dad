"""The operation that finds a host's pages with the same body, or with nearly the same text."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.options import Option
from aragog.api.operations.values import Cursor, Limit, LinkPurpose, Url
from aragog.urlstore.records import ListPage
from aragog.urlstore.same_content import MAX_DISTANCE, SamePage
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import is_usable, usable_urls


@dataclass(frozen=True, slots=True)
class SamePages:
    """A page of results, with a cursor for the next page. The last page has no cursor."""

    pages: tuple[SamePage, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SameContentRequest:
    """The page whose copies to list."""

    url: Url
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    within: Annotated[
        int | None,
        Option(
            "Also return near-duplicates, whose fingerprints (`page.fingerprint`) differ in at "
            "most this many of 64 bits. Default: only pages with the same body.",
            minimum=0,
            maximum=MAX_DISTANCE,
        ),
    ] = None
    purpose: LinkPurpose = None


@operation(
    SameContentRequest,
    http=HttpRoute("GET", "/v1/copies", next_link=True),
    thrift="UrlStore.sameContent",
)
def same_content(caller: Caller, request: SameContentRequest) -> SamePages:
    """
    List the host's other pages with the same body or, if requested, with nearly the same text.

    They are in no particular order. A result may have fewer pages than its limit, or none, even if
    more pages follow its cursor.
    """

    def read(store: UrlStore) -> ListPage[SamePage]:
        if not is_usable(store, request.url, request.purpose):
            return ListPage([])
        copies = store.same.page(
            request.url,
            within=request.within,
            limit=request.limit,
            cursor=request.cursor or None,
        )
        if request.purpose is None:
            return copies
        usable = usable_urls(store, (page.url for page in copies.items), request.purpose)
        return ListPage([page for page in copies.items if page.url in usable], copies.cursor)

    page = caller.read(read)
    return SamePages(tuple(page.items), page.cursor)
