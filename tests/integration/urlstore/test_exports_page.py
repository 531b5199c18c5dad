"""docs/exports.md is correct: its commands, its recipes, its line of JSON."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from contextlib import closing
from datetime import UTC, datetime

import duckdb
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from aragog.transfer.json_lines import BadRecord, read_json_lines
from tests.support.documented import blocks
from tests.support.stores import body, page

PAGE = "docs/exports.md"
DAY_MS = 86_400_000


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the files of the page's commands, made from a store of three lamps."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    with closing(url_store(load_settings())) as store:
        store.write_pages(
            [
                page(
                    f"http://shop.example/{name}",
                    fields={
                        "page.title": json.dumps(name).encode(),
                        "product.price": json.dumps(price).encode(),
                        "product.rating": b'{"value":"4.5"}',
                    },
                    content=body(name),
                )
                for name, price in [("desk", "89.90"), ("floor", "210"), ("wall", "19.90")]
            ]
        )
    for block in blocks(PAGE, "sh", "aragog store export "):
        for line in block.replace("/data", str(tmp_path)).splitlines():
            ran = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
            assert ran.exit_code == 0, ran.output
    return tmp_path


def test_duckdb_and_pandas_read_exports(data):
    out, names = io.StringIO(), {}

    with contextlib.redirect_stdout(out):
        for block in blocks(f"{PAGE}#duckdb-and-pandas", "python"):
            exec(compile(block.replace("/data", str(data)), PAGE, "exec"), names)

    assert out.getvalue().splitlines() == [
        "[('wall', 19.9, 4.5), ('desk', 89.9, 4.5)]",
        "[(210.0,)]",
        "{'min': 19.9, 'max': 210.0}",
    ]


def test_each_day_has_a_folder_with_the_pages_fetched_on_it(data):
    (block,) = blocks(PAGE, "sh", "aragog store export-parts")
    command = shlex.split(block.replace("/data", str(data)))[1:]
    day_ms = 1_795_305_600_000  # 2026-11-22
    with closing(url_store(load_settings(), ManualClock(day_ms + 2 * DAY_MS))) as store:
        for name, at_ms in [("x", day_ms), ("y", day_ms + DAY_MS - 1), ("z", day_ms + DAY_MS)]:
            url = f"http://day.example/{name}"
            facts = {"outcome": "Fetched", "fetched_at_ms": at_ms}
            store.write_pages([page(url, at_ms, fields={"page.title": b'"T"'}, facts=facts)])

    ran = CliRunner().invoke(main, command)
    again = CliRunner().invoke(main, command)
    today = CliRunner().invoke(main, [*command[:-1], f"{datetime.now(UTC):%Y-%m-%d}"])

    assert ran.exit_code == again.exit_code == 0, ran.output + again.output
    table = duckdb.sql(
        f"SELECT url, dt::TEXT FROM read_parquet('{data}/days/*/*.parquet', hive_partitioning=true)"
    )
    assert sorted(table.fetchall()) == [
        (f"http://day.example/{name}", "2026-11-22") for name in "xy"
    ]
    assert "2 already existed" in again.output
    assert "is not over" in today.output


def test_documented_commands_export_archives(data):
    names = {path.name for path in data.iterdir()}

    assert names >= {"crawl-00000.warc.gz", "crawl-00000.cdxj", "crawl.wacz"}


def test_json_line_matches_the_page():
    (line,) = blocks(PAGE, "json")

    ((_, record),) = read_json_lines(io.BytesIO(line.encode()))

    assert not isinstance(record, BadRecord)
    assert record.fields["product.price"] == b'"19.90"'
    assert record.fields["page.title"] == b'"A lamp"'
