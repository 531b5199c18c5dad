"""
Stores a batch's bodies, and releases the previous ones.

Bodies are stored before anything points to them. If a batch was packed before its pages were
planned (`packing`), some records turn out to be unused, because newer data is stored or the page
becomes an alias. Such records are marked as dead. Their URLs keep referring to them, so that
takedowns find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from aragog.urlstore import nodes
from aragog.urlstore.bodies import (
    REVISIT,
    SHARED,
    Bodies,
    live_records,
    pack_cells,
    pointer_of,
    record_cell,
    records_of,
    shared_cells,
    shared_of,
)
from aragog.urlstore.compression import (
    body_bytes,
    body_hash,
    content_hash,
    content_key,
    object_bytes,
    stored_hash,
)
from aragog.urlstore.content_port import ContentPut
from aragog.urlstore.object_reads import PUT_AT
from aragog.urlstore.packs.pack_writer import PackTicket
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.records import ContentWrite, PageWrite, Ticket
from aragog.urlstore.warc_records import WarcPage
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan
from zengraph import MultiGraph
from zengraph.records import Mutation, put_properties


class BodyPlan(NamedTuple):
    """How a page's body is stored."""

    cells: dict[bytes, bytes]
    """The pointer to the body, with its hash and length."""
    body: ContentPut | None = None
    """See `PageWritePlan.body`."""
    unpacked: ContentWrite | None = None
    """See `PageWritePlan.unpacked`."""


NO_BODY = BodyPlan({})


def plan_body(target: PageTarget, content: ContentWrite, *, in_packs: bool) -> BodyPlan:
    """Return the pointer to the body, and the body itself unless it is already stored."""
    packed = content.packed
    if packed is not None and packed.shared is not None:
        column, value = record_cell(packed.pointer, REVISIT)
        shared = shared_cells(packed.shared, packed.digest, content.length_bytes)
        return BodyPlan({**shared, column: value})
    if packed is not None and not packed.is_revisit:
        return BodyPlan(pack_cells(packed.pointer, packed.digest, content.length_bytes))
    if cells := _cells_of_stored_body(target, content):
        if packed is not None:
            column, value = record_cell(packed.pointer, REVISIT)
            cells[column] = value
        return BodyPlan(cells)
    if in_packs:
        # The changes of the page are found before its body is packed, so they need the hash now.
        digest = body_hash(content)
        cells = {nodes.CONTENT_HASH: digest.encode()}
        return BodyPlan(cells, unpacked=replace(content, digest=digest))
    return _plan_object(target, content)


def _cells_of_stored_body(target: PageTarget, content: ContentWrite) -> dict[bytes, bytes]:
    """Return the cells that keep the stored body if it is identical, else none."""
    location = nodes.content_cell(target.row)
    if location is None:
        return {}
    column, cell = location
    digest = (body_hash if column == nodes.CONTENT_PACK else stored_hash)(content)
    if nodes.text(target.row, nodes.CONTENT_HASH) != digest:
        return {}
    return {
        column: cell.value,
        nodes.CONTENT_HASH: digest.encode(),
        nodes.CONTENT_LENGTH: b"%d" % content.length_bytes,
    }


def _plan_object(target: PageTarget, content: ContentWrite) -> BodyPlan:
    key, data = content_key(target.canonical), object_bytes(content.body)
    meta = {**content.meta, "url": target.canonical, "encoding": content.encoding}
    if "fetched_at_ms" not in meta:
        meta[PUT_AT] = str(target.page.fetched_at_ms)
    cells = {
        nodes.CONTENT_KEY: key.encode(),
        nodes.CONTENT_HASH: content_hash(data).encode(),
        nodes.CONTENT_LENGTH: b"%d" % content.length_bytes,
        nodes.CONTENT_ENCODING: content.encoding.encode(),
    }
    return BodyPlan(cells, ContentPut(key, data, meta))


def put_bodies(
    bodies: Bodies, plans: Sequence[PageWritePlan]
) -> tuple[list[PageWritePlan], PackTicket | None]:
    """
    Store the bodies that are not stored yet. Those that belong in packs share one pack.

    Returns the plans with the pointers to that pack, and its ticket, or None. Call the ticket's
    `settle` when the pages are written.
    """
    bodies.objects.put_many([plan.body for plan in plans if plan.body])
    unpacked = [(plan.target.page, plan.unpacked) for plan in plans if plan.unpacked]
    if not unpacked or bodies.packs is None:
        return list(plans), None
    contents = [content for _, content in unpacked]
    pages = [to_warc_page(page, content) for page, content in unpacked]
    frames = [content.body for content in contents]
    ticket = bodies.packs.writer.add(list(map(bodies.packs.record_of, pages, frames)), now=True)
    packed = iter(zip(contents, pages, ticket.wait(), strict=True))
    return [_with_pack(plan, *next(packed)) if plan.unpacked else plan for plan in plans], ticket


def _with_pack(
    plan: PageWritePlan, content: ContentWrite, page: WarcPage, pointer: PackPointer
) -> PageWritePlan:
    """Return the plan with the pointer to the body that was packed."""
    cells = pack_cells(pointer, page.digest, content.length_bytes)
    return plan._replace(cells={**plan.cells, **cells})


class UnusedRecord(NamedTuple):
    """A record that was packed for a page that does not use it."""

    target: PageTarget
    pointer: PackPointer


def record_sharing(bodies: Bodies, plans: Sequence[PageWritePlan]) -> None:
    """
    Note in the catalog which records are used by pages whose URL is not in the record.

    Such pages are stored under a URL that is not one of the URLs of their fetch, or share another
    page's record.
    """
    for plan in plans:
        cell = plan.cells.get(nodes.CONTENT_PACK)
        canonical = plan.target.canonical
        needs_entry = canonical not in plan.target.page.urls or plan.shared_body
        if cell and bodies.packs and needs_entry:
            bodies.packs.catalog.share(PackPointer.read(cell), canonical)


def give_own_records(bodies: Bodies, zen: MultiGraph, plans: Sequence[PageWritePlan]) -> None:
    """
    Give pages their own record if `pack_upkeep` moved the shared record and missed these pages.

    Call it after the nodes are written. `pack_upkeep` marks a pack before it reads the nodes for
    the last time, so either it sees the nodes or this function sees the mark. The next run of a
    killed batch finds the pages in the nodes.
    """
    packs = bodies.packs
    if packs is None:
        return
    sharing = [plan for plan in plans if _has_shared(zen, plan)]
    stays = {pack: packs.catalog.stays(pack) for pack in {_pack_name(plan) for plan in sharing}}
    for plan in sharing:
        target, content = plan.target, plan.target.page.content
        if stays[_pack_name(plan)] or content is None:
            continue
        page = to_warc_page(target.page, content)
        record = packs.record_of(page, content.body)
        ticket = packs.writer.add([record], now=True)
        (pointer,) = ticket.wait()
        cells = pack_cells(pointer, page.digest, page.body_bytes)
        if target.canonical not in target.page.urls:
            packs.catalog.share(pointer, target.canonical)
        shared, _ = record_cell(PackPointer.read(plan.cells[nodes.CONTENT_PACK]), SHARED)
        node_id = zen.node_id(target.canonical)
        zen.mutate([put_properties(node_id, cells, target.at_ms)])
        zen.nodes.delete(node_id, [shared], at_ms=target.at_ms)
        ticket.settle()


def _has_shared(zen: MultiGraph, plan: PageWritePlan) -> bool:
    """
    Return True if a page shares another page's record.

    Either its plan says so, or a killed run stored it that way.
    """
    if plan.shared_body is not None:
        return True
    cell, content = plan.cells.get(nodes.CONTENT_PACK), plan.target.page.content
    if cell is None or content is None or content.packed is not None:
        return False
    pointer = PackPointer.read(cell)
    column, _ = record_cell(pointer, SHARED)
    return (
        shared_of(zen.nodes.get(zen.node_id(plan.target.canonical), [column]), pointer) is not None
    )


def _pack_name(plan: PageWritePlan) -> str:
    return PackPointer.read(plan.cells[nodes.CONTENT_PACK]).pack


def check_ages(plans: Sequence[PageWritePlan], ticket: PackTicket | None) -> None:
    """
    Check that all packs are young enough for new pointers.

    Raises:
        ContentUnavailable: a pack is too old; write the batch again.
    """
    tickets: set[Ticket] = {ticket} if ticket else set()
    for plan in plans:
        content = plan.target.page.content
        if content and content.packed:
            tickets.add(content.packed.ticket)
    for pack_ticket in tickets:
        pack_ticket.check_age()


def to_warc_page(page: PageWrite, content: ContentWrite) -> WarcPage:
    """Return the page that the WARC record is built from."""
    return WarcPage(
        page.final_url,
        page.fetched_at_ms,
        body_hash(content),
        body_bytes(content),
        content.meta,
        page.report,
        tuple({page.url, page.canonical_url} - {page.final_url}),
    )


def unused_records(plans: Sequence[PageWritePlan]) -> list[UnusedRecord]:
    """Return the records that were packed for these pages, but are not used by them."""
    return [
        UnusedRecord(plan.target, content.packed.pointer)
        for plan in plans
        if (content := plan.target.page.content) is not None
        and content.packed is not None
        and record_cell(content.packed.pointer, REVISIT)[0] not in plan.cells
    ]


def unused_record_rows(zen: MultiGraph, unused: Sequence[UnusedRecord]) -> list[Mutation]:
    """Return the cells that link URLs to their unused records."""
    rows = []
    for target, pointer in unused:
        if not target.refused:
            url = target.page.url if target.copy else target.canonical
            column, value = record_cell(pointer, REVISIT)
            cells = {nodes.URL: url.encode(), column: value}
            rows.append(put_properties(zen.node_id(url), cells, target.page.fetched_at_ms))
    return rows


def give_up_replaced(
    bodies: Bodies,
    zen: MultiGraph,
    plans: Sequence[PageWritePlan],
    unused: Sequence[UnusedRecord],
) -> None:
    """Release replaced bodies and unused records."""
    stored = [plan for plan in plans if plan.target.row]
    for plan in stored:
        _delete_other_layout(bodies, zen, plan)
    packs = bodies.packs
    if packs is None:
        return
    dead_records = [pointer for target, pointer in unused if not target.refused]
    replaced = [(plan.target, old) for plan in stored if (old := _replaced_record(plan))]
    if keep := packs.settings.keep_versions:
        for target, _ in replaced:
            row = zen.nodes.get(zen.node_id(target.canonical))
            live_pointers = live_records(row, keep)
            dead_records += [
                pointer for pointer, _, _ in records_of(row) if pointer not in live_pointers
            ]
    else:
        dead_records += [old for _, old in replaced]
    if dead_records:
        packs.catalog.record_dead(dead_records)
    if refused := [pointer for target, pointer in unused if target.refused]:
        packs.catalog.erase(refused)


def _delete_other_layout(bodies: Bodies, zen: MultiGraph, plan: PageWritePlan) -> None:
    """Delete a body's object or pointer if the body moved to the other layout."""
    target = plan.target
    written = [column for column in nodes.POINTERS if column in plan.cells]
    outdated = [c for c in nodes.POINTERS if written and c not in written and c in target.row]
    for column in outdated:
        cell = target.row[column]
        if cell.at_ms > target.at_ms:
            continue
        if column == nodes.CONTENT_KEY and cell.value:
            bodies.objects.delete(cell.value.decode())
        zen.nodes.delete(zen.node_id(target.canonical), [column], at_ms=cell.at_ms)


def _replaced_record(plan: PageWritePlan) -> PackPointer | None:
    """Return the record with the previous body, unless that record is still used."""
    old = pointer_of(plan.target.row)
    is_other = any(column in plan.cells for column in nodes.POINTERS)
    if old is None or not is_other or plan.cells.get(nodes.CONTENT_PACK) == old.cell():
        return None
    return old
