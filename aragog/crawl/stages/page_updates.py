"""
Updates of stored pages. They are kept in the spool until they are written.

A blob is a line of JSON, followed by each page's compressed links in the store's own format. The
spool has the bodies under their own tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from io import BytesIO
from itertools import compress, product
from typing import Any

import orjson

from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.stages.page_analysis import PageAnalysis
from aragog.crawl.stages.page_facts import (
    attempted_url_fact,
    expiry_facts,
    fetch_facts,
    file_facts,
    kept_for_facts,
    make_seen,
    validator_facts,
)
from aragog.crawl.stages.page_reading import SourceReading
from aragog.errors import InvalidMessage
from aragog.fetch_record.known_fields import known_fields
from aragog.fetch_record.outcome import FetchRecord, Headers, OutcomeKind
from aragog.observability.formatting import format_time
from aragog.pages.preferences import pack_statements, refused_purpose, refusing_line
from aragog.settings import PreferencesSettings, Settings
from aragog.urlstore.change_signals import FEED_LINK
from aragog.urlstore.item_files import FILE
from aragog.urlstore.records import ContentWrite, Likeness, PageWrite
from aragog.urlstore.refresh_policy import Seen
from richpins.links import Link
from urlspelling.canonical import Decision
from zengraph.links import PackedLinks

_LIKENESS_FACT = "likeness"
_WIRE_FIELDS = frozenset(
    {f.name for f in dataclass_fields(PageWrite)} - {"likeness", "crawl"} | {"body"}
)
_SEEN_FIELDS = tuple(f.name for f in dataclass_fields(Seen))
# These describe the stored page, so a fetch without a page does not change them.
_PAGE_FACTS = ("fetched_at_ms", "bytes", "truncated", "content_type", "final_url", "redirects")


@dataclass(frozen=True, slots=True)
class PageUpdate:
    """A write to the store. Its body is still in the spool."""

    write: PageWrite
    """The write to the store, without the content."""
    token: str | None = None
    """The body's token in the spool, or None if no body is kept."""
    length_bytes: int = 0
    meta: Mapping[str, str] = field(default_factory=dict)


def page_update(
    result: FetchResult, analysis: PageAnalysis, decision: Decision, settings: Settings
) -> PageUpdate:
    """Return the update for an analyzed page."""
    fetch = replace(result.fetch, page_preferences=pack_statements(analysis.preferences))
    is_kept = not (analysis.noindex and settings.politeness.obey_noindex)
    write = PageWrite(
        url=result.job.url,
        final_url=result.fetch.final_url,
        canonical_url=decision.canonical_url,
        provisional=decision.provisional,
        canonical_reasons=decision.reasons,
        also=tuple(
            url for url in decision.aliases if url not in (result.job.url, result.fetch.final_url)
        ),
        fetched_at_ms=result.fetch.fetched_at_ms,
        fields=analysis.fields,
        provenance=analysis.provenance,
        complete=analysis.complete,
        links=PackedLinks.of(_with_rel(analysis.links)),
        report=fetch,
        likeness=Likeness((result.body_hash or "")[:16], analysis.text_sketch),
        facts={
            **fetch_facts(fetch),
            "page_type": analysis.page_type,
            "noindex": int(analysis.noindex),
            "nofollow": int(analysis.nofollow),
            **expiry_facts(analysis, settings),
            **kept_for_facts(result.job),
            **file_facts(result, settings),
            **({FEED_LINK: analysis.feed} if analysis.feed else {}),
            **({"problems": "; ".join(analysis.problems)} if analysis.problems else {}),
        },
        seen=make_seen(result, settings, page_type=analysis.page_type),
        without_content=not is_kept,
    )
    return (
        PageUpdate(write, result.token, result.fetch.body_bytes, _meta(result.fetch))
        if is_kept
        else PageUpdate(write)
    )


def reservation_reason(
    result: FetchResult, analysis: PageAnalysis, settings: PreferencesSettings
) -> str | None:
    """Return why an analyzed page must not be kept, or None."""
    purposes = result.job.purposes_with_default(settings.purposes)
    if statement := refused_purpose(analysis.preferences, purposes):
        return f"not for {statement.purpose}: {statement.where}"
    if _is_expired(result, analysis, settings):
        date = format_time(analysis.unavailable_after_ms or 0)
        return f"its unavailable_after date, {date}, has passed"
    return None


def _is_expired(result: FetchResult, analysis: PageAnalysis, settings: PreferencesSettings) -> bool:
    expires_ms = analysis.unavailable_after_ms if settings.obey_unavailable_after else None
    return expires_ms is not None and expires_ms <= result.fetch.fetched_at_ms


def reserved_update(
    result: FetchResult, analysis: PageAnalysis, reason: str, settings: Settings
) -> PageUpdate:
    """Return the update that deletes a stored page that must not be kept."""
    fetch = replace(
        result.fetch,
        outcome=OutcomeKind.RESERVED,
        reason=reason,
        page_preferences=pack_statements(analysis.preferences),
    )
    update = failure_update(replace(result, fetch=fetch), settings)
    is_expired = _is_expired(result, analysis, settings.preferences)
    return replace(update, write=replace(update.write, withdrawn=True, expired=is_expired))


def _refusing_statement(result: FetchResult, settings: PreferencesSettings) -> str | None:
    """Return the statement that makes a fetch without a page delete the stored page, or None."""
    if result.job.sitemap:
        return None
    statements = (result.fetch.robots_preferences, result.fetch.page_preferences)
    return refusing_line(statements, result.job.purposes_with_default(settings.purposes))


def confirmed_update(update: PageUpdate, confirmation: FetchRecord) -> PageUpdate:
    """
    Return the update for a stored page that was analyzed again after a 304 changed its
    headers.
    """
    write = update.write
    page_facts = {
        **write.facts, "outcome": confirmation.outcome.value, "status": confirmation.status,
    }  # fmt: skip
    seen = write.seen and replace(write.seen, outcome=confirmation.outcome.value)
    return replace(
        update, write=replace(write, facts=page_facts, seen=seen, confirmation=confirmation)
    )


def failure_update(
    result: FetchResult,
    settings: Settings,
    *,
    headers: Headers | None = None,
    source: SourceReading | None = None,
) -> PageUpdate:
    """
    Return the update after a fetch without a page, or with an unreadable one.

    `headers` are the stored response's headers after a 304. None means this response's headers.
    `source` is the result of reading a sitemap or feed.
    """
    fetch = result.fetch if headers is None else replace(result.fetch, headers=headers)
    seen = make_seen(replace(result, fetch=fetch), settings)
    if result.job.sitemap:
        reading = source or SourceReading(0)
        seen = replace(seen, source=reading.kind, signal_count=reading.signal_count)
    statement = _refusing_statement(result, settings.preferences)
    if statement and result.fetch.outcome is OutcomeKind.NOT_MODIFIED:
        reason = f"not for {statement.partition('=')[0]}: {statement.partition(' ')[2].strip('()')}"
        reserved_fetch = replace(result.fetch, outcome=OutcomeKind.RESERVED, reason=reason)
        result = replace(result, fetch=reserved_fetch)
    return PageUpdate(
        PageWrite(
            url=result.job.url,
            final_url=result.fetch.final_url,
            canonical_url=result.job.url,
            fetched_at_ms=result.fetch.fetched_at_ms,
            report=result.fetch,
            facts={
                **{n: v for n, v in fetch_facts(result.fetch).items() if n not in _PAGE_FACTS},
                **attempted_url_fact(result.fetch),
                **(validator_facts(result.fetch) if source else {}),
                **kept_for_facts(result.job),
                **({FILE: 1} if result.job.file else {}),
            },
            seen=seen,
            withdrawn=statement is not None,
            gone=result.fetch.outcome is OutcomeKind.GONE and result.fetch.status in (404, 410),
            leads_to_taken_down=result.taken_down,
        )
    )


def _with_rel(links: Sequence[Link]) -> list[tuple[str, str, str]]:
    return [
        (url, text, _REL[nofollow, ugc, sponsored] if nofollow or ugc or sponsored else "")
        for url, text, nofollow, ugc, sponsored in links
    ]


_REL = {
    flags: " ".join(compress(("nofollow", "ugc", "sponsored"), flags))
    for flags in product((False, True), repeat=3)
}


def _meta(record: FetchRecord) -> dict[str, str]:
    """Return the metadata for serving the body. The headers are in the report."""
    return {
        "url": record.final_url,
        "status": str(record.status),
        "fetched_at_ms": str(record.fetched_at_ms),
        "content_type": record.content_type or "",
    }


def to_blob(updates: Sequence[PageUpdate]) -> bytes:
    """Serialize a batch for the spool."""
    packed = [PackedLinks.of(update.write.links or ()) for update in updates]
    updates_json = [_to_wire(update, links) for update, links in zip(updates, packed, strict=True)]
    return b"".join([orjson.dumps(updates_json), b"\n", *(links.compressed for links in packed)])


def from_blob(blob: bytes) -> list[PageUpdate]:
    """
    Return the updates in a blob from the spool.

    Raises:
        InvalidMessage: the blob was written by a version that this code cannot read.
    """
    stream = BytesIO(blob)
    try:
        return [_parse_update(wire, stream) for wire in orjson.loads(stream.readline())]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidMessage("page blob", str(error)) from error


def with_body(update: PageUpdate, body: bytes | None, crawl: str = "") -> PageWrite:
    """Return the write with its body from the spool. The page was fetched for `crawl`."""
    if body is None:
        return update.write
    seen = update.write.seen
    content = ContentWrite(
        body,
        length_bytes=update.length_bytes,
        meta=update.meta,
        digest=seen.body_hash if seen else None,
    )
    return update.write.with_content(content, crawl)


def _to_wire(update: PageUpdate, links: PackedLinks) -> dict[str, Any]:
    write = update.write
    return {
        "url": write.url,
        "final_url": write.final_url,
        "canonical_url": write.canonical_url,
        "provisional": write.provisional,
        "canonical_reasons": write.canonical_reasons,
        "also": write.also,
        "fetched_at_ms": write.fetched_at_ms,
        "fields": {name: value.decode() for name, value in write.fields.items()},
        "provenance": dict(write.provenance),
        "complete": write.complete,
        "links": None if write.links is None else len(links.compressed),
        "facts": {**write.facts, **_likeness_fact(write.likeness)},
        "report": None if write.report is None else write.report.plain(),
        **({"confirmation": write.confirmation.plain()} if write.confirmation else {}),
        "seen": None if write.seen is None else {n: getattr(write.seen, n) for n in _SEEN_FIELDS},
        "gone": write.gone,
        "leads_to_taken_down": write.leads_to_taken_down,
        "withdrawn": write.withdrawn,
        "expired": write.expired,
        "without_content": write.without_content,
        "body": [update.token, update.length_bytes, dict(update.meta)],
    }


def _likeness_fact(likeness: Likeness | None) -> dict[str, str]:
    """Return the body hash and text sketch as a fact. Older versions accept unknown facts."""
    return {_LIKENESS_FACT: f"{likeness.body} {likeness.text}"} if likeness else {}


def _pop_likeness(facts: dict[str, Any]) -> Likeness | None:
    """Remove the body hash and text sketch from the facts. Returns them, or None if missing."""
    text = facts.pop(_LIKENESS_FACT, None)
    if not isinstance(text, str):
        return None
    body, _, sketch = text.partition(" ")
    return Likeness(body, sketch)


def _parse_seen(wire: dict[str, Any]) -> Seen:
    if "brought" in wire:  # the former name, which workers sent before an upgrade
        wire["signal_count"] = wire.pop("brought")
    return Seen(**known_fields(Seen, wire))


def _parse_update(wire: dict[str, Any], stream: BytesIO) -> PageUpdate:
    """Parse an update and read its links from the stream. Ignores fields of later versions."""
    if not _WIRE_FIELDS.issuperset(wire):
        wire = {name: value for name, value in wire.items() if name in _WIRE_FIELDS}
    likeness = _pop_likeness(wire["facts"])
    token, length, meta = wire.pop("body")
    links, seen = wire.pop("links"), wire.pop("seen")
    report, confirmation = wire.pop("report"), wire.pop("confirmation", None)
    values = known_fields(PageWrite, wire)
    values |= {
        "canonical_reasons": tuple(wire["canonical_reasons"]),
        "also": tuple(wire["also"]),
        "fields": {name: value.encode() for name, value in wire["fields"].items()},
        "report": None if report is None else FetchRecord.read(report),
        "confirmation": None if confirmation is None else FetchRecord.read(confirmation),
        "seen": None if seen is None else _parse_seen(seen),
        "links": None if links is None else _read_links(links, stream),
        "likeness": likeness,
    }
    return PageUpdate(PageWrite(**values), token, length, meta)


def _read_links(size: int, stream: BytesIO) -> PackedLinks:
    compressed = stream.read(size)
    if len(compressed) != size:
        raise ValueError(f"{len(compressed)} of {size} bytes of links")
    return PackedLinks(compressed)
