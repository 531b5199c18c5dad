"""WARC files with their indexes, and WACZ files made from them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest
from click.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from aragog.addons.wacz.export import export_wacz
from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.fetch_record.outcome import FetchRecord
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from aragog.transfer.import_export import NodeSelection
from aragog.transfer.warc_export import _network, export_warc, index_path
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

URLS = [f"https://www.a.example/{name}" for name in ("b", "a?z=1&a=2", "")]
FETCH = FetchRecord(
    url="", outcome="Fetched", status=200, fetched_at_ms=NOW_MS, address="192.0.2.1", tls="TLSv1.3",
    headers=(("Content-Type", "text/html; charset=utf-8"),),
)  # fmt: skip


def fetched(url, body=b"<html>"):
    meta = {"status": "200", "fetched_at_ms": str(NOW_MS), "content_type": "text/html"}
    return page(
        url,
        fields={"page.title": json.dumps(f"Title of {url}").encode()},
        report=replace(FETCH, url=url),
        content=ContentWrite(compress(body), length_bytes=len(body), meta=meta),
    )


@pytest.fixture
def its():
    """A store of three fetched pages, two with the same body, and content without a fetch."""
    opened = store_harness(MemoryTables(ManualClock(NOW_MS)))
    opened.store.write_pages(
        [fetched(url, b"same" if "b" in url[-1:] or "z" in url else b"other") for url in URLS]
    )
    opened.store.put_content("http://b.example/", b"plain", {"content_type": "text/plain"})
    return opened


def captures(text):
    return [json.loads(line.split(" ", 2)[2]) for line in text.splitlines()]


def record_at(file, capture):
    begin = int(capture["offset"])
    part = io.BytesIO(file[begin : begin + int(capture["length"])])
    (record,) = ArchiveIterator(part)
    return record


def test_index_of_a_file_leads_to_every_record(its, tmp_path):
    report = export_warc(its.store.zen, its.store.bodies, tmp_path / "x")

    (path,) = report.files
    text = index_path(path).read_text()
    assert text.splitlines() == sorted(text.splitlines())
    found = captures(text)
    assert len(found) == report.records == 4
    for capture in found:
        record = record_at(path.read_bytes(), capture)
        assert record.rec_headers["WARC-Target-URI"] == capture["url"]
        assert record.rec_headers["WARC-Payload-Digest"] == capture["digest"]
    assert sorted((each["mime"], each.get("status")) for each in found) == [
        ("text/html", "200"), ("text/html", "200"), ("text/plain", None), ("warc/revisit", "200"),
    ]  # fmt: skip


@pytest.mark.parametrize(("version", "name"), [("1.1", "http/1.1"), ("2", "h2")])
def test_record_names_the_http_version(version, name):
    meta = {"address": "", "http_version": version}

    assert _network(meta) == [("WARC-Protocol", name)]


def test_record_names_protocols_and_address_of_its_fetch(its, tmp_path):
    (path,) = export_warc(its.store.zen, its.store.bodies, tmp_path / "x").files

    network = set()
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            headers = [(name, value) for name, value in record.rec_headers.headers
                       if name in ("WARC-Protocol", "WARC-IP-Address")]  # fmt: skip
            network.add((record.rec_type, tuple(headers)))

    of_fetch = (
        ("WARC-IP-Address", "192.0.2.1"),
        ("WARC-Protocol", "http/1.1"),
        ("WARC-Protocol", "tls/1.3"),
    )
    assert network == {
        ("warcinfo", ()), ("response", of_fetch), ("revisit", of_fetch), ("resource", ()),
    }  # fmt: skip


def test_wacz_has_files_index_pages_and_their_hashes(its, tmp_path):
    report = export_wacz(its.store.zen, its.store.bodies, tmp_path / "x.wacz")

    assert [path.name for path in tmp_path.iterdir()] == ["x.wacz"]
    with zipfile.ZipFile(tmp_path / "x.wacz") as wacz:
        package = json.loads(wacz.read("datapackage.json"))
        for resource in package["resources"]:
            body = wacz.read(resource["path"])
            assert resource["hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
            assert resource["bytes"] == len(body)
        digest = hashlib.sha256(wacz.read("datapackage.json")).hexdigest()
        assert json.loads(wacz.read("datapackage-digest.json"))["hash"] == f"sha256:{digest}"
        header, *pages = map(json.loads, wacz.read("pages/pages.jsonl").splitlines())
        index = wacz.read("indexes/index.cdx.gz")
        meta, *blocks = wacz.read("indexes/index.idx").decode().splitlines()
        files = {name: wacz.read(name) for name in wacz.namelist() if name.startswith("archive/")}
        assert wacz.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED

    assert header["format"] == "json-pages-1.0"
    assert {(each["url"], each["title"]) for each in pages} == {(u, f"Title of {u}") for u in URLS}
    assert meta.startswith("!meta 0 {")
    (place,) = captures("\n".join(blocks))
    block = index[place["offset"] : place["offset"] + place["length"]]
    found = captures(gzip.decompress(block).decode())
    assert len(found) == report.records
    for capture in found:
        record = record_at(files[f"archive/{capture['filename']}"], capture)
        assert record.rec_headers["WARC-Target-URI"] == capture["url"]


def test_incomplete_wacz_is_not_kept(its, tmp_path):
    def broken():
        yield from ()
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        export_wacz(
            its.store.zen, its.store.bodies, tmp_path / "x.wacz", NodeSelection(nodes=broken())
        )

    assert list(tmp_path.iterdir()) == []


def test_command_writes_a_wacz(tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    with closing(url_store(load_settings())) as store:
        store.write_pages([fetched(URLS[0])])

    ran = CliRunner().invoke(main, ["store", "export", str(tmp_path / "x.wacz")])

    assert ran.exit_code == 0, ran.output
    assert zipfile.is_zipfile(tmp_path / "x.wacz")
