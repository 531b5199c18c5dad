"""What docs/exports.md says of exports is so: its commands, its recipes, its line of JSON."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from contextlib import closing

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from aragog.transfer.json_lines import BadRecord, read_json_lines
from tests.support.documented import blocks
from tests.support.stores import body, page

PAGE = "docs/exports.md"


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the files of the page's commands, over a store of three lamps."""
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
    for block in blocks(PAGE, "sh", "aragog store export"):
        for line in block.replace("/data", str(tmp_path)).splitlines():
            ran = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
            assert ran.exit_code == 0, ran.output
    return tmp_path


def test_duckdb_and_pandas_read_exports(data):
    out, names = io.StringIO(), {}

    with contextlib.redirect_stdout(out):
        for block in blocks(PAGE, "python"):
            exec(compile(block.replace("/data", str(data)), PAGE, "exec"), names)

    assert out.getvalue().splitlines() == [
        "[('wall', 19.9, 4.5), ('desk', 89.9, 4.5)]",
        "[(210.0,)]",
        "{'min': 19.9, 'max': 210.0}",
    ]


def test_the_page_exports_archives(data):
    names = {path.name for path in data.iterdir()}

    assert names >= {"crawl-00000.warc.gz", "crawl-00000.cdxj", "crawl.wacz"}


def test_a_line_is_as_the_page_shows_it():
    (line,) = blocks(PAGE, "json")

    ((_, record),) = read_json_lines(io.BytesIO(line.encode()))

    assert not isinstance(record, BadRecord)
    assert record.fields["product.price"] == b'"19.90"'
    assert record.fields["page.title"] == b'"A lamp"'
