"""What every reader of the store returns for the page of a cell."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import TakenDown
from aragog.transfer.import_export import export_urls
from aragog.transfer.json_lines import JsonLinesSink
from aragog.transfer.warc_export import export_warc
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.records import Record
from tests.support.second_visit.site import ALIAS, NEW, OTHER, PAGE, VERSIONS, host_of, linked
from tests.support.second_visit.site import title as title_of
from tests.support.second_visit.table import BEFORE, EXPECTED, ONE, SAME, Expected
from tests.support.second_visit.visits import ALL, Cell, Visits, page_of
from urlspelling.domain import host as host_of_url

DAY_MS = 86_400_000
SOON_MS = 3_600_000
_PATHS = (PAGE, OTHER, NEW)


def _version(text: str | bytes) -> str:
    """Return the version named in a title."""
    raw = text.decode() if isinstance(text, bytes) else text
    word = raw.partition("<title>")[2] or raw.strip('"')
    return word.partition(" ")[0]


def expected(cell: Cell, name: str) -> dict[str, object]:
    """Return a cell's expected values by reader."""
    its = EXPECTED[name]
    page, outcome, at = BEFORE.get(cell[0], ONE)
    if its.page == "down":
        return {"record": None, "body": None, "links": [], **_nothing(its), "hosts": False}
    version = page if its.page == SAME else its.page
    has_page = version not in ("none", "imported")
    shown = version if has_page else "none"
    title = page if SAME in (its.title, its.page) else version
    return {
        "record": title,
        "canonical": at if its.at == SAME else its.at,
        "outcome": outcome if its.outcome == SAME else its.outcome,
        "body": shown,
        "links": [shown] if has_page else [],
        "inlinks": [shown] if has_page else [],
        "values": [title] if title != "none" else [],
        "left over": [],
        "hosts": True,
        "feed": sorted(its.feed),
        "webhooks": sorted(its.feed),
        "lines": title,
        "archive": shown,
        **({"aliases due soon": its.aliases_soon} if cell[0] == "target" else {}),
        "due": True,
    }


def _nothing(its: Expected) -> dict[str, object]:
    nothing: list[str] = []
    return {
        "inlinks": nothing,
        "values": nothing,
        "left over": nothing,
        "feed": sorted(its.feed),
        "webhooks": sorted(its.feed),
        "lines": "none",
        "archive": "none",
    }


@dataclass
class Seen:
    """Reads the store after both visits. Exports and the feed are read once for all cells."""

    visits: Visits
    content: ContentStore
    folder: Path
    feed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    webhooks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[str, str] = field(default_factory=dict)
    """The title of each exported record, by URL."""
    archive: dict[str, str] = field(default_factory=dict)
    """The version of each archived body, by URL."""
    soon: set[str] = field(default_factory=set)
    """URLs due within the hour."""
    elsewhere: dict[Cell, dict[str, object]] = field(default_factory=dict)
    """Where each page appears elsewhere: by links, by values and in exports."""

    def __post_init__(self) -> None:
        self._read_feed()
        self._read_exports()
        with ThreadPoolExecutor(8) as pool:  # each cell makes some hundred calls to the store
            self.elsewhere = dict(zip(ALL, pool.map(self._of_page, ALL), strict=True))
        at_ms = self.visits.harness.clock.now_ms() + SOON_MS
        due = self.visits.harness.urls.schedule.claim_due(at_ms, 10_000, 60)
        self.soon = {one.url for one in due}

    def _read_feed(self) -> None:
        store, cursor = self.visits.harness.urls, self.visits.cursor
        while (page := store.feed.changes(cursor, 100)).items:
            self._note(self.feed, ((change.url, change.kind) for change in page.items))
            cursor = str(page.cursor)
        changes = self.visits.receiver.changes
        self._note(self.webhooks, ((change["url"], change["kind"]) for change in changes))

    def _note(self, into: dict[str, list[str]], entries: Iterable[tuple[str, str]]) -> None:
        for url, kind in entries:
            host = host_of_url(url)
            is_page = url == f"http://{host}{PAGE}"
            into[host].append(
                kind if is_page else f"{kind} of {url.removeprefix(f'http://{host}')}"
            )

    def _read_exports(self) -> None:
        store, stream = self.visits.harness.urls, io.BytesIO()
        export_urls(store.zen, JsonLinesSink(stream))
        for line in stream.getvalue().splitlines():
            record = json.loads(line)
            if "canonical_url" not in record:
                title = record.get("fields", {}).get("page.title")
                self.lines[record["url"]] = _version(title) if title else "none"
        report = export_warc(store.zen, store.bodies, self.folder / "archive")
        for file in report.files:
            with file.open("rb") as raw:
                for capture in ArchiveIterator(raw):
                    if capture.rec_type == "response":
                        url = capture.rec_headers.get_header("WARC-Target-URI")
                        self.archive[url] = _version(capture.content_stream().read())

    def of(self, cell: Cell, name: str) -> dict[str, object]:
        """Return what readers return for a cell. `due` is True if it is due as expected."""
        store, url, host = self.visits.harness.urls, page_of(cell), host_of(*cell)
        shared: dict[str, object] = {
            "feed": sorted(self.feed[host]),
            "webhooks": sorted(self.webhooks[host]),
            "hosts": url in store.pages.urls_of_host(host).items,
        }
        if store.takedowns.refused([url]):
            return {**self.elsewhere[cell], **shared, **self._taken_down(url)}
        record = store.get(url)
        canonical = record.canonical_url if record else url
        title = record.fields.get("page.title") if record else None
        content = store.content(url)
        return {
            "record": _version(title) if title else "none",
            "canonical": canonical.removeprefix(f"http://{host}/"),
            "outcome": str((record.facts if record else {}).get("outcome") or ""),
            "body": _version(content.body) if content else "none",
            "links": self._links(url),
            **self.elsewhere[cell],
            **shared,
            **self._aliases(cell, canonical),
            "due": self._is_due(cell, EXPECTED[name].due, record),
        }

    def _taken_down(self, url: str) -> dict[str, object]:
        store = self.visits.harness.urls
        with pytest.raises(TakenDown):
            store.put(url, {"team.note": b"1"})
        return {"record": store.get(url), "body": store.content(url), "links": self._links(url)}

    def _links(self, url: str) -> list[str]:
        outlinks = self.visits.harness.urls.links.outlinks(url, 100).items
        return [link.url.rpartition("-")[2] for link in outlinks]

    def _of_page(self, cell: Cell) -> dict[str, object]:
        store, host, url = self.visits.harness.urls, host_of(*cell), page_of(cell)
        canonical = store.resolve(url)
        inlinks, values, left_over = [], [], []
        for version in VERSIONS:
            sources = [link.url for link in store.links.inlinks(linked(version, host)).items]
            assert store.links.count_inlinks(linked(version, host)) == len(sources)
            hits = store.pages.with_value("page.title", f'"{title_of(version, host)}"'.encode())
            inlinks += [version] * sources.count(canonical)
            values += [version] * hits.items.count(canonical)
            if canonical != url:
                left_over += [version] * (*sources, *hits.items).count(url)
        return {
            "inlinks": inlinks,
            "values": values,
            "left over": left_over,
            "lines": self.lines.get(canonical, "none"),
            "archive": self.archive.get(canonical, "none"),
        }

    def _aliases(self, cell: Cell, canonical: str) -> dict[str, object]:
        """Check the alias of a canonical target, and return whether it is due soon."""
        if cell[0] != "target":
            return {}
        alias = page_of(cell, ALIAS)
        assert self.visits.harness.urls.resolve(alias) == canonical
        return {"aliases due soon": alias in self.soon}

    def _is_due(self, cell: Cell, name: str, record: Record | None) -> bool | str:
        """Return True if the page is due as expected, or else when it is due."""
        due_ms = record.due_at_ms if record else None
        if name == SAME:
            return due_ms == self.visits.due_before[cell] or f"{due_ms}, not as before"
        if due_ms is None or record is None:
            return name == "never" or "never"
        state = self.visits.harness.urls.schedule.refresh_state(record.canonical_url)
        wait_ms = due_ms - (state.checked_at_ms if state else 0)
        if name == "days":
            is_due = 0.89 * DAY_MS <= wait_ms <= 33 * DAY_MS
        else:
            interval_ms = state.interval_s * 1000 if state else 0
            usual_ms = (
                interval_ms if name == "interval" else int(name.split(maxsplit=1)[0]) * DAY_MS
            )
            is_due = 0.89 * usual_ms <= wait_ms <= 1.11 * usual_ms
        return is_due or f"{wait_ms / DAY_MS:.2f} d"
