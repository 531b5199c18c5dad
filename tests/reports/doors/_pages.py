"""
A page as the pipeline analyzes it, from bytes and headers.

Input: `html`; `url`; `content_type`; `headers`, lines `Name: value`; `encoding`, in which the text
of `html` is sent (`latin-1` sends bytes unchanged). The answer has the stored fields by name
(`recipe.yields.quantity` is a member of one), and `encoding`, `links`, `canonical`, `rule`,
`noindex`, `nofollow`, `unavailable_after_ms`, `refresh`, `hreflang`, `type`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.page_analysis import PageAnalysis, decide_canonical, read_page
from aragog.fetch_record.outcome import Hop
from aragog.pages import main_text
from richpins import document
from tests.reports.doors._bytes import data
from tests.support.fetch_results import fetch_result

URL = "https://www.example.com/page"
AGENT = "aragog"
FORMS = ("text", "markdown")
PRICES = ("product.price", "product.price_high", "product.list_price")


def headers_of(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The headers of an input, with its Content-Type first."""
    lines = [line.partition(": ")[::2] for line in given.get("headers", ())]
    return (("Content-Type", given.get("content_type", "text/html")), *lines)


def body_of(given: Mapping[str, Any]) -> bytes:
    """The bytes of the page."""
    html = given.get("html", "")
    return html.encode(given.get("encoding", "utf-8")) if isinstance(html, str) else data(html)


def tables(markdown: str) -> list[list[str]]:
    """Rows of Markdown tables, with `---` for the line after the head in any spelling."""
    rows = [
        line.strip().strip("|").split("|")
        for line in markdown.splitlines()
        if line.lstrip().startswith("|")
    ]
    return [
        [
            "---" if re.fullmatch(r" *:?-+:? *", cell) else cell.strip().replace("\\", "")
            for cell in row
        ]
        for row in rows
    ]


def entries(markdown: str) -> list[list[Any]]:
    """Entries of Markdown lists: level, whether numbered, text."""
    found: list[list[Any]] = []
    indents: list[int] = []
    for line in markdown.splitlines():
        match = re.match(r"( *)([-*+]|\d+[.)]) +(.*)", line)
        if not match:
            indents = indents if not line.strip() or line.startswith(" ") else []
            continue
        indent = len(match[1])
        while indents and indents[-1] > indent:
            indents.pop()
        if not indents or indents[-1] < indent:
            indents.append(indent)
        found.append([len(indents), match[2][0].isdigit(), match[3].strip()])
    return found


def analysis(given: Mapping[str, Any]) -> PageAnalysis:
    """The analyzed page, with its main text if the input asks for it."""
    url = given.get("url", URL)
    requested = given.get("requested", url)
    hops = (
        (Hop(url=requested, status=given.get("hop", 301), target=url),) if requested != url else ()
    )
    result = fetch_result(
        UrlJob(url=requested),
        final_url=url,
        status=200,
        headers=headers_of(given),
        hops=hops,
        content_type=given.get("content_type", "text/html"),
    )
    finder = main_text.load("trafilatura")
    texts = (lambda page: main_text.to_fields(page, finder, FORMS)) if given.get("text") else None
    return read_page(result, body_of(given), agent=AGENT, max_links=1000, texts=texts)


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The analysis of the page of an input."""
    read = analysis(given)
    page = document.parse(
        body_of(given),
        url=given.get("url", URL),
        content_type=given.get("content_type", "text/html"),
        agent=AGENT,
    )
    decision = decide_canonical(read.evidence, {})
    fields = {name: orjson.loads(value) for name, value in read.fields.items()}
    refresh = read.evidence.meta_refresh
    return {
        **fields,
        **{f"{name}.{key}": part for name, value in fields.items() if isinstance(value, dict)
           for key, part in value.items()},
        **{f"{name} number": float(value) for name, value in fields.items() if name in PRICES},
        "tables": tables(fields.get("page.markdown", "")),
        "entries": entries(fields.get("page.markdown", "")),
        "type": read.page_type,
        "encoding": page.encoding,
        "title": page.title,
        "language": page.language,
        "description": page.description,
        "links": [link.url for link in read.links],
        "anchors": {link.url: link.text for link in read.links},
        "followed": [link.url for link in read.links if not link.nofollow],
        "canonical": decision.canonical_url,
        "rule": decision.rule,
        "aliases": sorted(decision.aliases),
        "noindex": read.noindex,
        "nofollow": read.nofollow,
        "unavailable_after_ms": read.unavailable_after_ms or "",
        "refresh": list(refresh) if refresh else "",
        "hreflang": [list(pair) for pair in read.evidence.hreflang],
        "amp": read.evidence.amp_url or "",
        "problems": list(read.problems),
    }  # fmt: skip
