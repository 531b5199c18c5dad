"""
Measure the UrlStore and the bare engine in the same run.

    python -m bench.urlstore [--engine sqlite|postgres|hbase] [--scale 1.0] [--import-urls 20000]

CPU is that of this process alone, without the server's. `--engine postgres` ends with the targets
(SQLite and PostgreSQL in turn in one run) and the cost of a page on the server. `bare` does the
minimum for the same cells: no normalization, no aliases, no records.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from aragog.settings import StoreSettings
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.node_ids import UrlNaming, list_id
from aragog.urlstore.records import ContentWrite, OutLink, PageWrite
from aragog.urlstore.store import UrlStore
from bench import figures
from bench.hbase_engine import BareHBase, hbase_engine
from bench.postgres_engine import postgres_engine, server_costs, targets
from bench.quick import add_quick
from urlspelling import url_key
from zengraph.links import LinkChanges, PackedLinks, PostingLists
from zengraph.tables import FORMAT, Tables
from zengraph.tables.sqlite import SqliteTables

NAMING = UrlNaming(lambda: FORMAT)
node_id = NAMING.node_id
BATCH = 25
NOW_MS = 1_700_000_000_000
FIELDS = ["title", "description", "og.image", "site_name"]
COLUMNS = [b"m:" + field.encode() for field in FIELDS]


class BareSqlite:
    """A file, a table of cells, three statements."""

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute(
            "CREATE TABLE t (row BLOB, col BLOB, value BLOB, PRIMARY KEY (row, col)) WITHOUT ROWID"
        )

    def fill(self, keys: list[bytes]) -> None:
        """Write as many cells per row as a page's node has."""
        names = [*COLUMNS, *(b"m:og.%d" % i for i in range(11)), *(b"s:%d" % i for i in range(14))]
        rows = [(key, name, os.urandom(40)) for key in keys for name in names]
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        self.db.execute("COMMIT")

    def get(self, key: bytes) -> dict[bytes, bytes]:
        sql = "SELECT col, value FROM t WHERE row=? AND col IN (?, ?, ?, ?)"
        return dict(self.db.execute(sql, (key, *COLUMNS)).fetchall())

    def get_many(self, keys: list[bytes]) -> list[dict[bytes, bytes]]:
        return [self.get(key) for key in keys]

    def row(self, key: bytes) -> dict[bytes, bytes]:
        sql = "SELECT col, value FROM t WHERE row=?"
        return dict(self.db.execute(sql, (key,)).fetchall())

    def put(self, key: bytes, cells: dict[bytes, bytes]) -> None:
        self.put_many([(key, cells)])

    def put_many(self, rows: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> None:
        sql = "INSERT INTO t VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value=excluded.value"
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(
            sql, [(key, c, value) for key, cells in rows for c, value in cells.items()]
        )
        self.db.execute("COMMIT")


@contextmanager
def sqlite_engine() -> Iterator[tuple[Tables, BareSqlite]]:
    folder = Path(tempfile.mkdtemp(prefix="aragog-bench-"))
    tables = SqliteTables(folder / "tables")
    tables.create()
    yield tables, BareSqlite(folder)
    tables.close()
    shutil.rmtree(folder)


# Maps a name to a context manager that yields empty tables, and the bare engine with six methods:
# fill(keys), get(key), get_many(keys), row(key), put(key, cells), put_many(rows).
ENGINES = {
    "sqlite": sqlite_engine,
    "postgres": lambda: postgres_engine(FIELDS),
    "hbase": lambda: hbase_engine(FIELDS),
}


def pages_of(
    count: int,
    seed: int = 1,
    first: int = 0,
    numbers: Sequence[int] | None = None,
    every_link: int = 1,
) -> list[PageWrite]:
    """
    Return pages of some sites: 185 links each, two thirds of them within the site, 15 fields.

    The links are packed, as canonicalize sends them to store.

    Args:
        numbers: the numbers of the pages, instead of `count` numbers from `first`.
        every_link: 10 for pages with a tenth of the links.
    """
    rng, bodies = random.Random(seed), _bodies()
    pages = []
    for number in range(first, first + count) if numbers is None else numbers:
        site = f"https://www.site{number // 40}.example"
        near = [
            OutLink(f"{site}/articles/{article}/some-words-of-a-title", f"Some words {i}")
            for i, article in enumerate(rng.choices(range(400), k=95 // every_link))
        ]
        far = [
            OutLink(
                f"https://other{other % 900}.example/page/{other // 900}", "Elsewhere", "nofollow"
            )
            for other in rng.choices(range(8_100), k=45 // every_link)
        ]
        url = f"{site}/articles/{number % 40}/some-words-of-a-title"
        fields = {name: f"{name} of {url}".encode() for name in FIELDS}
        fields |= {f"og.{i}": b"a value of some length, as they are" for i in range(11)}
        content = ContentWrite(
            bodies[number % len(bodies)], "zstd", 57_000, {"content-type": "text/html"}
        )
        pages.append(
            PageWrite(
                url=url, final_url=url, canonical_url=url, fetched_at_ms=NOW_MS + number,
                fields=fields, provenance=dict.fromkeys(fields, "og"),
                links=PackedLinks.of(_section_links(site)[::every_link] + near + far),
                content=content, due_at_ms=due_ms(url),
                facts={"status": 200, "outcome": "Fetched", "etag": '"x"', "latency_ms": 81.5},
            )
        )  # fmt: skip
    return pages


def due_ms(url: str) -> int:
    """Return a time in 24 hours, with the jitter of `aragog.urlstore.refresh_policy`."""
    return NOW_MS + 77_760_000 + int.from_bytes(url_key(url)[-4:]) % 17_280_000


def of_one_host(pages: Sequence[PageWrite]) -> list[PageWrite]:
    """Return the same pages as if their sites were folders of one host."""
    moved = []
    for page in pages:
        site = urlsplit(page.url).hostname.split(".")[1]
        old, new = f"https://www.{site}.example/", f"https://www.one.example/{site}/"
        url, lines = page.url.replace(old, new), page.links.lines
        links = PackedLinks.of_lines(lines.replace(old.encode(), new.encode()))
        moved.append(replace(page, url=url, final_url=url, canonical_url=url, links=links))
    return moved


@lru_cache(1)
def _section_links(site: str) -> list[OutLink]:
    """Return the links that all pages of a site have."""
    return [OutLink(f"{site}/section/{i}", f"Section {i}") for i in range(45)]


@cache
def _bodies() -> list[bytes]:
    """Return compressed bodies. Each page has one of them, and they are not compared."""
    rng = random.Random(1)
    return [compress(rng.randbytes(9000)) for _ in range(64)]


class Row:
    """A row of the table."""

    def __init__(self, name: str, per: str, units: int) -> None:
        self.name, self.per, self.units = name, per, units

    def run(self, act: Callable[[], object]) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        act()
        self.wall_us = (time.perf_counter() - wall) / self.units * 1e6
        self.cpu_us = (time.process_time() - cpu) / self.units * 1e6
        return self.wall_us, self.cpu_us


def measure(name: str, per: str, units: int, act: Callable[[], object], note: str = "") -> float:
    """Run once, print both times, and return the CPU per unit in us."""
    row = Row(name, per, units)
    wall, cpu = row.run(act)
    print(f"{name:46} {wall:10.1f} {cpu:10.1f}  us a {per:10} {note}", flush=True)
    return cpu


def ratio(
    name: str,
    per: str,
    units: int,
    ours: Callable[[], object],
    bare: Callable[[], object],
    rounds: int = 3,
) -> float:
    """Run both in turn, print the medians, and return the first one's CPU per unit in us."""
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    for _ in range(rounds):
        times["bare"].append(Row(name, per, units).run(bare))
        times["ours"].append(Row(name, per, units).run(ours))
    wall, cpu = (statistics.median(t[i] for t in times["ours"]) for i in (0, 1))
    bare_wall, bare_cpu = (statistics.median(t[i] for t in times["bare"]) for i in (0, 1))
    print(
        f"{name:46} {wall:10.1f} {cpu:10.1f}  us a {per:10} bare {bare_wall:.1f} and "
        f"{bare_cpu:.1f} CPU: {wall / bare_wall:.2f}x, {cpu / bare_cpu:.2f}x CPU",
        flush=True,
    )
    return cpu


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--import-urls", type=int, default=20_000)
    add_quick(parser, scale=0.02, import_urls=500)
    options = parser.parse_args()
    with ENGINES[options.engine]() as (tables, bare):
        run(tables, bare, options.engine, options.scale, options.import_urls)
    if options.engine == "postgres":
        targets(pages_of, FIELDS, int(1000 * options.scale))
        server_costs(pages_of, int(1000 * options.scale))


def run(tables: Tables, bare, engine: str, scale: float, import_urls: int) -> None:
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    pages = pages_of(int(1000 * scale))
    print(
        f"{engine}: {len(pages)} pages of 185 links and 15 fields\n{'':46} {'wall':>10} {'cpu':>10}"
    )

    def write(some: list[PageWrite]) -> None:
        for at in range(0, len(some), BATCH):
            store.write_pages(some[at : at + BATCH])

    new = measure("store stage, links and all", "page", len(pages), lambda: write(pages))
    same = measure("the same again (nothing changed)", "page", len(pages), lambda: write(pages))
    compacted = measure("compaction of their links", "page", len(pages), lambda: compact(store))
    if engine == "sqlite":
        figures.report(store_unchanged=same / new, compaction=compacted / 1000)
    linkless = [replace(page, links=None) for page in pages_of(len(pages), seed=2)]
    measure("store stage without links", "page", len(pages), lambda: write(linkless))
    reads_and_puts(store, tables, bare, [page.url for page in pages], engine)
    hub(store, tables)
    imports(store, bare, import_urls)


def reads_and_puts(store: UrlStore, tables: Tables, bare, urls: list[str], engine: str) -> None:
    bare.fill([node_id(url) for url in urls])
    sample = random.Random(3).choices(urls, k=2000 if engine == "sqlite" else 300)
    ids = [node_id(url) for url in sample]
    get_us = ratio(
        "get, 4 fields", "URL", len(sample),
        lambda: [store.get(url, FIELDS) for url in sample],
        lambda: [bare.get(key) for key in ids],
    )  # fmt: skip
    figures.report(**{f"{engine}_get": get_us / 1000})
    if isinstance(bare, BareHBase):
        print(f"HBase: {bare.server_ms_per_get(ids):.2f} ms of CPU of gateway and server a get")
    hundreds = [sample[at : at + 100] for at in range(0, len(sample), 100)]
    ratio(
        "get_many of 100, 4 fields", "URL", len(sample),
        lambda: [store.get_many(some, FIELDS) for some in hundreds],
        lambda: [bare.get_many([node_id(url) for url in some]) for some in hundreds],
    )  # fmt: skip
    few = sample[: len(sample) // 4]
    three = {"a": b"1", "b": b"2", "c": b"3"}
    cells = {b"m:" + name.encode(): value for name, value in three.items()}
    ratio(
        "put, 3 fields", "URL", len(few),
        lambda: [store.put(url, three) for url in few],
        lambda: [bare.put(node_id(url), cells) for url in few],
    )  # fmt: skip
    targets = [f"https://www.site{i % 25}.example/section/{i % 45}" for i in range(200)]
    lists = [copied(tables, bare, target) for target in targets]
    ratio(
        "20 inlinks", "call", len(targets),
        lambda: [store.links.inlinks(t, 20) for t in targets],
        lambda: [(bare.row(key[4:]), bare.row(key)) for key in lists],
    )  # fmt: skip
    ratio(
        "count of inlinks", "call", len(targets),
        lambda: [store.links.count_inlinks(t) for t in targets],
        lambda: [(bare.row(key[4:]), bare.row(key)) for key in lists],
    )  # fmt: skip


def hub(store: UrlStore, tables: Tables) -> None:
    url = "https://hub.example/"
    built = build_hub(tables, url.encode(), 200_000)
    print(f"a hub of 200,000 inlinks: {built:.1f} us of CPU a link to compact and merge")
    measure(
        "hub: 20 inlinks", "call", 20, lambda: [store.links.inlinks(url, 20) for _ in range(20)]
    )
    measure("hub: count", "call", 20, lambda: [store.links.count_inlinks(url) for _ in range(20)])


def imports(store: UrlStore, bare, import_urls: int) -> None:
    rows = [
        (f"https://import{i % 997}.example/p/{i}", {"title": b"A title of a page"})
        for i in range(import_urls)
    ]
    print(f"{len(rows)} URLs:")
    ratio(
        "import, 1 field", "URL", len(rows),
        lambda: bulk(store, rows),
        lambda: bare_bulk(bare, rows),
        rounds=1,
    )  # fmt: skip


def copied(tables: Tables, bare, target: str) -> bytes:
    """Copy a target's node and posting list to the bare engine. Returns the list's key."""
    lines = PostingLists(tables, NAMING).lines(list_id(target.encode()))
    key = b"list" + node_id(target)
    bare.put(key[4:], {b"m:url": target.encode()})
    bare.put(key, {b"m:0": b"\n".join(lines) or b"-"})
    return key


def build_hub(tables: Tables, target: bytes, count: int) -> float:
    """Compact 10,000 new links to one target at a time. Returns us of CPU per link."""
    lists, start = PostingLists(tables, NAMING), time.process_time()
    for number in range(count // 10_000):
        lines = [
            b"https://s%d.example/p\t%013d\t+\t\tHub" % (i * 7919 % count, NOW_MS)
            for i in range(number * 10_000, number * 10_000 + 10_000)
        ]
        groups = NAMING.by_group({target: b"\n".join(lines)})
        lists.add(LinkChanges(number + 1, NOW_MS, groups, {}))
    return (time.process_time() - start) / count * 1e6


def compact(store: UrlStore) -> None:
    while store.maintenance.compact_links(1000).journal_rows:
        pass


def bulk(store: UrlStore, rows: list[tuple[str, dict[str, bytes]]]) -> None:
    pages = [
        PageWrite(url=url, final_url=url, canonical_url=url, fetched_at_ms=NOW_MS, fields=fields)
        for url, fields in rows
    ]
    for at in range(0, len(pages), 1000):
        store.write_pages(pages[at : at + 1000])


def bare_bulk(bare, rows: list[tuple[str, dict[str, bytes]]]) -> None:
    """Put each value and URL under its key, in batches of the same size."""
    cells = [(node_id(url), {b"m:title": f["title"], b"m:url": url.encode()}) for url, f in rows]
    for at in range(0, len(cells), 1000):
        bare.put_many(cells[at : at + 1000])


if __name__ == "__main__":
    main()
