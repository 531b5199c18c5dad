"""
Compare the CPU of pages in all and their bytes: without dictionaries, with packs that upkeep
rewrites with dictionaries, and with a dictionary that fetch processes compress with.

    python -m bench.shared_dictionaries                  Python's documentation as one site
    python -m bench.shared_dictionaries FOLDER [FOLDER]  the *.html files of each folder are a site

The first pages are written before a dictionary is trained. Measured are the others, each on
`--copies` hosts: compressing them as a fetch process does, decompressing them as `canonicalize`
does, writing them, and upkeep an hour later, deletion of old packs included. The three versions
take turns. CPU is that of the process per page; bytes are those of the packs in the end.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.settings import ContentSettings, Settings
from aragog.urlstore.compression import content_hash
from aragog.urlstore.pack_groups import WAIT_MS
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from bench.crawl import page_sets
from bench.pack_dictionaries import LaterClock, pack_bytes, page
from bench.packs import collect_like_a_worker, write_packed
from bench.quick import add_quick

PLAIN, REWRITTEN, SHARED = "without dictionaries", "rewritten by upkeep", "compressed at the fetch"
MIN_BYTES, MAX_BYTES = 12_000, 200_000

T = TypeVar("T")
Pages = Sequence[tuple[str, bytes]]


class Costs(NamedTuple):
    """CPU ms a page of each step, and bytes a page."""

    compress: float
    decompress: float
    write: float
    upkeep: float
    stored_bytes: float

    @property
    def cpu_ms(self) -> float:
        """CPU of all steps."""
        return sum(self[:4])


def measure(version: str, first: Pages, others: Pages) -> Costs:
    """Measure one version in a new store."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="aragog-dictionaries-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        content = ContentSettings(dictionaries=version != PLAIN)
        settings = replace(Settings(), data_dir=folder / "data", content=content)
        store = stack.enter_context(closing(url_store(settings)))
        if version == SHARED:
            _train(store, first)
        before = pack_bytes(store)
        compress_s, blobs = _cpu_s(lambda: [store.bodies.compress(body) for _, body in others])
        decompress_s, _ = _cpu_s(lambda: [store.bodies.decompress(blob) for blob in blobs])
        pages = [_fetched(url, body, blob) for (url, body), blob in zip(others, blobs, strict=True)]
        write_s, _ = _cpu_s(lambda: write_packed(store, pages))
        upkeep_s, _ = _cpu_s(lambda: _upkeep(store))
        stored = pack_bytes(store) - before
        for url, body in random.Random(1).sample(others, 5):
            found = store.content(url)
            assert found is not None
            assert found.body == body
    per_page_ms = 1000 / len(others)
    return Costs(
        compress=compress_s * per_page_ms,
        decompress=decompress_s * per_page_ms,
        write=write_s * per_page_ms,
        upkeep=upkeep_s * per_page_ms,
        stored_bytes=stored / len(others),
    )


def _train(store: UrlStore, pages: Pages) -> None:
    """Write the first pages, and let upkeep train a dictionary on them."""
    shared = store.bodies.packs.shared if store.bodies.packs else None
    assert shared is not None
    write_packed(store, [_fetched(url, body, store.bodies.compress(body)) for url, body in pages])
    PackUpkeep(store.zen, store.bodies, LaterClock(60_000)).run()
    shared.refresh()
    if shared.in_use() is None:
        raise SystemExit(
            "no dictionary: the first pages take less than 2 MB, or have too little in common"
        )


def _fetched(url: str, body: bytes, blob: bytes) -> PageWrite:
    made = page(url, body)
    assert made.content is not None
    return replace(made, content=replace(made.content, body=blob, digest=content_hash(body)))


def _upkeep(store: UrlStore) -> None:
    """Run upkeep an hour later, on packs that it does not train on, and delete the old packs."""
    for later_ms in (WAIT_MS + 60_000, 2 * WAIT_MS):
        PackUpkeep(store.zen, store.bodies, LaterClock(later_ms)).run(most=10_000)


def _cpu_s(run: Callable[[], T]) -> tuple[float, T]:
    before_s = time.process_time()
    result = run()
    return time.process_time() - before_s, result


def pages_of(sites: Sequence[Path], first: int, most: int, copies: int) -> tuple[Pages, Pages]:
    """Return the first pages of some sites, and others, each on several hosts."""
    found = [
        (f"{number}.site", path)
        for number, site in enumerate(sites)
        for path in sorted(site.rglob("*.html"))
        if path.is_file() and MIN_BYTES <= path.stat().st_size <= MAX_BYTES
    ]
    random.Random(1).shuffle(found)
    made = [
        (host, f"{number}-{path.name}", path.read_bytes())
        for number, (host, path) in enumerate(found[: first + most])
    ]
    return (
        [(f"https://0.{host}.example/{name}", body) for host, name, body in made[:first]],
        [
            (f"https://{copy}.{host}.example/{name}", body)
            for copy in range(copies)
            for host, name, body in made[first:]
        ],
    )


def report(found: dict[str, list[Costs]], pages: int) -> None:
    """Print a row for each version: medians, and the least sum in parentheses."""
    table = Table(title=f"{pages:,} pages, {len(found[PLAIN])} rounds, CPU ms a page")
    for heading in ("", "compress", "decompress", "store", "upkeep", "all", "bytes", "saved"):
        table.add_column(heading, justify="right")
    plain_bytes = statistics.median(one.stored_bytes for one in found[PLAIN])
    for version, rounds in found.items():
        middle = Costs(*map(statistics.median, zip(*rounds, strict=True)))
        sums = [one.cpu_ms for one in rounds]
        table.add_row(
            version, *(f"{ms:.3f}" for ms in middle[:4]),
            f"{statistics.median(sums):.3f} ({min(sums):.3f})", f"{middle.stored_bytes:,.0f}",
            f"{1 - middle.stored_bytes / plain_bytes:.1%}",
        )  # fmt: skip
    Console(width=130).print(table)


def main() -> None:
    """Measure the versions in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help="of sites; none: that of make bench")
    parser.add_argument("--first", type=int, default=240, help="pages before the dictionary")
    parser.add_argument("--pages", type=int, default=1000, help="pages after it, at most")
    parser.add_argument("--copies", type=int, default=4, help="hosts of each of them")
    parser.add_argument("--rounds", type=int, default=5)
    add_quick(parser, first=240, pages=10, copies=1, rounds=1)
    options = parser.parse_args()
    sites = options.folders or [page_sets.docs().folder]
    first, others = pages_of(sites, options.first, options.pages, options.copies)
    collect_like_a_worker()
    found: dict[str, list[Costs]] = {PLAIN: [], REWRITTEN: [], SHARED: []}
    for _ in range(options.rounds):
        for version, rounds in found.items():
            rounds.append(measure(version, first, others))
    report(found, len(others))


if __name__ == "__main__":
    main()
