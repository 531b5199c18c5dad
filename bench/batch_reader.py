"""
The child process of `bench.batch_reads`: writes or reads the pages of one store.

    python FOLDER/bench/batch_reader.py (fill|read) STORE PAGES

It runs with the code in the current folder, which may be an earlier version. So it imports only
names that have not changed since then. PAGES is a JSON file with `urls` and `batches`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

FIELDS = ("title", "description", "og.image", "site_name")
WRITE_BATCH = 25
WARM_UP = 10
MAX_BATCHES = 30
NOW_MS = 1_700_000_000_000


def page_of(url: str, number: int) -> Any:
    """Return a page with 15 fields, without content and links, which these reads do not read."""
    from aragog.urlstore.records import PageWrite

    fields = {name: f"{name} of {url}".encode() for name in FIELDS}
    fields |= {f"og.{i}": b"a value of some length, as they are" for i in range(11)}
    return PageWrite(
        url=url, final_url=url, canonical_url=url, fetched_at_ms=NOW_MS + number, fields=fields,
        provenance=dict.fromkeys(fields, "og"), due_at_ms=NOW_MS + 977 * number,
        facts={"status": 200, "outcome": "Fetched", "etag": '"x"', "latency_ms": 81.5},
    )  # fmt: skip


def fill(store: Any, urls: Sequence[str]) -> None:
    for at in range(0, len(urls), WRITE_BATCH):
        batch = urls[at : at + WRITE_BATCH]
        store.write_pages([page_of(url, number) for number, url in enumerate(batch, at)])


def reads_of(store: Any) -> dict[str, Callable[[Sequence[str]], object]]:
    return {
        "getMany of the API": lambda urls: store.pages.values(urls, FIELDS),
        "get_many, 4 fields": lambda urls: store.get_many(urls, FIELDS),
        "get_many, facts only": lambda urls: store.get_many(urls, []),
    }


def read(store: Any, batches: Sequence[Sequence[str]]) -> dict[str, float]:
    """
    Return the CPU per URL in µs of each kind of read.

    Each kind reads few batches, and other ones, so that most ids of nodes are not in the cache of
    this process.
    """
    cursor: str | None = ""
    while cursor is not None:  # fills SQLite's caches, but not the cache of ids
        cursor = store.pages.urls(cursor or None).cursor
    kinds, costs = reads_of(store), {}
    for urls in batches[:WARM_UP]:
        for read_batch in kinds.values():
            read_batch(urls)
    for number, (name, read_batch) in enumerate(kinds.items()):
        own = batches[WARM_UP + number :: len(kinds)]
        own = own[:: -(-len(own) // MAX_BATCHES)]
        before_s = time.process_time()
        for urls in own:
            read_batch(urls)
        costs[name] = 1e6 * (time.process_time() - before_s) / sum(map(len, own))
    return costs


def main() -> None:
    command, folder, pages = sys.argv[1:]
    sys.path[0] = str(Path.cwd())  # instead of the folder of this script
    from aragog.bootstrap.stores import url_store
    from aragog.settings import Settings

    made = json.loads(Path(pages).read_text("ascii"))
    with closing(url_store(replace(Settings(), data_dir=Path(folder)))) as store:
        if command == "fill":
            fill(store, made["urls"])
        else:
            print(json.dumps(read(store, made["batches"])))


if __name__ == "__main__":
    main()
