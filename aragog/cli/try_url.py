"""
`aragog try URL`: fetch a page and show what would be stored, without a running crawler or a store.

As for every fetch, robots.txt and the SSRF filter apply, and there is a pause between requests to a
host. The fetch does not count toward a running crawler's rate limits.
"""

from __future__ import annotations

import code
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson
from rich.table import Table
from rich.text import Text

from aragog.cli.arguments import WebAddress, as_json
from aragog.cli.chosen_extractors import extractor_option, use_extractors
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import ABSENT
from aragog.cli.polite_fetch import fetch_all
from aragog.cli.terminal import echo, echo_json, note, one_line, print_table, printable
from aragog.crawl.stages.page_analysis import AnalyzedFields, extract_fields, named_agent
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import Fetched
from aragog.observability.formatting import pluralize, to_one_line
from aragog.pages.extractors import ExtractorPage, load_all
from aragog.pages.items import load_kinds
from aragog.pages.rule_hits import PageHits, colored_page, find_hits
from aragog.pages.selectors import SiteRules
from aragog.settings import Settings
from aragog.settings.extractor_names import ITEMS, SITE
from aragog.urlstore.field_formats import FieldFormats
from richpins import documents, extraction, links
from richpins.document import Document
from urlspelling import normalize

MAX_VALUE_CHARS = 200
MAX_LINKS_SHOWN = 10
MAX_ITEMS_SHOWN = 5
"""Maximum number of items per kind that are shown on a terminal."""


@click.command("try")
@click.argument("url", type=WebAddress())
@extractor_option
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="Open a prompt with the page (default on a terminal).",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the page to this file, and show what each rule finds in color.",
)
@as_json
def try_url(
    url: str,
    extractor: tuple[str, ...],
    html: Path | None,
    *,
    prompt: bool | None,
    as_json: bool,
) -> None:
    """
    Fetch URL once and show its fields, items, links and timing; nothing is stored.

    It also shows how many matches each rule has. The exit status is 5 if there is no page. The
    prompt is Python's, with `page`, `css`, `css_all` and `xpath`, so that you can try rules.
    """
    use_extractors(extractor)
    settings = command_settings()
    (outcome,) = fetch_all([normalize(url)], settings)
    if not isinstance(outcome, Fetched):
        reason = f"{outcome.outcome}: {outcome.reason or outcome.status or ''}"
        echo(one_line(f"aragog: {url}: {reason.rstrip(': ')}"), err=True)
        sys.exit(ABSENT)
    tried = _TriedPage.analyze(outcome, settings)
    if html is not None:
        _write_html(html, colored_page(tried.page, tried.hits))
    if as_json:
        echo_json(tried.as_dict(), indent=True)
        return
    print_table(tried.table())
    if sys.stdin.isatty() and sys.stdout.isatty() if prompt is None else prompt:
        code.interact(banner=BANNER, local=dict(tried.names()), exitmsg="")


def _write_html(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from error
    note(f"wrote {file}; open it in a browser", err=True)


BANNER = """\
page is the parsed page: page.css("h1"), page.css_all("a::link"), page.xpath("//h1"); css, css_all
and xpath do the same; body contains its bytes, fields what would be stored. Ctrl-D exits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TriedPage:
    """A fetched page, and what a crawl would store from it."""

    outcome: Fetched
    page: Document
    pin_page: ExtractorPage
    analyzed: AnalyzedFields
    links: tuple[links.Link, ...]
    analysis_ms: float
    rules_without_value: tuple[str, ...]
    """Rules of `extract` for this host that matched nothing."""
    formats: FieldFormats
    hits: PageHits
    """The values that each rule finds."""
    other_kinds: tuple[str, ...]
    """This host's kinds of items whose `pages` patterns do not match the URL."""

    @classmethod
    def analyze(cls, outcome: Fetched, settings: Settings) -> _TriedPage:
        """Analyze a fetched page in the same way as the pipeline."""
        started_s = time.perf_counter()
        page = documents.parse(
            outcome.body,
            url=outcome.final_url,
            content_type=outcome.content_type,
            agent=named_agent(settings.fetch),
        )
        extractors = load_all(settings.pipeline.extractors, settings.extract)
        analyzed, page_links = extract_fields(page, extractors), links.extract(page)
        prefixes = {f"{prefix}.*": "json" for prefix in extractors}
        pin_page = ExtractorPage(page, extraction.extract_from(page))
        site_rules, kinds = SiteRules(settings.extract), load_kinds(settings.extract)
        rules = site_rules.of(page.url)
        return cls(
            outcome=outcome,
            page=page,
            pin_page=pin_page,
            analyzed=analyzed,
            links=page_links,
            analysis_ms=1000 * (time.perf_counter() - started_s),
            rules_without_value=tuple(
                f"{SITE}.{name}" for name in rules if f"{SITE}.{name}" not in analyzed.fields
            ),
            formats=FieldFormats({**prefixes, **settings.store.field_formats}),
            hits=find_hits(pin_page, site_rules, kinds),
            other_kinds=tuple(
                name
                for name, site_kind in kinds.of(page.url).items()
                if not site_kind.kind.is_on(page.url)
            ),
        )

    def values(self) -> dict[str, Any]:
        """Return the decoded fields, without items."""
        fields = sorted(self.analyzed.fields.items())
        without_items = ((n, v) for n, v in fields if not n.startswith(f"{ITEMS}."))
        return {n: self.formats.to_value(n, v) for n, v in without_items}

    def items(self) -> dict[str, Any]:
        """Return each kind's items and dropped items, and the URLs of the next pages with items."""
        return {
            name: {
                "items": [dict(item.values) for item in analyzed.items],
                "dropped": dict(analyzed.dropped),
                "unreadable": dict(analyzed.unreadable),
                "follow": list(analyzed.follow),
            }
            for name, analyzed in self.hits.items.items()
        }

    def timing(self) -> dict[str, float]:
        """Return the duration of each step, in ms."""
        record = self.outcome
        parts = {
            "dns_ms": record.dns_ms,
            "connect_ms": record.connect_ms,
            "first_byte_ms": record.first_byte_ms,
            "total_ms": record.total_ms,
            "analysis_ms": self.analysis_ms,
        }
        return {name: round(value, 1) for name, value in parts.items() if value is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a JSON value."""
        record = self.outcome
        return {
            "url": record.url,
            "final_url": record.final_url,
            "status": record.status,
            "headers": [list(header) for header in record.headers],
            "redirects": [{"url": hop.url, "status": hop.status} for hop in record.hops],
            "timing": self.timing(),
            "bytes": len(record.body),
            "fields": self.values(),
            "provenance": dict(self.analyzed.provenance),
            "items": self.items(),
            "rules": [
                {"name": hit.name, "rule": hit.rule, "hits": hit.hits, "first": hit.first}
                for hit in self.hits.rules
            ],
            "rules_without_value": list(self.rules_without_value),
            "links": [{"url": link.url, "text": link.text} for link in self.links],
        }

    def table(self) -> Table:
        """Return a table for a terminal, with long values and lists truncated."""
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        table.add_column(style="dim")
        for row in self._table_rows():
            table.add_row(*(Text(printable(cell)) for cell in row))
        return table

    def _table_rows(self) -> Iterator[tuple[str, str, str]]:
        record = self.outcome
        yield "url", record.final_url, ""
        for hop in record.hops:
            yield "  redirect", f"{hop.url}: {hop.status}", ""
        description = f"{record.content_type or 'no type'}, {len(record.body):,} bytes"
        yield "response", f"{record.status}, {description}", ""
        parts = (
            f"{name.removesuffix('_ms').replace('_', ' ')} {ms:g} ms"
            for name, ms in self.timing().items()
        )
        yield "timing", ", ".join(parts), ""
        for name, value in self.values().items():
            value_text = (
                value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
            )
            yield (
                name,
                to_one_line(value_text, MAX_VALUE_CHARS),
                self.analyzed.provenance.get(name, ""),
            )
        for name in self.rules_without_value:
            yield name, "", "the rule matched nothing"
        yield from self._items_and_rules()
        yield "links", f"{len(self.links):,}", ""
        for link in self.links[:MAX_LINKS_SHOWN]:
            yield "", link.url, to_one_line(link.text, 60)

    def _items_and_rules(self) -> Iterator[tuple[str, str, str]]:
        if self.other_kinds:
            yield (
                "items",
                "none",
                f"`pages` of {', '.join(self.other_kinds)} does not match the URL",
            )
        for name, analyzed in self.hits.items.items():
            skipped = [*analyzed.dropped.items(), *analyzed.unreadable.items()]
            reasons = "; ".join(f"{count:,} {reason}" for reason, count in skipped)
            yield f"{ITEMS}.{name}", pluralize(len(analyzed.items), "item"), reasons
            for item in analyzed.items[:MAX_ITEMS_SHOWN]:
                yield "", to_one_line(orjson.dumps(dict(item.values)).decode(), MAX_VALUE_CHARS), ""
        if self.hits.rules:
            yield "rules", f"{len(self.hits.rules):,}", ""
        for hit in self.hits.rules:
            yield f"  {hit.name}", pluralize(hit.hits, "hit"), hit.rule

    def names(self) -> Mapping[str, Any]:
        """Return the names defined at the prompt."""
        page = self.pin_page
        return {
            "page": page,
            "css": page.css,
            "css_all": page.css_all,
            "xpath": page.xpath,
            "body": self.outcome.body,
            "fields": self.values(),
        }
