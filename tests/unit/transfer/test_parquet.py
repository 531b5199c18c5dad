"""Parquet files have typed columns, and every value keeps its bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from aragog.transfer.json_lines import UrlRecord
from aragog.transfer.parquet import ParquetSink, read_parquet

A, B = "http://a.example/", "http://b.example/"
RECORDS = [
    UrlRecord(
        url=A,
        fields={
            "page.title": b'"1984"',
            "page.keywords": b'["a","b"]',
            "page.images": b'[{"url":"u","width":7}]',
            "product.price": b'"19.90"',
            "product.rating": b'{"count":7,"value":"4.5"}',
            "recipe.total_minutes": b"70",
            "article.is_free": b"false",
            "books.shelf": b'{"x":[1]}',
            "team.note": "Grüße".encode(),
            "team.raw": b"\xff",
        },
        at_ms={"page.title": 5},
    ),
    UrlRecord(url=B, fields={"product.price": b'"20"', "page.title": b"no JSON"}),
    UrlRecord(url="http://c.example/", canonical_url=A),
]


def written(path, fields=None):
    sink = ParquetSink(path, fields=fields)
    sink.write(RECORDS)
    sink.close()
    return parquet.read_table(path)


@pytest.mark.parametrize(
    "fields", [None, ["product.price", "product.rating", "page.title", "team.raw"], []]
)
def test_export_can_be_imported(tmp_path, fields):
    written(tmp_path / "x.parquet", fields)

    assert [record for _, record in read_parquet(tmp_path / "x.parquet")] == RECORDS


def test_each_field_has_a_column_of_its_type(tmp_path):
    names = [
        "page.title", "page.keywords", "page.images", "product.price", "product.price_valid_until",
        "product.rating", "recipe.total_minutes", "article.is_free", "page.app_links", "team.note",
        "product.price",
    ]  # fmt: skip

    table = written(tmp_path / "x.parquet", names)

    types = {column.name: str(column.type) for column in table.schema}
    types["page.app_links"] = types["page.app_links"].partition(" (")[0] + ">"
    image = "struct<url: string, width: int64, height: int64, alt: string>"
    rating = "struct<value: double, best: double, worst: double, count: int64, review_count: int64>"
    assert {name: types[name] for name in names} == {
        "page.title": "string", "page.keywords": "list<element: string>",
        "page.images": f"list<element: {image}>", "product.price": "double",
        "product.price_valid_until": "date32[day]", "product.rating": rating,
        "recipe.total_minutes": "int64", "article.is_free": "bool",
        "page.app_links": "map<string, string>", "team.note": "string",
    }  # fmt: skip
    first, second, alias = table.to_pylist()
    assert first["product.price"] == 19.9
    assert first["product.rating"]["value"] == 4.5
    assert first["page.keywords"] == ["a", "b"]
    assert first["team.note"] == "Grüße"
    assert (second["product.price"], second["page.title"]) == (20.0, None)
    assert alias["product.price"] is None


def test_all_known_fields_get_columns_by_default_and_others_keep_their_bytes(tmp_path):
    first, *_ = written(tmp_path / "x.parquet").to_pylist()

    assert first["page.title"] == "1984"
    assert first["recipe.cook_minutes"] is None
    others = dict(first["fields"])
    assert others["books.shelf"] == b'{"x":[1]}'
    # A double cannot distinguish 19.90 from 19.9.
    assert others["product.price"] == b'"19.90"'
    assert others.keys() == {"books.shelf", "team.note", "team.raw", "product.price"}


def test_exports_of_earlier_versions_can_be_imported(tmp_path):
    fields = {"product.price": b'"19.90"', "page.title": b'"1984"'}
    table = pa.table(
        {
            "url": pa.array([A]),
            "fields": pa.array([list(fields.items())], pa.map_(pa.string(), pa.binary())),
            "at_ms": pa.array([[("page.title", 5)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    parquet.write_table(table, tmp_path / "x.parquet")

    ((_, record),) = read_parquet(tmp_path / "x.parquet")

    assert record == UrlRecord(url=A, fields=fields, at_ms={"page.title": 5})


def test_columns_of_other_programs_become_typed_fields(tmp_path):
    table = written(tmp_path / "x.parquet").select(["url", "product.price", "page.title"])
    parquet.write_table(table.replace_schema_metadata(None), tmp_path / "y.parquet")

    (_, first), (_, second), _ = read_parquet(tmp_path / "y.parquet")

    assert first.fields == {"product.price": b'"19.9"', "page.title": b'"1984"'}
    assert second.fields == {"product.price": b'"20"'}
