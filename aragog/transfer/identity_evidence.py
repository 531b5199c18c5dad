"""
The body hash and text sketch that identify a page. Exports write them as facts (metadata of the
last fetch), and imports read them.

A page becomes an alias of a stored one only if the two pages match. Without data for that
comparison, an imported page would look as if it had never been fetched, and the first page that
declares the imported page's URL as canonical would replace it.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from aragog.errors import InvalidUrl
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore import nodes
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.records import Fact, Likeness
from urlspelling import normalize
from zengraph.records import Row

FINGERPRINT_FACT = "likeness"
"""The fact with the body's hash and the text sketch. Older versions ignore it."""

_ALIAS_FACT_NAMES = ("status", "redirects_to")
_PAGE_STATUSES = range(200, 300)


def exported_facts(row: Row, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return a page's facts, including its body's hash and text sketch."""
    likeness = nodes.stored_likeness(row)
    fingerprint = {FINGERPRINT_FACT: f"{likeness.body} {likeness.text}"} if likeness else {}
    return {**facts, **fingerprint}


def exported_alias_facts(row: Row) -> dict[str, Fact]:
    """Return the result of fetching the alias: its status or redirect target."""
    alias_facts = facts_of(row, nodes.OWN)
    return {
        name: alias_facts[name] for name in _ALIAS_FACT_NAMES if alias_facts.get(name) is not None
    }


def page_cells(
    canonical_url: str, row: Row, record: UrlRecord, now_ms: int
) -> tuple[dict[bytes, bytes], int] | None:
    """
    Return the cells that identify a node's page, and the time when the page was fetched.

    Returns None if the record lacks valid fetch data, or if the node's page was already fetched.
    """
    at_ms = record.facts.get("fetched_at_ms")
    if nodes.FACTS in row or not isinstance(at_ms, int) or not 0 < at_ms <= now_ms:
        return None
    urls = {name: _normalize_fact(record.facts.get(name)) for name in ("url", "final_url")}
    if None in urls.values():
        return None
    status = record.facts.get("status")
    facts = {**urls, "fetched_at_ms": at_ms, "status": status if _is_status(status) else None}
    cells = {nodes.FACTS: orjson.dumps(facts)}
    if likeness := _parse_likeness(record.facts.get(FINGERPRINT_FACT)):
        cells[nodes.LIKENESS] = nodes.likeness_cell(likeness)
    if urls["final_url"] == canonical_url and status in _PAGE_STATUSES:
        cells[nodes.OWN] = _encode_fetch_result(status, canonical_url, None)
    return cells, at_ms


def alias_cell(record: UrlRecord) -> bytes | None:
    """Return the cell with the result of fetching the alias, or None."""
    status, target = record.facts.get("status"), _normalize_fact(record.facts.get("redirects_to"))
    if not _is_status(status) and target is None:
        return None
    return _encode_fetch_result(status if _is_status(status) else None, None, target)


def _encode_fetch_result(status: Fact, canonical: str | None, target: str | None) -> bytes:
    values = {"status": status, "canonical_url": canonical, "redirects_to": target, "gone": False}
    return orjson.dumps(values)


def _is_status(value: Fact) -> bool:
    return isinstance(value, int) and 100 <= value <= 599


def _parse_likeness(value: Fact) -> Likeness | None:
    if not isinstance(value, str):
        return None
    body, _, text = value.partition(" ")
    return Likeness(body, text)


def _normalize_fact(url: Fact) -> str | None:
    try:
        return normalize(url) if isinstance(url, str) else None
    except InvalidUrl:
        return None
