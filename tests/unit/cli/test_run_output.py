"""The records written by a run: selected fields, plain values and typed columns."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from aragog.cli.run_output import RunOutput, read_earlier
from aragog.errors import BadInput, ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import Settings
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from tests.support.stores import NOW_MS, body, page, store_harness
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"
RULES = Settings(extract={"a.example": {"price": "css:.price"}})


@pytest.fixture
def store():
    """Two pages: one with all kinds of values, and one with other types in the same fields."""
    opened = store_harness(MemoryTables(ManualClock(NOW_MS))).store
    a = {
        "page.title": '"Leeks – 3"'.encode(),
        "page.keywords": b'["a","b"]',
        "product.price": b'"89.90"',
        "product.rating": b'{"value":"4.5"}',
        "recipe.total_minutes": b"70",
        "site.price": b'"89"',
        "site.stock": b"7",
    }
    b = {"page.title": b'"B"', "product.price": b'"1250"', "site.stock": b'"many"'}
    opened.write_pages([page(A, fields=a), page(B, fields=b)])
    return opened


def written(store, file, fields=None, settings=None, note=""):
    output = RunOutput(file, fields, settings or Settings())
    for url in (A, B, A):
        output.add(url)
    assert output.write(store) == f"2 records in {file}{note}"
    return file


def test_json_has_the_selected_fields_with_numbers_as_numbers(store, tmp_path):
    names = ("url", "title", "price", "product.price", "recipe.total_minutes", "none")

    note = "; no page has 'none'"  # regression: a misspelled name silently gave a column of null
    lines = written(store, tmp_path / "x.jsonl", names, RULES, note).read_bytes().splitlines()

    assert lines[0] == (
        '{"url":"http://a.example/","title":"Leeks – 3","price":"89","product.price":89.90,'
        '"recipe.total_minutes":70,"none":null}'.encode()
    )
    assert orjson.loads(lines[1])["product.price"] == 1250


def test_default_fields_are_those_of_the_rules_or_else_all(store, tmp_path):
    rules = written(store, tmp_path / "rules.jsonl", settings=RULES).read_bytes().splitlines()
    everything = written(store, tmp_path / "all.jsonl").read_bytes().splitlines()

    assert orjson.loads(rules[0]) == {"url": A, "price": "89", "stock": 7}
    assert orjson.loads(everything[0])["product.rating"] == {"value": "4.5"}
    assert {"page.title", "site.price", "recipe.total_minutes"} <= orjson.loads(
        everything[0]
    ).keys()


def test_parquet_has_a_typed_column_per_field(store, tmp_path):
    names = ("url", "title", "keywords", "product.price", "product.rating", "recipe.total_minutes",
             "stock", "none")  # fmt: skip

    note = "; no page has 'none'"
    table = pq.read_table(written(store, tmp_path / "x.parquet", names, RULES, note))

    types = dict(zip(table.schema.names, map(str, table.schema.types), strict=True))
    assert types == {
        "url": "string", "title": "string", "keywords": "list<element: string>",
        "product.price": "double", "product.rating.value": "string", "recipe.total_minutes": "int64",
        "stock": "string", "none": "string",
    }  # fmt: skip
    first, second = table.to_pylist()
    assert first["product.price"] == 89.9
    assert first["keywords"] == ["a", "b"]
    assert first["product.rating.value"] == "4.5"
    assert (first["stock"], second["stock"]) == ("7", "many")


def test_file_is_replaced_once_its_records_are_complete(store, tmp_path):
    file = tmp_path / "x.jsonl.gz"
    file.write_bytes(b"")

    written(store, file)

    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl.gz"]


NAMES = [
    "x.jsonl", "x.jsonl.zst", "x.json", "x.json.gz", "x.csv", "x.csv.zst", "x.parquet", "x.sqlite",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_pages_found_only_in_the_earlier_file_keep_their_records(store, tmp_path, name):
    gone = "http://gone.example/"
    store.write_pages([page(A, content=body("a")), page(gone, content=body("gone"))])
    first = RunOutput(tmp_path / name, ("url", "title"), Settings())
    for url in (A, gone):
        first.add(url)
    first.write(store)
    store.takedowns.take_down(url=gone)

    second = RunOutput(tmp_path / name, ("url", "title"), Settings())
    second.add(B)
    message = second.write(store)

    assert read_earlier(tmp_path / name) == (2, {A, B})
    assert message.endswith(", 1 of them from the earlier file only")


@pytest.mark.parametrize("name", NAMES)
def test_file_without_urls_is_not_replaced_by_a_shorter_one(store, tmp_path, name):
    file = tmp_path / name
    written(store, file, ("title",))
    before = file.read_bytes()

    shorter = RunOutput(file, ("title",), Settings())
    shorter.add(A)
    message = shorter.write(store)

    other = tmp_path / name.replace("x", "x-2")
    assert file.read_bytes() == before
    assert (read_earlier(other).records, f"1 records in {other}" in message) == (1, True)
    written(store, file, ("title",))  # as many records as before


def test_file_not_written_by_a_run_is_not_replaced(store, tmp_path):
    file = tmp_path / "x.jsonl.gz"
    file.write_text("as it was")

    output = RunOutput(file, None, Settings())
    output.add(A)
    output.write(store)

    assert file.read_text() == "as it was"
    assert read_earlier(tmp_path / "x-2.jsonl.gz").urls == {A}


def test_main_text_can_be_selected(store, tmp_path):
    html = b"<html><title>T</title><article>" + b"<p>Leeks need time to grow.</p>" * 20
    content = ContentWrite(compress(html), "zstd", len(html), {"content_type": "text/html"})
    store.write_pages([page(A, content=content)])
    file = tmp_path / "x.jsonl"

    output = RunOutput(file, ("url", "page.markdown", "text"), Settings())
    output.add(A)

    assert output.write(store) == f"1 records in {file}"
    row = orjson.loads(file.read_bytes())
    assert "Leeks need time" in row["page.markdown"]
    assert "Leeks need time" in row["text"]


def test_unwritable_file_is_refused_before_anything_is_fetched(tmp_path):
    for name in ("x", "x.xlsx", "x.parquet.gz", "x.gz"):
        with pytest.raises(BadInput, match=r"use \.jsonl"):
            RunOutput(tmp_path / name, None, Settings())
    for name in ("x.parquet", "x.json"):
        with pytest.raises(BadInput, match="cannot be appended to"):
            RunOutput(tmp_path / name, None, Settings(), append=True)
    with pytest.raises(ConfigError, match="does not exist or cannot be written"):
        RunOutput(Path("/nowhere/x.jsonl"), None, Settings())


def test_two_earlier_urls_of_one_page_give_one_record(store, tmp_path):
    store.write_pages([page(url, content=body(url)) for url in (A, B)])
    file = written(store, tmp_path / "x.jsonl", ("url",))
    spelling = b'{"url":"http://A.example/#top"}\n'
    file.write_bytes(file.read_bytes() + spelling)

    text = RunOutput(file, ("url",), Settings()).write(store)

    assert text == f"2 records in {file}, 2 of them from the earlier file only"
    urls = [orjson.loads(line)["url"] for line in file.read_bytes().splitlines()]
    assert sorted(urls) == [A, B]


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.csv", "x.csv.zst", "x.sqlite"])
def test_appending_keeps_the_earlier_records(store, tmp_path, name):
    for url in (A, B):
        output = RunOutput(str(tmp_path / name), ("url", "title"), Settings(), append=True)
        output.add(url)
        assert output.write(store) == f"1 records in {tmp_path / name}"

    assert read_earlier(tmp_path / name) == (2, {A, B})


CARDS = Settings(
    extract={"a.example": {"cards": {"each": "css:.card", "fields": {"sku": "css:.sku"}}}}
)


def test_page_fields_give_page_rows_even_if_item_kinds_exist(store, tmp_path):
    """Regression: they silently became empty item columns."""
    lines = written(store, tmp_path / "x.jsonl", ("url", "product.price"), CARDS).read_bytes()

    assert orjson.loads(lines.splitlines()[0]) == {"url": A, "product.price": 89.90}


def test_field_that_no_item_has_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"items of cards have no field 'skew'; known: .*sku"):
        RunOutput(tmp_path / "x.csv", ("sku", "skew"), CARDS)
    with pytest.raises(BadInput, match="'nonsense'"):
        RunOutput(tmp_path / "x.csv", ("nonsense",), CARDS, items=())
