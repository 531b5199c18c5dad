"""`aragog store import` of Nutch files and web archives."""

import json
import time
from contextlib import closing

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.pages.preferences import PURPOSES
from aragog.settings import load_settings
from aragog.transfer.archive_import import import_archive
from aragog.transfer.json_lines import BadRecord
from tests.support.documented import blocks
from tests.unit.addons.nutch.test_crawldb import CSV, NOON_MS, TEXT
from tests.unit.transfer.test_captures import ELEVEN
from tests.unit.transfer.test_warc_import import AT_MS, response, warc

LAMP = b"""<title>Lamp</title><link rel=canonical href="/lamp"><a href="/chair">Chair</a>
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product",
"name": "Brass lamp", "offers": {"price": "89.90", "priceCurrency": "EUR"}}</script>"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, ["store", *map(str, arguments)])
    assert ran.exit_code == code, ran.output
    return ran.output


def stored(url):
    with closing(url_store(load_settings())) as store:
        return store.get(url)


def test_pages_of_a_warc_file_are_stored_as_if_fetched_then(tmp_path):
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(warc(response("http://shop.example/lamp?utm_source=x", body=LAMP)))

    assert "1 written, 0 stored from a later fetch, 0 bad, up to record 1" in run("import", file)

    record = stored("http://shop.example/lamp")
    assert json.loads(record.fields["product.price"]) == "89.90"
    assert record.facts["fetched_at_ms"] == AT_MS
    with closing(url_store(load_settings())) as store:
        assert store.content("http://shop.example/lamp").body == LAMP
        outlinks = [link.url for link in store.links.outlinks("http://shop.example/lamp").items]
    assert outlinks == ["http://shop.example/chair"]


@pytest.mark.parametrize("name", ["pages.warc.gz", "pages.jsonl"])
def test_import_takes_at_least_the_time_of_its_rate(tmp_path, name):
    urls = [f"http://shop.example/lamps/{number}" for number in range(6)]
    file = tmp_path / name
    if name.endswith(".jsonl"):
        file.write_text("".join(json.dumps({"url": url}) + "\n" for url in urls))
    else:
        file.write_bytes(b"".join(warc(response(url, body=LAMP)) for url in urls))

    started_s = time.monotonic()
    assert "6 written" in run("import", "--max-per-second", 20, file)
    assert time.monotonic() - started_s >= 5 / 20

    assert "--max-per-second" in run("import", "--max-per-second", 0, file, code=2)


def test_allowed_purposes_of_an_archived_page_are_unknown(tmp_path):
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(warc(response("http://shop.example/lamp", body=LAMP)))
    run("import", file)

    for purpose in PURPOSES:
        assert "0 records" in run("export", tmp_path / f"{purpose}.jsonl", "--for", purpose)
    assert "1 records" in run("export", tmp_path / "all.jsonl")


def test_importing_the_same_or_an_older_page_changes_nothing(tmp_path):
    new, old = tmp_path / "new.warc.gz", tmp_path / "old.warc"
    new.write_bytes(warc(response("http://shop.example/lamp", body=LAMP)))
    older = warc(response("http://shop.example/lamp", body=b"<title>Old</title>"), gzipped=False)
    old.write_bytes(older.replace(b"2026-01-01T", b"2020-01-01T"))

    run("import", new)
    before = stored("http://shop.example/lamp").fields
    assert "1 stored from a later fetch" in run("import", old)

    assert stored("http://shop.example/lamp").fields == before


def test_export_is_read_back(tmp_path, monkeypatch):
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(warc(response("http://shop.example/lamp", body=LAMP)))
    run("import", file)
    before = stored("http://shop.example/lamp")
    run("export", tmp_path / "x.warc")
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "other"))

    run("import", tmp_path / "x.warc-00000.warc.gz")

    again = stored("http://shop.example/lamp")
    assert again.fields == before.fields
    assert again.content_hash == before.content_hash


@pytest.mark.parametrize("dump", [TEXT, CSV])
def test_urls_of_nutch_keep_their_next_fetch(tmp_path, dump):
    file = tmp_path / "part-r-00000"
    file.write_text(dump)

    output = run("import", file, "--format", "nutch", code=4)

    url = "http://a.example/" if dump == TEXT else "http://a.example/?a,b"
    assert f"{file}:" in output
    assert json.loads(stored(url).fields["nutch.status"]) == "db_fetched"
    assert stored(url).due_at_ms == NOON_MS


def test_index_entries_become_urls_with_their_latest_capture(tmp_path):
    file = tmp_path / "index.cdx"
    file.write_text(ELEVEN + ELEVEN.splitlines()[1].replace("2026", "2020") + "\n")

    assert "2 written, 0 bad" in run("import", file, "--due")

    assert stored("http://a.example/").fields["archive.captured_at"] == b'"2026-01-01T00:00:00Z"'
    assert stored("http://a.example/old") is None


def test_warc_file_has_no_due_time(tmp_path):
    file = tmp_path / "x.warc"
    file.write_bytes(warc(response()))

    assert "--due does not work with warc" in run("import", file, "--due", code=2)


def test_documented_commands_import_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "part-r-00000").write_text(TEXT.partition("http://a.example/broken")[0])
    (tmp_path / "segment.warc.gz").write_bytes(warc(response("http://shop.example/", body=LAMP)))
    (tmp_path / "index.cdxj").write_text(ELEVEN)
    (block,) = blocks("docs/coming-from.md#nutch", "sh")

    for command in block.splitlines():
        if command.startswith("aragog store "):
            run(*command.split()[2:])

    assert all(map(stored, ["http://a.example/new", "http://shop.example/", "http://a.example/"]))


def test_bad_record_does_not_stop_the_others():
    with closing(url_store(load_settings())) as store:
        problems = []
        report = import_archive(
            [(1, BadRecord("is cut off"))], store, load_settings(),
            on_problem=lambda *problem: problems.append(problem),
        )  # fmt: skip

    assert (report.written, report.problems, problems) == (0, 1, [(1, "is cut off")])


def test_capture_in_the_future_does_not_freeze_a_page(tmp_path):
    """A WARC-Date of 2099 was stored, and no later fetch replaced the page."""
    capture = warc(response("http://shop.example/", body=LAMP), gzipped=False)
    file = tmp_path / "x.warc"
    file.write_bytes(capture.replace(b"WARC-Date: 2026", b"WARC-Date: 2099"))

    output = run("import", file, code=4)

    assert "WARC-Date" in output
    assert "more than a minute ahead of the store's clock" in output
    assert "0 written" in output
