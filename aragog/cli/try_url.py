"""
`aragog try URL`: fetch one page and show what would be stored of it, without a system or a store.

It asks robots.txt first, keeps an interval between its requests to a host and obeys the SSRF
filter, like every fetch. It does not know the slots of a system that runs; each call is one page.
"""

from __future__ import annotations

import code
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click
import orjson
from rich.table import Table
from rich.text import Text

from aragog.bootstrap.fetch_limits import for_robots
from aragog.cli.arguments import WebAddress, as_json
from aragog.cli.chosen_extractors import extractor_option, use_extractors
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import ABSENT
from aragog.cli.terminal import echo, echo_json, one_line, print_table, printable
from aragog.crawl.egress.egress import Egress
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.gate import Admission, Deny, Go, OpenGate
from aragog.crawl.fetcher.user_agent import check_user_agent
from aragog.crawl.identity.request_signer import request_signer
from aragog.crawl.politeness.robots_rules import RobotsRules, rules_for_status
from aragog.crawl.stages.page_analysis import AnalyzedFields, fields_of, named_agent
from aragog.crawl.stages.robots import status_of
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.observability.formatting import plain
from aragog.pages.extractors import ExtractorPage, load_all
from aragog.pages.selectors import SiteRules
from aragog.runtime.clock import SystemClock
from aragog.settings import Settings
from aragog.settings.extractor_names import SITE
from aragog.urlstore.field_formats import FieldFormats
from richpins import documents, extraction, links
from richpins.document import Document
from urlspelling import normalize
from urlspelling.domain import host, origin

MOST_CHARS = 200
MOST_LINKS = 10


@click.command("try")
@click.argument("url", type=WebAddress())
@extractor_option
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="Open a prompt with the page (default: on a terminal).",
)
@as_json
def try_url(url: str, extractor: tuple[str, ...], *, prompt: bool | None, as_json: bool) -> None:
    """
    Fetch URL once and show its fields, links and timing; nothing is stored.

    The exit status is 5 if there is no page. The prompt is Python's, with `page`, `css`, `css_all`
    and `xpath`, to try the rules of `extract` in the settings.
    """
    use_extractors(extractor)
    settings = command_settings()
    outcome = _fetched(normalize(url), settings)
    if not isinstance(outcome, Fetched):
        reason = f"{outcome.outcome}: {outcome.reason or outcome.status or ''}"
        echo(one_line(f"aragog: {url}: {reason.rstrip(': ')}"), err=True)
        sys.exit(ABSENT)
    tried = _Tried.of(outcome, settings)
    if as_json:
        echo_json(tried.as_dict(), indent=True)
        return
    print_table(tried.table())
    if sys.stdin.isatty() and sys.stdout.isatty() if prompt is None else prompt:
        code.interact(banner=BANNER, local=dict(tried.names()), exitmsg="")


BANNER = """\
page is the parsed page: page.css("h1"), page.css_all("a::link"), page.xpath("//h1"); css, css_all
and xpath do the same; body has its bytes, fields what is stored of it. ctrl-D ends."""


class _Refused(click.ClickException):
    exit_code = ABSENT


def _fetched(url: str, settings: Settings) -> Outcome:
    """
    The outcome of the URL.

    Raises:
        _Refused: robots.txt forbids it.
        ConfigError: the User-Agent has no contact.
    """
    check_user_agent(settings.fetch, url)
    signer = request_signer(settings.identity)
    egress = Egress(settings.egress, settings.fetch, SystemClock())
    with (
        Fetcher(settings.fetch, signer=signer, egress=egress) as fetcher,
        Fetcher(
            for_robots(settings.fetch), sharing=fetcher, signer=signer, start_is_enough=True
        ) as robots,
    ):
        gate = _RobotsGate(robots, settings)
        if why := gate.refusal(url):
            raise _Refused(f"{url}: robots.txt: {why}")
        return fetcher.fetch(url, gate=gate)


class _Spaced(OpenGate):
    """A gate that keeps the default interval between requests to a host."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._sent_at_s: dict[str, float] = {}

    def acquire_permit(self, url: str) -> None:
        sent_at_s = self._sent_at_s.get(host(url))
        if sent_at_s is not None:
            time.sleep(max(0.0, sent_at_s + self._interval_s - time.monotonic()))
        self._sent_at_s[host(url)] = time.monotonic()


class _RobotsGate(_Spaced):
    """Also admits only what robots.txt allows."""

    def __init__(self, robots: Fetcher, settings: Settings) -> None:
        super().__init__(1 / settings.politeness.qps)
        self._robots = robots
        self._agent = named_agent(settings.fetch)
        self._rules: dict[str, RobotsRules] = {}

    def refusal(self, url: str) -> str | None:
        """Why robots.txt forbids a URL; None: it does not."""
        rules = self._rules_of(origin(url))
        return None if rules.allows(self._agent, url) else rules.explain(self._agent, url)

    def admit(self, url: str, given: str) -> Admission:
        why = self.refusal(url) or self.refusal(given)
        return Go() if why is None else Deny(why, RefusalCause.ROBOTS)

    def _rules_of(self, of: str) -> RobotsRules:
        if of not in self._rules:
            outcome = self._robots.fetch(f"{of}/robots.txt", gate=_OfRobots(self))
            body = outcome.body if isinstance(outcome, Fetched) else b""
            self._rules[of] = rules_for_status(status_of(outcome), body)
        return self._rules[of]


class _OfRobots(OpenGate):
    """The gate of robots.txt itself, which follows any redirect."""

    def __init__(self, spaced: _Spaced) -> None:
        self._spaced = spaced

    def acquire_permit(self, url: str) -> None:
        self._spaced.acquire_permit(url)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """A page that was fetched, and what would be stored of it."""

    outcome: Fetched
    page: Document
    pin_page: ExtractorPage
    found: AnalyzedFields
    links: tuple[links.Link, ...]
    analysis_ms: float
    missing: tuple[str, ...]
    """Rules of `extract` for this host that found nothing."""
    formats: FieldFormats

    @classmethod
    def of(cls, outcome: Fetched, settings: Settings) -> _Tried:
        """Analyze the page of an outcome as the pipeline does."""
        began_s = time.perf_counter()
        page = documents.parse(
            outcome.body,
            url=outcome.final_url,
            content_type=outcome.content_type,
            agent=named_agent(settings.fetch),
        )
        extractors = load_all(settings.pipeline.extractors, settings.extract)
        found, page_links = fields_of(page, extractors), links.extract(page)
        prefixes = {f"{prefix}.*": "json" for prefix in extractors}
        rules = SiteRules(settings.extract).of(page.url)
        return cls(
            outcome=outcome,
            page=page,
            pin_page=ExtractorPage(page, extraction.extract_from(page)),
            found=found,
            links=page_links,
            analysis_ms=1000 * (time.perf_counter() - began_s),
            missing=tuple(
                f"{SITE}.{name}" for name in rules if f"{SITE}.{name}" not in found.fields
            ),
            formats=FieldFormats({**prefixes, **settings.store.field_formats}),
        )

    def values(self) -> dict[str, Any]:
        """The fields, decoded."""
        return {n: self.formats.to_value(n, v) for n, v in sorted(self.found.fields.items())}

    def timing(self) -> dict[str, float]:
        """Milliseconds of the parts of the fetch, and of the analysis."""
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
        """All of it as JSON."""
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
            "provenance": dict(self.found.provenance),
            "rules_without_value": list(self.missing),
            "links": [{"url": link.url, "text": link.text} for link in self.links],
        }

    def table(self) -> Table:
        """All of it for a terminal; values and links are cut."""
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        table.add_column(style="dim")
        for row in self._rows():
            table.add_row(*(Text(printable(cell)) for cell in row))
        return table

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        record = self.outcome
        yield "url", record.final_url, ""
        for hop in record.hops:
            yield "  redirect", f"{hop.url}: {hop.status}", ""
        kind = f"{record.content_type or 'no type'}, {len(record.body):,} bytes"
        yield "response", f"{record.status}, {kind}", ""
        parts = (
            f"{name.removesuffix('_ms').replace('_', ' ')} {ms:g} ms"
            for name, ms in self.timing().items()
        )
        yield "timing", ", ".join(parts), ""
        for name, value in self.values().items():
            shown = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
            yield name, plain(shown, MOST_CHARS), self.found.provenance.get(name, "")
        for name in self.missing:
            yield name, "", "the rule found nothing"
        yield "links", f"{len(self.links):,}", ""
        for link in self.links[:MOST_LINKS]:
            yield "", link.url, plain(link.text, 60)

    def names(self) -> Mapping[str, Any]:
        """What the prompt knows."""
        page = self.pin_page
        return {
            "page": page,
            "css": page.css,
            "css_all": page.css_all,
            "xpath": page.xpath,
            "body": self.outcome.body,
            "fields": self.values(),
        }
