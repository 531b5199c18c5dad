"""Continued exports, and copies of a damaged store, on the command line."""

import csv
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.cli.run_output import RunOutput
from aragog.settings import load_settings
from aragog.transfer.json_lines import open_to_read, read_json_lines
from aragog.transfer.parquet import read_parquet
from aragog.transfer.rows import read_urls
from aragog.urlstore.content import open_content
from aragog.urlstore.s3_connection import s3_client

URLS = [f"http://a.example/{number}" for number in range(5)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of five pages with content."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    opened = url_store(load_settings())
    for url in URLS:
        opened.put_content(url, url.encode(), {})
    yield opened
    opened.close()


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, ["store", *map(str, arguments)])
    assert ran.exit_code == code, ran.output
    return ran.output


def cursor_of(output):
    return output.rpartition("--cursor ")[2].strip()


def test_parquet_file_is_not_overwritten_by_the_rest_of_its_export(store, tmp_path):
    file, rest = tmp_path / "x.parquet", tmp_path / "rest.parquet"
    cursor = cursor_of(run("export", file, "--limit", 3))

    assert "resume in another file" in run("export", file, "--cursor", cursor, code=2)
    run("export", rest, "--cursor", cursor)

    assert {record.url for part in (file, rest) for _, record in read_parquet(part)} == {*URLS}


def test_fields_that_no_page_has_are_reported(store, tmp_path):
    """A misspelled name gave an export without fields, without a warning."""
    store.put(URLS[0], {"team.score": b"7"})

    summary = run("export", tmp_path / "x.jsonl", "--fields", "team.score,team.scor")

    assert summary == "5 records; no page has 'team.scor'\n"


def test_field_without_its_prefix_is_suggested_with_it(store, tmp_path, monkeypatch):
    """`aragog run` accepts short names; an export had an empty column."""
    settings = tmp_path / "aragog.toml"
    settings.write_text('[extract."a.example"]\nauthor = "css:.author"\n')
    monkeypatch.setenv("ARAGOG_SETTINGS", str(settings))

    summary = run("export", tmp_path / "x.csv", "--fields", "title,author,score")

    fields = "'title' or 'author' or 'score'; use page.title, site.author"
    assert summary == f"5 records; no page has {fields}\n"


def test_crawl_without_pages_is_named(store, tmp_path):
    """A misspelled crawl gave an empty file, without a warning."""
    summary = run("export", tmp_path / "x.jsonl", "--crawl", "docs")

    assert summary == "0 records; no stored page belongs to the crawl 'docs'\n"


def test_dash_is_standard_output_with_only_records(store):
    """It was a file of that name."""
    ran = subprocess.run(
        [sys.executable, "-m", "aragog.cli", "store", "export", "-"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert {json.loads(line)["url"] for line in ran.stdout.splitlines()} == {*URLS}
    assert ran.stderr == "5 records\n"
    assert "only JSON Lines can be written to standard output" in run(
        "export", "-", "--format", "warc", code=2
    )


def test_continued_export_numbers_its_warc_files_onward(store, tmp_path):
    stem = tmp_path / "x.warc"
    cursor = cursor_of(run("export", stem, "--limit", 3))

    run("export", stem, "--cursor", cursor)

    names = sorted(path.name for path in tmp_path.glob("x.warc*"))
    assert names == [
        "x.warc-00000.cdxj", "x.warc-00000.warc.gz", "x.warc-00001.cdxj", "x.warc-00001.warc.gz"
    ]  # fmt: skip


def test_export_of_a_host_has_no_cursor_and_refuses_one(store, tmp_path):
    """With the cursor of a walk over all URLs, the same URLs were exported again."""
    file = tmp_path / "x.jsonl"

    assert "--cursor" not in run("export", file, "--host", "a.example", "--limit", 3)
    assert "omit --host" in run(
        "export", file, "--host", "a.example", "--cursor", "00" * 16, code=2
    )


def test_copy_needs_another_store(store, tmp_path):
    """It read each row from the store, wrote it back, and reported a copy."""
    (tmp_path / "same.toml").write_text(f'data_dir = "{tmp_path / "x" / ".." / "data"}"\n')

    assert "same.toml: is this data folder's own store" in run(
        "copy", tmp_path / "same.toml", code=2
    )


def test_copy_skips_a_damaged_object_and_copies_the_others(store, tmp_path):
    (tmp_path / "there.toml").write_text(f'data_dir = "{tmp_path / "there"}"\n')
    settings = load_settings()
    as_objects = url_store(replace(settings, content=replace(settings.content, layout="objects")))
    for number in range(3):
        as_objects.put_content(f"http://a.example/{number}", b"body")
    as_objects.close()
    here = open_content(settings.content, settings.data_dir)
    damaged, *_ = sorted(here.keys(""))
    path = next((tmp_path / "data").rglob(damaged))
    path.write_bytes(path.read_bytes()[:-1])

    output = run("copy", tmp_path / "there.toml", code=4)

    assert f"content {damaged}:" in output
    there = open_content(settings.content, tmp_path / "there")
    assert {*there.keys("")} == {*here.keys("")} - {damaged}


def test_export_has_the_requested_main_texts(store, tmp_path):
    url, sentence = (
        "http://a.example/article",
        "A page has one long sentence, and it is about leeks.",
    )
    body = f"<html><nav>Menu</nav><article><p>{sentence} {sentence.upper()}</p></article>"
    store.put_content(url, body.encode(), {"content_type": "text/html"})

    for name in ("x.jsonl", "x.parquet"):
        run("export", tmp_path / name, "--fields", "page.text,page.title")
        run("export", tmp_path / f"plain-{name}")
    run("export-parts", tmp_path / "parts", "--parts", 2, "--fields", "page.markdown")

    lines = read_json_lines((tmp_path / "x.jsonl").open("rb"))
    text = {record.url: record.fields for _, record in lines if record.fields}
    assert sentence in json.loads(text[url]["page.text"])
    assert "Menu" not in json.loads(text[url]["page.text"])
    rows = {record.url: record.fields for _, record in read_parquet(tmp_path / "x.parquet")}
    assert rows[url] == text[url]
    assert not any("page.text" in r.fields for _, r in read_parquet(tmp_path / "plain-x.parquet"))
    parts = [open_to_read(path) for path in (tmp_path / "parts").iterdir()]
    fields = {r.url: r.fields for part in parts for _, r in read_json_lines(part)}
    assert fields[url].keys() == {"page.markdown"}


def test_page_whose_text_exceeds_its_limits_is_exported_without_it_and_reported(
    store, tmp_path, monkeypatch
):
    monkeypatch.setenv("ARAGOG_PIPELINE__PAGE_MAX_CPU_S", "0.001")
    body = "<html><article>" + "<p>A long page has many paragraphs.</p>" * 20_000
    store.put_content(URLS[0], body.encode(), {"content_type": "text/html"})

    output = run("export", tmp_path / "x.jsonl", "--fields", "page.text")

    assert f"{URLS[0]}: the main text of {URLS[0]} cannot be extracted" in output
    records = read_json_lines((tmp_path / "x.jsonl").open("rb"))
    assert {record.url for _, record in records} == {*URLS}


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_url_can_be_requested_by_name(store, tmp_path, name):
    """`--fields url` reported that no page has it."""
    file = tmp_path / name

    output = run("export", file, "--fields", "url")

    assert "no page has" not in output
    if name.endswith("jsonl"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        rows = pq.read_table(file).to_pylist()
    assert rows
    assert all(row["url"] and not row.get("fields") for row in rows)


def test_csv_json_and_sqlite_have_one_row_per_page_with_all_digits(store, tmp_path):
    store.put(URLS[0], {"product.price": b'"19.90"', "team.note": b"cheap"})
    fields = "product.price,team.note"

    for name in ("x.csv", "x.json", "x.sqlite"):
        assert run("export", tmp_path / name, "--fields", fields) == "5 records\n"

    with (tmp_path / "x.csv").open(newline="") as stream:
        rows = {row["url"]: row for row in csv.DictReader(stream)}
    assert (rows[URLS[0]]["product.price"], rows[URLS[0]]["team.note"]) == ("19.90", "cheap")
    assert list(rows[URLS[1]]) == ["url", "canonical_url", "fetched_at_ms", *fields.split(",")]
    texts = (tmp_path / "x.json").read_text()
    assert '"product.price":19.90' in texts
    assert {row["url"] for row in json.loads(texts)} == {*URLS}
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        query = 'SELECT "product.price" FROM pages WHERE url = ?'
        assert database.execute(query, (URLS[0],)).fetchone() == (19.9,)
    assert "one row per page" in run("export", tmp_path / "x.csv", "--links", code=2)


def test_export_to_a_bucket_works(store, tmp_path, s3_server, s3_settings, monkeypatch):
    monkeypatch.setenv("ARAGOG_CONTENT__S3_ENDPOINT", s3_settings.s3_endpoint)
    monkeypatch.setenv("ARAGOG_CONTENT__S3_REGION", s3_settings.s3_region)
    place = f"s3://{s3_settings.s3_bucket}/tables/day.csv.gz"

    assert run("export", place) == "5 records\n"

    client = s3_client(s3_settings)
    client.download_file(s3_settings.s3_bucket, "tables/day.csv.gz", str(tmp_path / "day.csv.gz"))
    assert {*read_urls(tmp_path / "day.csv.gz")} == {*URLS}
    assert "must have the form s3://BUCKET/KEY" in run("export", "s3://bucket", code=2)
    assert "the bucket does not exist" in run("export", "s3://none-such/x.csv", code=1)


def test_run_file_in_a_bucket_keeps_the_pages_of_earlier_runs(store, s3_settings):
    settings = replace(load_settings(), content=s3_settings)
    place = f"s3://{s3_settings.s3_bucket}/run.jsonl"
    for url in URLS[:2]:
        output = RunOutput(place, ("url",), settings)
        output.add(url)
        summary = output.write(store)

    assert summary.startswith(f"2 records in {place}, 1 of them from the earlier file only")
