"""Readers see a complete table while its writer is killed repeatedly, and no change is lost."""

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import duckdb
import orjson
import polars as pl
import pytest
from deltalake import DeltaTable

from aragog.addons.table.delta_files import storage_options
from aragog.bootstrap.stores import url_store
from aragog.pages.items import PageItems
from aragog.settings import load_settings
from aragog.urlstore.refresh_policy import Seen
from richpins.items import Item
from tests.support.stores import body, page
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

KILLS = 6
COMMAND = (
    sys.executable, "-m", "aragog.cli", "table",
    "--buckets", "4", "--follow", "--every-s", "0.1", "--keep-h", "1",
)  # fmt: skip
RULES = """
[extract."shop.example".cards]
each = "css:.card"
key = "sku"
fields = { sku = "css:.sku", price = { select = "css:.price", type = "integer" } }
"""


def write(store, value, fields):
    """Fetches of pages, by URL, with these fields; `value` makes their bodies differ."""
    now_ms = store.zen.clock.now_ms()
    facts = {"outcome": "Fetched", "status": 200}
    store.write_pages(
        [
            page(
                url, now_ms, fields=of_page, facts=facts, content=body(f"{value} {url}"),
                seen=Seen(outcome="Fetched", fetched_at_ms=now_ms, body_hash=f"{value} {url}"),
            )
            for url, of_page in fields.items()
        ]
    )  # fmt: skip


class OfPages:
    """400 pages, some of which get a new price."""

    options = ("--fields", "shop.price")
    columns = ("url", "shop.price")
    always = frozenset(f"http://shop-{number % 7}.example/{number}" for number in range(400))

    def __init__(self):
        self.expected = {}

    def start(self, store):
        self._write(store, 1, self.always)

    def change(self, store, value):
        self._write(store, value, random.sample(sorted(self.always), 60))

    def _write(self, store, value, urls):
        write(store, value, {url: {"shop.price": b"%d" % value} for url in urls})
        self.expected |= dict.fromkeys(urls, value)


class OfItems:
    """400 items on 40 pages; two of each page move to another one as their prices change."""

    options = ("--items", "cards")
    columns = ("item_key", "price")
    always = frozenset(f"{number}-{place}" for number in range(40) for place in range(8))

    def __init__(self):
        self.pages = [[f"{number}-{place}" for place in range(10)] for number in range(40)]
        self.expected = {}

    def start(self, store):
        self._write(store, 1, range(40))

    def change(self, store, value):
        numbers = random.sample(range(40), 12)
        sources, targets = numbers[:6], numbers[6:]
        for source, target in zip(sources, targets, strict=True):
            moving = [key for key in self.pages[source] if key not in self.always]
            self.pages[source] = [key for key in self.pages[source] if key in self.always]
            self.pages[target] += moving
        self._write(store, value, targets)
        self._write(store, value, sources)

    def _write(self, store, value, numbers):
        fields = {}
        for number in numbers:
            items = tuple(Item({"sku": key, "price": value}, key) for key in self.pages[number])
            stored = PageItems("shop.example", items).stored()
            fields[f"http://shop.example/{number}"] = {"items.cards": orjson.dumps(stored)}
            self.expected |= dict.fromkeys(self.pages[number], value)
        write(store, value, fields)


@pytest.fixture
def environ(tmp_path, monkeypatch):
    settings = tmp_path / "aragog.toml"
    settings.write_text(RULES)
    given = {
        "ARAGOG_SETTINGS": str(settings),
        "ARAGOG_DATA_DIR": str(tmp_path / "data"),
        "ARAGOG_REFRESH__REPORT_NEW_PAGES": "true",
        "ARAGOG_STORE__FIELD_FORMATS": "shop.price=integer",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)


class Readers:
    """DuckDB and Polars readers, which read the table until stopped; `seen` lists errors."""

    def __init__(self, place, what, options=None):
        self.place, self.what, self.options = place, what, options
        self.reads, self.seen, self._stopped = 0, [], False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._stopped = True
        self._thread.join()

    def _run(self):
        while not self._stopped:
            if not DeltaTable.is_deltatable(self.place, self.options):
                continue  # nothing was committed yet
            try:
                for rows in self.rows():
                    keys = [key for key, _ in rows]
                    if len(keys) != len(set(keys)) or not self.what.always.issubset(keys):
                        self.seen.append((len(keys), len(set(keys))))
                self.reads += 1
            except Exception as error:
                self.seen.append(repr(error))

    def rows(self):
        """(key, price) of each row, by Polars and by DuckDB."""
        key, price = self.what.columns
        frame = pl.scan_delta(self.place, storage_options=self.options).collect()
        yield frame.select(key, price).rows()
        table = DeltaTable(self.place, storage_options=self.options).to_pyarrow_dataset()
        with duckdb.connect() as connection:
            connection.register("found", table)
            yield connection.sql(f'SELECT {key}, "{price}" FROM found').fetchall()


def change_and_kill_repeatedly(place, what, log, options=None):
    """Change pages while the command is killed; returns the readers."""
    with closing(url_store(load_settings())) as store, Readers(place, what, options) as readers:
        what.start(store)
        for number in range(KILLS):
            with log.open("ab") as errors:
                command = [*COMMAND, *what.options, place]
                process = subprocess.Popen(command, stdout=errors, stderr=errors)
            what.change(store, number + 2)
            if number < 2:  # after the first commit; later runs are killed at any time
                wait_until(lambda: DeltaTable.is_deltatable(place, options), 60)
            else:
                wait_until(lambda now=readers.reads + 2: readers.reads >= now, 60)
            if number % 3:
                seen = version(place, options)
                wait_until(lambda before=seen: version(place, options) > before, 60)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        wait_until(lambda: run_once(place, log) and all_readers_see(readers, what.expected), 60)
    return readers


def run_once(place, log):
    """A later run, which needs only its own options."""
    command = [part for part in COMMAND if part != "--follow"]
    with log.open("ab") as errors:
        subprocess.run([*command, place], stdout=errors, stderr=errors, check=True, timeout=120)
    return True


def all_readers_see(readers, expected):
    return all(dict(rows) == expected for rows in readers.rows())


def version(place, options):
    return DeltaTable(place, storage_options=options).version()


@pytest.mark.parametrize("kind", [OfPages, OfItems])
def test_readers_see_a_complete_table_while_its_writer_is_killed(environ, tmp_path, kind):
    readers = change_and_kill_repeatedly(str(tmp_path / "table"), kind(), tmp_path / "log")

    assert readers.seen == []
    assert readers.reads > KILLS


@pytest.mark.s3
@pytest.mark.parametrize("kind", [OfPages, OfItems])
def test_readers_in_s3_see_a_complete_table_while_its_writer_is_killed(
    environ, tmp_path, s3_settings, monkeypatch, kind
):
    monkeypatch.setenv("ARAGOG_CONTENT__S3_ENDPOINT", s3_settings.s3_endpoint)
    monkeypatch.setenv("ARAGOG_CONTENT__S3_REGION", s3_settings.s3_region)
    place = f"s3://{s3_settings.s3_bucket}/table"
    options = storage_options(s3_settings)

    readers = change_and_kill_repeatedly(place, kind(), tmp_path / "log", options)

    assert readers.seen == []
    assert readers.reads > KILLS
