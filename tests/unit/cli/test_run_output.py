"""The records that a run writes: chosen fields, plain values, typed columns."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from aragog.cli.run_output import RunOutput
from aragog.clock import ManualClock
from aragog.errors import BadInput, ConfigError
from aragog.settings import Settings
from aragog.zen.tables.memory import MemoryTables
from tests.support.stores import NOW_MS, page, stand

A, B = "http://a.example/", "http://b.example/"
RULES = Settings(extract={"a.example": {"price": "css:.price"}})


@pytest.fixture
def store():
    """Two pages: one with all kinds of values, one with other kinds of the same fields."""
    opened = stand(MemoryTables(ManualClock(NOW_MS))).store
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


def written(store, file, fields=None, settings=None, says=""):
    output = RunOutput(file, fields, settings or Settings())
    for url in (A, B, A):
        output.add(url)
    assert output.write(store) == f"2 records in {file}{says}"
    return file


def test_json_has_chosen_fields_with_numbers_as_numbers(store, tmp_path):
    names = ("url", "title", "price", "product.price", "recipe.total_minutes", "none")

    says = "; no page has 'none'"  # a misspelled name gave a column of null without a word
    lines = written(store, tmp_path / "x.jsonl", names, RULES, says).read_bytes().splitlines()

    assert lines[0] == (
        '{"url":"http://a.example/","title":"Leeks – 3","price":"89","product.price":89.90,'
        '"recipe.total_minutes":70,"none":null}'.encode()
    )
    assert orjson.loads(lines[1])["product.price"] == 1250


def test_without_names_the_fields_are_those_of_the_rules_else_all(store, tmp_path):
    rules = written(store, tmp_path / "rules.jsonl", settings=RULES).read_bytes().splitlines()
    everything = written(store, tmp_path / "all.jsonl").read_bytes().splitlines()

    assert orjson.loads(rules[0]) == {"url": A, "price": "89", "stock": 7}
    assert orjson.loads(everything[0])["product.rating"] == {"value": "4.5"}
    assert {"page.title", "site.price", "recipe.total_minutes"} <= orjson.loads(
        everything[0]
    ).keys()


def test_parquet_has_a_typed_column_for_each_field(store, tmp_path):
    names = ("url", "title", "keywords", "product.price", "product.rating", "recipe.total_minutes",
             "stock", "none")  # fmt: skip

    says = "; no page has 'none'"
    table = pq.read_table(written(store, tmp_path / "x.parquet", names, RULES, says))

    types = dict(zip(table.schema.names, map(str, table.schema.types), strict=True))
    assert types == {
        "url": "string", "title": "string", "keywords": "list<element: string>",
        "product.price": "double", "product.rating": "string", "recipe.total_minutes": "int64",
        "stock": "string", "none": "string",
    }  # fmt: skip
    first, second = table.to_pylist()
    assert first["product.price"] == 89.9
    assert first["keywords"] == ["a", "b"]
    assert orjson.loads(first["product.rating"]) == {"value": "4.5"}
    assert (first["stock"], second["stock"]) == ("7", "many")


def test_a_file_is_replaced_when_its_records_are_complete(store, tmp_path):
    file = tmp_path / "x.jsonl.gz"
    file.write_text("as it was")

    written(store, file)

    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl.gz"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_fetched(tmp_path):
    with pytest.raises(BadInput, match=r"name it \.jsonl"):
        RunOutput(tmp_path / "x.csv", None, Settings())
    with pytest.raises(ConfigError, match="its folder does not exist"):
        RunOutput(Path("/nowhere/x.jsonl"), None, Settings())
