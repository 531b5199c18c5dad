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
    content_key,
    object_bytes,
    stored_hash,
)
from aragog.urlstore.content_port import ContentPut
from aragog.urlstore.object_reads import PUT_AT
from aragog.urlstore.packs.pack_writer import PackTicket
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.records import ContentWrite, PageWrite, SharedBody, Ticket
from aragog.urlstore.warc_records import WarcPage
from aragog.urlstore.writing.page_plan import PageWritePlan
from zengraph import MultiGraph
from zengraph.records import Mutation, put_properties


def fill_content(plan: PageWritePlan, content: ContentWrite, *, in_packs: bool) -> None:
    """Fill in the pointer to the body, and the body itself unless it is already stored."""
    packed = content.packed
    if packed is not None and packed.shared is not None:
        column, value = record_cell(packed.pointer, REVISIT)
        shared = shared_cells(packed.shared, packed.digest, content.length_bytes)
        plan.cells |= {**shared, column: value}
    elif packed is not None and not packed.is_revisit:
        plan.cells |= pack_cells(packed.pointer, packed.digest, content.length_bytes)
    elif _keep_stored_body(plan, content):
        if packed is not None:
            column, value = record_cell(packed.pointer, REVISIT)
            plan.cells[column] = value
    elif in_packs:
        # The changes of the page are found before its body is packed, so they need the hash now.
        digest = body_hash(content)
        plan.unpacked = replace(content, digest=digest)
        plan.cells[nodes.CONTENT_HASH] = digest.encode()
    else:
        _fill_object(plan, content)


def _keep_stored_body(plan: PageWritePlan, content: ContentWrite) -> bool:
    """Keep the stored body if it is identical. Returns False if it differs."""
    location = nodes.content_cell(plan.row)
    if location is None:
        return False
    column, cell = location
    digest = (body_hash if column == nodes.CONTENT_PACK else stored_hash)(content)
    if nodes.text(plan.row, nodes.CONTENT_HASH) != digest:
        return False
    plan.cells |= {
        column: cell.value,
        nodes.CONTENT_HASH: digest.encode(),
        nodes.CONTENT_LENGTH: b"%d" % content.length_bytes,
    }
    return True


def _fill_object(plan: PageWritePlan, content: ContentWrite) -> None:
    key = content_key(plan.canonical)
    meta = {**content.meta, "url": plan.canonical, "encoding": content.encoding}
    if "fetched_at_ms" not in meta:
        meta[PUT_AT] = str(plan.page.fetched_at_ms)
    plan.body = ContentPut(key, object_bytes(content.body), meta)
    plan.cells |= {
        nodes.CONTENT_KEY: key.encode(),
        nodes.CONTENT_HASH: stored_hash(content).encode(),
        nodes.CONTENT_LENGTH: b"%d" % content.length_bytes,
        nodes.CONTENT_ENCODING: content.encoding.encode(),
    }


def put_bodies(bodies: Bodies, plans: Sequence[PageWritePlan]) -> PackTicket | None:
    """
    Store the bodies that are not stored yet. Those that belong in packs share one pack.

    Returns the ticket for that pack, or None. Call the ticket's `settle` when the pages are
    written.
    """
    bodies.objects.put_many([plan.body for plan in plans if plan.body])
    unpacked = [(plan, plan.unpacked) for plan in plans if plan.unpacked]
    if not unpacked or bodies.packs is None:
        return None
    pages = [to_warc_page(plan.page, content) for plan, content in unpacked]
    frames = [content.body for _, content in unpacked]
    ticket = bodies.packs.writer.add(list(map(bodies.packs.record_of, pages, frames)), now=True)
    for (plan, content), page, pointer in zip(unpacked, pages, ticket.wait(), strict=True):
        plan.cells |= pack_cells(pointer, page.digest, content.length_bytes)
    return ticket


def record_sharing(bodies: Bodies, plans: Sequence[PageWritePlan]) -> None:
    """
    Note in the catalog which records are used by pages whose URL is not in the record.

    Such pages are stored under a URL that is not one of the URLs of their fetch, or share another
    page's record.
    """
    for plan in plans:
        cell = plan.cells.get(nodes.CONTENT_PACK)
        needs_entry = plan.canonical not in plan.page.urls or shared_body(plan)
        if cell and bodies.packs and needs_entry:
            bodies.packs.catalog.share(PackPointer.read(cell), plan.canonical)


def shared_body(plan: PageWritePlan) -> SharedBody | None:
    """Return another page's record that has this page's body, or None."""
    packed = plan.page.content.packed if plan.page.content else None
    if packed is None or packed.shared is None:
        return None
    is_used = plan.cells.get(nodes.CONTENT_PACK) == packed.shared.pointer.cell()
    return packed.shared if is_used else None


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
        if stays[_pack_name(plan)] or plan.page.content is None:
            continue
        page = to_warc_page(plan.page, plan.page.content)
        record = packs.record_of(page, plan.page.content.body)
        ticket = packs.writer.add([record], now=True)
        (pointer,) = ticket.wait()
        cells = pack_cells(pointer, page.digest, page.body_bytes)
        if plan.canonical not in plan.page.urls:
            packs.catalog.share(pointer, plan.canonical)
        shared, _ = record_cell(PackPointer.read(plan.cells[nodes.CONTENT_PACK]), SHARED)
        node_id = zen.node_id(plan.canonical)
        zen.mutate([put_properties(node_id, cells, plan.at_ms)])
        zen.nodes.delete(node_id, [shared], at_ms=plan.at_ms)
        ticket.settle()


def _has_shared(zen: MultiGraph, plan: PageWritePlan) -> bool:
    """
    Return True if a page shares another page's record.

    Either its plan says so, or a killed run stored it that way.
    """
    if shared_body(plan) is not None:
        return True
    cell = plan.cells.get(nodes.CONTENT_PACK)
    if cell is None or plan.page.content is None or plan.page.content.packed is not None:
        return False
    pointer = PackPointer.read(cell)
    column, _ = record_cell(pointer, SHARED)
    return shared_of(zen.nodes.get(zen.node_id(plan.canonical), [column]), pointer) is not None


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
        if plan.page.content and plan.page.content.packed:
            tickets.add(plan.page.content.packed.ticket)
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


def unused_records(zen: MultiGraph, plans: Sequence[PageWritePlan]) -> list[Mutation]:
    """
    Return the cells that link URLs to their packed but unused records. Also stores these records in
    the plans, for `give_up_replaced`.
    """
    rows = []
    for plan in plans:
        plan.unused_record = pointer = _unused_record(plan)
        if pointer is None or plan.refused:
            continue
        url = plan.page.url if plan.copy else plan.canonical
        column, value = record_cell(pointer, REVISIT)
        cells = {nodes.URL: url.encode(), column: value}
        rows.append(put_properties(zen.node_id(url), cells, plan.page.fetched_at_ms))
    return rows


def give_up_replaced(bodies: Bodies, zen: MultiGraph, plans: Sequence[PageWritePlan]) -> None:
    """Release replaced bodies and unused records."""
    stored = [plan for plan in plans if plan.row]
    for plan in stored:
        _delete_other_layout(bodies, zen, plan)
    packs = bodies.packs
    if packs is None:
        return
    unused = [(plan, plan.unused_record) for plan in plans if plan.unused_record]
    dead_records = [pointer for plan, pointer in unused if not plan.refused]
    replaced = [(plan, old) for plan in stored if (old := _replaced_record(plan))]
    if keep := packs.settings.keep_versions:
        for plan, _ in replaced:
            row = zen.nodes.get(zen.node_id(plan.canonical))
            live_pointers = live_records(row, keep)
            dead_records += [
                pointer for pointer, _, _ in records_of(row) if pointer not in live_pointers
            ]
    else:
        dead_records += [old for _, old in replaced]
    if dead_records:
        packs.catalog.record_dead(dead_records)
    if refused := [pointer for plan, pointer in unused if plan.refused]:
        packs.catalog.erase(refused)


def _delete_other_layout(bodies: Bodies, zen: MultiGraph, plan: PageWritePlan) -> None:
    """Delete a body's object or pointer if the body moved to the other layout."""
    written = [column for column in nodes.POINTERS if column in plan.cells]
    outdated = [c for c in nodes.POINTERS if written and c not in written and c in plan.row]
    for column in outdated:
        cell = plan.row[column]
        if cell.at_ms > plan.at_ms:
            continue
        if column == nodes.CONTENT_KEY and cell.value:
            bodies.objects.delete(cell.value.decode())
        zen.nodes.delete(zen.node_id(plan.canonical), [column], at_ms=cell.at_ms)


def _replaced_record(plan: PageWritePlan) -> PackPointer | None:
    """Return the record with the previous body, unless that record is still used."""
    old = pointer_of(plan.row)
    is_other = any(column in plan.cells for column in nodes.POINTERS)
    if old is None or not is_other or plan.cells.get(nodes.CONTENT_PACK) == old.cell():
        return None
    return old


def _unused_record(plan: PageWritePlan) -> PackPointer | None:
    if plan.page.content is None or plan.page.content.packed is None:
        return None
    pointer = plan.page.content.packed.pointer
    return None if record_cell(pointer, REVISIT)[0] in plan.cells else pointer
