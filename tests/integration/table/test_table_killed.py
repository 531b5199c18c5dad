"""Readers see a whole table while its writer is killed, again and again; none is left out."""

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from aragog.addons.table.delta_files import storage_options
from aragog.bootstrap.stores import url_store
from aragog.settings import load_settings
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import body, page
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

URLS = [f"http://shop-{number % 7}.example/{number}" for number in range(400)]
KILLS = 6
COMMAND = (
    sys.executable, "-m", "aragog.cli", "table",
    "--fields", "shop.price", "--buckets", "4", "--follow", "--every-s", "0.1", "--keep-h", "1",
)  # fmt: skip


def write(store, price, urls=URLS):
    now_ms = store.zen.clock.now_ms()
    store.write_pages(
        [
            page(
                url, now_ms, fields={"shop.price": b"%d" % price},
                facts={"outcome": "Fetched", "status": 200}, content=body(f"{url} {price}"),
                seen=Seen(outcome="Fetched", fetched_at_ms=now_ms, body_hash=f"{url} {price}"),
            )
            for url in urls
        ]
    )  # fmt: skip


@pytest.fixture
def environ(tmp_path, monkeypatch):
    given = {
        "ARAGOG_DATA_DIR": str(tmp_path / "data"),
        "ARAGOG_REFRESH__REPORT_NEW_PAGES": "true",
        "ARAGOG_STORE__FIELD_FORMATS": "shop.price=integer",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)


class Readers:
    """DuckDB and Polars, which read the table until they are stopped; `seen`: what was wrong."""

    def __init__(self, place, options=None):
        self.place, self.options = place, options
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
                    urls = [url for url, _ in rows]
                    if sorted(urls) != sorted(URLS):
                        self.seen.append((len(urls), len(set(urls))))
                self.reads += 1
            except Exception as error:
                self.seen.append(repr(error))

    def rows(self):
        """(url, price) of each row, by Polars and by DuckDB."""
        frame = pl.scan_delta(self.place, storage_options=self.options).collect()
        yield frame.select("url", "shop.price").rows()
        table = DeltaTable(self.place, storage_options=self.options).to_pyarrow_dataset()
        with duckdb.connect() as connection:
            connection.register("pages", table)
            yield connection.sql('SELECT url, "shop.price" FROM pages').fetchall()


def killed_again_and_again(place, log, options=None):
    """Change pages while the command is killed; what the readers saw, and how they ended."""
    with closing(url_store(load_settings())) as store, Readers(place, options) as readers:
        write(store, 1)
        expected = dict.fromkeys(URLS, 1)
        for number in range(KILLS):
            with log.open("ab") as errors:
                process = subprocess.Popen([*COMMAND, place], stdout=errors, stderr=errors)
            some = random.sample(URLS, 60)
            write(store, number + 2, some)
            expected |= dict.fromkeys(some, number + 2)
            if number < 2:  # once it has committed, later at any time
                wait_until(lambda: DeltaTable.is_deltatable(place, options), 60)
            else:
                wait_until(lambda now=readers.reads + 2: readers.reads >= now, 60)
            if number % 3:
                seen = version(place, options)
                wait_until(lambda before=seen: version(place, options) > before, 60)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        wait_until(lambda: run_once(place, log) and all_are(readers, expected), 60)
    return readers


def run_once(place, log):
    command = [part for part in COMMAND if part != "--follow"]
    with log.open("ab") as errors:
        subprocess.run([*command, place], stdout=errors, stderr=errors, check=True, timeout=120)
    return True


def all_are(readers, expected):
    return all(dict(rows) == expected for rows in readers.rows())


def version(place, options):
    return DeltaTable(place, storage_options=options).version()


def test_readers_see_a_whole_table_while_its_writer_is_killed(environ, tmp_path):
    readers = killed_again_and_again(str(tmp_path / "pages"), tmp_path / "log")

    assert readers.seen == []
    assert readers.reads > KILLS


@pytest.mark.s3
def test_so_do_readers_of_a_table_in_s3(environ, tmp_path, s3_settings, monkeypatch):
    monkeypatch.setenv("ARAGOG_CONTENT__S3_ENDPOINT", s3_settings.s3_endpoint)
    monkeypatch.setenv("ARAGOG_CONTENT__S3_REGION", s3_settings.s3_region)
    place = f"s3://{s3_settings.s3_bucket}/pages"

    readers = killed_again_and_again(place, tmp_path / "log", storage_options(s3_settings))

    assert readers.seen == []
    assert readers.reads > KILLS
