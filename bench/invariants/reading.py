"""aragog's result for a page as one value, so that a test can insert a fault."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a page that aragog returns."""

    title: str
    text: str
    markdown: str
    links: tuple[str, ...]
    fields: dict[str, bytes]


def read(body: bytes, url: str, content_type: str = "text/html") -> Reading:
    """Read a page like the pipeline and a reader of its main text."""
    from aragog.crawl.pipeline.messages import FetchResult, UrlJob
    from aragog.crawl.stages.page_analysis import read_page
    from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
    from aragog.pages import main_text
    from richpins import document
    from richpins.main_text import MARKDOWN, TEXT

    record: dict[str, Any] = {"status": 200, "final_url": url, "content_type": content_type}
    fetch = FetchRecord(url=url, outcome=OutcomeKind.FETCHED, **record)
    analysis = read_page(
        FetchResult(job=UrlJob(url=url), fetch=fetch), body, agent="aragog", max_links=10_000
    )
    page = document.parse(body, url=url, content_type=content_type)
    finder = main_text.load("trafilatura")
    return Reading(
        title=json.loads(analysis.fields.get("page.title") or b'""'),
        text=finder.find(page, TEXT),
        markdown=finder.find(page, MARKDOWN),
        links=tuple(link.url for link in analysis.links),
        fields=dict(analysis.fields),
    )
