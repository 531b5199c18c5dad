"""One fetched page read: document, evidence, links, Rich Pin. Pure; one parse serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aragog.pages import document, evidence, links, richpins
from aragog.pages.links import Link
from aragog.pipeline.bundles import Answer
from aragog.urls import canonical
from aragog.urls.canonical import Decision, Evidence, KnownPage, Redirect


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a page says."""

    evidence: Evidence
    links: tuple[Link, ...]
    fields: Mapping[str, bytes]
    provenance: Mapping[str, str]
    page_type: str
    noindex: bool
    nofollow: bool
    whole: bool
    """True for HTML that was read to its end, without any problem; else fields may be missing."""


def read_page(answer: Answer, body: bytes, *, max_links: int) -> Reading:
    """The reading of a body; broken markup gives less, never an error."""
    html = _is_html(answer.content_type)
    if not html:
        body = b""  # JSON, feeds and plain text have facts, not links; their headers still speak
    page = document.parse(body, url=answer.final_url, content_type=answer.content_type)
    robots = evidence.page_robots(page, answer.headers)
    pin = richpins.extract_from(page)
    fields, provenance = richpins.to_fields(pin)
    return Reading(
        evidence=evidence.collect(
            page,
            url=answer.job.url,
            final_url=answer.final_url,
            status=answer.status or 200,
            redirects=redirects_of(answer),
            headers=answer.headers,
        ),
        links=links.extract(page, limit=max_links),
        fields=fields,
        provenance=provenance,
        page_type=pin.type,
        noindex=robots.noindex,
        nofollow=robots.nofollow,
        whole=html and answer.status == 200 and not answer.truncated and not pin.problems,
    )


def _is_html(content_type: str | None) -> bool:
    """True for HTML, and for what does not say what it is."""
    media = (content_type or "").partition(";")[0].strip().lower()
    return media in ("", "text/html", "application/xhtml+xml", "application/xml", "text/xml")


def redirects_of(answer: Answer) -> tuple[Redirect, ...]:
    """The hops as evidence."""
    return tuple(Redirect(hop.url, hop.target, hop.permanent) for hop in answer.hops)


def candidates(found: Evidence) -> set[str]:
    """URLs other than the page itself whose own story matters for the decision."""
    named = {*found.link_header, *found.link_canonical, found.final_url}
    named |= {found.og_url} if found.og_url else set()
    named |= {found.meta_refresh[1]} if found.meta_refresh else set()
    return named - {found.url}


def decided(found: Evidence, known: Mapping[str, KnownPage]) -> Decision:
    """The canonical URL, with what the store knows of the candidates."""
    told = {url: known[url] for url in candidates(found) if url in known}
    return canonical.decide(replace(found, known=told))
