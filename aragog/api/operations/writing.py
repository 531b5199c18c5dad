"""Operations that write fields, links and watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from aragog.api.operations.graph import translate_unique_errors
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES, PageLink, Url
from aragog.errors import VersionConflict
from aragog.urlstore.records import OutLink
from aragog.urlstore.store import UrlStore

ANY_VERSION = "*"
"""A version condition that any existing record meets."""
Owner = Annotated[str, Option("The owner of the watch: 1 to 200 bytes.")]
IfVersion = Annotated[
    str | None,
    Option(
        "Write only if the record has this version. Empty: write only if the record is new. `*`: "
        "write only if there is a record.",
        http="",
    ),
]


@dataclass(frozen=True, slots=True)
class PutRequest:
    """Fields to write."""

    url: Url
    fields: Annotated[
        Mapping[str, bytes],
        Option(
            "Field names and values. Over HTTP, null deletes the field.",
            max_items=MAX_ITEMS, by_format=True, nulls="deleted",
        ),
    ]  # fmt: skip
    _: KW_ONLY
    at_ms: Annotated[
        int | None,
        Option(
            "When the values were true. A value never replaces a later one. Default: now.",
            minimum=-(2**63),
            maximum=2**63 - 1,
        ),
    ] = None
    provenance: Annotated[
        Mapping[str, str] | None,
        Option("Field names and where each value was found.", max_items=MAX_ITEMS),
    ] = None
    if_version: IfVersion = None
    deleted: Annotated[
        Sequence[str],
        Option(
            "Fields to delete in the same call.",
            max_items=MAX_ITEMS,
            max_bytes=MAX_NAME_BYTES,
            http="",
        ),
    ] = ()
    replace: Annotated[bool, Option("Delete all other fields that the record had.", http="")] = (
        False
    )


def _is_unconditional(request: PutRequest | DeleteFieldsRequest | RemoveRequest) -> bool:
    return request.if_version is None


@operation(
    PutRequest,
    http=HttpRoute(
        "PATCH", "/v1/urls", member="version", in_query=("url",),
        other_routes=(
            HttpRoute(
                "PUT", "/v1/urls", member="version", in_query=("url",), fixed={"replace": True},
                text="Set fields and delete all others.",
            ),
        ),
    ),
    thrift="UrlStore.put",
    scope=WRITE,
    repeatable=_is_unconditional,
)  # fmt: skip
def put(caller: Caller, request: PutRequest) -> str:
    """
    Set fields, keep the others, and return the new version.

    Clients do not retry a write with `if_version`, because the first attempt may have changed the
    version.
    """
    store, writers = caller.store, caller.parts.writers
    store.fields.check_names(request.deleted)
    writers.check(caller.token, [*request.fields, *request.deleted])
    if request.replace:
        writers.check_all(caller.token, store, request.url)
    with translate_unique_errors(caller):
        return _write(store, request)


def _write(store: UrlStore, request: PutRequest) -> str:
    """
    Write before deleting, so that a refused write deletes nothing. `replace` deletes only values
    from before this write. It keeps the values of writers that have already seen the new version.
    """
    sizes = store.fields.sizes(request.url) if request.replace else {}
    replaced = [name for name in sizes if name not in request.fields]
    version = store.put(
        request.url,
        request.fields,
        at_ms=request.at_ms,
        provenance=request.provenance,
        if_version=_expected_version(store, request.url, request.if_version),
        to_delete=[*request.deleted, *replaced],
    )
    if not request.replace:
        deleted = list(request.deleted)
        return store.delete_fields(request.url, deleted) if deleted else version
    if not replaced:
        return version
    at_ms = max(sizes[name].at_ms for name in replaced)
    return store.delete_fields(request.url, replaced, at_ms=at_ms)


def _expected_version(store: UrlStore, url: str, if_version: str | None) -> str | None:
    """
    Return the version that the write is based on. If any version will do, check that the record
    exists and return None.
    """
    if if_version != ANY_VERSION:
        return if_version
    if store.get(url, ()) is None:
        raise VersionConflict(url, "any", "")
    return None


@dataclass(frozen=True, slots=True)
class DeleteFieldsRequest:
    """Fields to delete."""

    url: Url
    names: Annotated[
        Sequence[str],
        Option(
            "Field names. Names that the record does not have are ignored.",
            max_items=MAX_ITEMS,
            max_bytes=MAX_NAME_BYTES,
            http="fields",
        ),
    ]
    _: KW_ONLY
    if_version: IfVersion = None


@operation(
    DeleteFieldsRequest,
    http=HttpRoute("DELETE", "/v1/urls", status=204, selected_by=("fields",)),
    thrift="UrlStore.deleteFields",
    scope=WRITE,
    repeatable=_is_unconditional,
)
def delete_fields(caller: Caller, request: DeleteFieldsRequest) -> str:
    """Delete fields, ignoring those that the record does not have, and return the new version."""
    caller.parts.writers.check(caller.token, request.names)
    _claim_version(caller.store, request.url, request.if_version)
    return caller.store.delete_fields(request.url, request.names)


@dataclass(frozen=True, slots=True)
class RemoveRequest:
    """A page to remove."""

    url: Url
    _: KW_ONLY
    if_version: IfVersion = None


@operation(
    RemoveRequest,
    http=HttpRoute("DELETE", "/v1/urls"),
    thrift="UrlStore.remove",
    scope=WRITE,
    pool=Pool.CONTENT,
    repeatable=_is_unconditional,
)
def remove(caller: Caller, request: RemoveRequest) -> None:
    """Remove the page, its links and its content. A later fetch restores them."""
    caller.parts.writers.check_all(caller.token, caller.store, request.url)
    _claim_version(caller.store, request.url, request.if_version)
    caller.store.remove(request.url)


def _claim_version(store: UrlStore, url: str, if_version: str | None) -> None:
    """Claim the version, so that only one of several conditional writers succeeds."""
    version = _expected_version(store, url, if_version)
    if version is not None:
        store.put(url, {}, if_version=version)


@dataclass(frozen=True, slots=True)
class AddLinksRequest:
    """Links to add."""

    url: Url
    links: Annotated[Sequence[PageLink], Option("The links.", max_items=MAX_ITEMS)]


@operation(
    AddLinksRequest,
    http=HttpRoute("POST", "/v1/links"),
    thrift="UrlStore.addLinks",
    scope=WRITE,
)
def add_links(caller: Caller, request: AddLinksRequest) -> None:
    """Add outlinks to the page, replacing links to the same targets."""
    links = [OutLink(link.url, link.text, link.rel) for link in request.links]
    caller.store.links.add(request.url, links)


@dataclass(frozen=True, slots=True)
class RemoveLinksRequest:
    """Links to remove."""

    url: Url
    targets: Annotated[
        Sequence[str],
        Option("The links' targets. Targets that the page does not link to are ignored.",
               max_items=MAX_ITEMS, is_url=True),
    ]  # fmt: skip


@operation(
    RemoveLinksRequest,
    http=HttpRoute("POST", "/v1/links:remove"),
    thrift="UrlStore.removeLinks",
    scope=WRITE,
)
def remove_links(caller: Caller, request: RemoveLinksRequest) -> None:
    """Remove the page's outlinks to these targets."""
    caller.store.links.remove(request.url, request.targets)


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """The URL and the owner of a watch."""

    url: Url
    owner: Owner


@operation(WatchRequest, http=HttpRoute("PUT", "/v1/watches"), thrift="UrlStore.watch", scope=WRITE)
def watch(caller: Caller, request: WatchRequest) -> None:
    """Keep the URL's page fresh for an owner. The call itself fetches nothing."""
    caller.store.schedule.watch(request.url, request.owner)


@operation(
    WatchRequest, http=HttpRoute("DELETE", "/v1/watches"), thrift="UrlStore.unwatch", scope=WRITE
)
def unwatch(caller: Caller, request: WatchRequest) -> None:
    """End an owner's watch. A page without watches is kept but no longer refreshed."""
    caller.store.schedule.unwatch(request.url, request.owner)
