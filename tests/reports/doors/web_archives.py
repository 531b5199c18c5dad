"""
WARC, CDX and WACZ: read, written and indexed.

Input, one of: `records` of a WARC file (tables of `type`, `fields` (lines), `block`; `length` sets
a different Content-Length, `after` is the text after the block) with `gzip` = "each", "whole" or
""; `warc`, bytes; `cdx`, bytes; `surt`, a URL; `export`, pages (tables of `url`, `body`, `headers`,
`type`) that are written as WARC and WACZ and read again with warcio and zipfile.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from aragog.crawl.fetcher.recorded import RecordedLimits
from aragog.transfer.captures import read_captures
from aragog.transfer.json_lines import BadRecord
from aragog.transfer.warc_import import read_warc
from aragog.urlstore.cdxj import surt_key
from tests.reports.doors._bytes import data


def _record(each):
    block = data(each.get("block", ""))
    lines = [each.get("version", "WARC/1.0")]
    if "type" in each:
        lines.append(f"WARC-Type: {each['type']}")
    lines += each.get("fields", [])
    if each.get("length", 0) is not None and each.get("length") != "none":
        lines.append(f"Content-Length: {each.get('length', len(block))}")
    eol = each.get("eol", "\r\n")
    return (eol.join(lines) + eol * 2).encode("utf-8") + block + data(each.get("after", "\r\n\r\n"))


def _warc(given):
    if "warc" in given:
        return data(given["warc"])
    records = [_record(each) for each in given["records"]]
    kind = given.get("gzip", "")
    if kind == "each":
        made = b"".join(map(gzip.compress, records))
    elif kind == "zstd":
        import zstandard

        made = b"".join(map(zstandard.compress, records))
    else:
        made = b"".join(records)
        made = gzip.compress(made) if kind == "whole" else made
    return data(given.get("before", "")) + made[: given.get("cut")] + data(given.get("end", ""))


def answer(given):
    if "surt" in given:
        return {"key": surt_key(given["surt"])}
    if "cdx" in given:
        return _captures(data(given["cdx"]))
    if "export" in given:
        return _exported(given)
    return _pages(_warc(given), given)


def _pages(file, given):
    pages, bad = [], 0
    for _, page in read_warc(
        io.BytesIO(file), RecordedLimits(65_536, 10_000_000, given.get("most", 1_000_000))
    ):
        if isinstance(page, BadRecord):
            bad += 1
        else:
            pages.append(page)
    return {
        "urls": [p.fetch.url for p in pages],
        "bodies": [p.body.decode(given.get("read", "utf-8"), "replace") for p in pages],
        "at": [
            datetime.fromtimestamp(p.fetch.fetched_at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for p in pages
        ],
        "types": [p.fetch.content_type for p in pages],
        "status": [p.fetch.status for p in pages],
        "truncated": [p.fetch.truncated for p in pages],
        "addresses": [p.fetch.address for p in pages],
        "bad": bad,
        "is_bad": bad > 0,
        "headers": [[list(h) for h in p.fetch.headers] for p in pages],
    }


def _captures(file):
    records = [r for _, r in read_captures(io.BytesIO(file))]
    good = [r for r in records if not isinstance(r, BadRecord)]
    return {
        "urls": [r.url for r in good],
        "bad": len(records) - len(good),
        "at": [json.loads(r.fields["archive.captured_at"]) for r in good],
        "mimes": [
            json.loads(r.fields["archive.mime"]) if "archive.mime" in r.fields else "" for r in good
        ],
        "digests": [
            json.loads(r.fields["archive.digest"]) if "archive.digest" in r.fields else ""
            for r in good
        ],
    }


def _harness(pages):
    from aragog.fetch_record.outcome import FetchRecord
    from aragog.runtime.clock import ManualClock
    from aragog.urlstore.compression import compress
    from aragog.urlstore.records import ContentWrite
    from tests.support.stores import NOW_MS, page, store_harness
    from zengraph.tables.memory import MemoryTables

    opened = store_harness(MemoryTables(ManualClock(NOW_MS)))
    writes = []
    for each in pages:
        body = data(each["body"])
        headers = tuple(
            line.partition(": ")[::2] for line in each.get("headers", ["Content-Type: text/html"])
        )
        kind = {n.lower(): v for n, v in headers}.get("content-type", "")
        report = FetchRecord(
            url=each["url"],
            outcome="Fetched",
            status=each.get("status", 200),
            fetched_at_ms=NOW_MS,
            final_url=each["url"],
            headers=headers,
            address="192.0.2.1",
            content_type=kind,
        )
        meta = {
            "status": str(each.get("status", 200)),
            "fetched_at_ms": str(NOW_MS),
            "content_type": kind,
        }
        title = each.get("title", "A title")
        writes.append(
            page(
                each["url"],
                fields={"page.title": json.dumps(title).encode()},
                report=report,
                content=ContentWrite(compress(body), length_bytes=len(body), meta=meta),
            )
        )
    opened.store.write_pages(writes)
    return opened


def _exported(given):
    from warcio.archiveiterator import ArchiveIterator

    from aragog.addons.wacz.export import export_wacz
    from aragog.transfer.warc_export import export_warc, index_path

    its = _harness(given["export"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = export_warc(its.store.zen, its.store.bodies, folder / "x")
        (path,) = report.files
        records = []
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests=True):
                if record.rec_type == "warcinfo":
                    continue
                body = record.content_stream().read()
                got = {
                    "type": record.rec_type,
                    "url": record.rec_headers["WARC-Target-URI"],
                    "body": body.decode("utf-8", "replace"),
                    "status": record.http_headers.get_statuscode() if record.http_headers else "",
                    "headers": [list(h) for h in record.http_headers.headers]
                    if record.http_headers
                    else [],
                    "digest": "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()
                    == record.rec_headers.get_header("WARC-Payload-Digest")
                    if record.rec_type != "revisit"
                    else True,
                    "checked": record.digest_checker.passed,
                }
                records.append(got)
        index = index_path(path).read_text()
        whole = path.read_bytes()
        leads = True
        for line in index.splitlines():
            capture = json.loads(line.split(" ", 2)[2])
            begin = int(capture["offset"])
            (record,) = ArchiveIterator(io.BytesIO(whole[begin : begin + int(capture["length"])]))
            leads &= record.rec_headers["WARC-Target-URI"] == capture["url"]
        back = _pages(whole, given)
        wacz = export_wacz(its.store.zen, its.store.bodies, folder / "x.wacz") and zipfile.ZipFile(
            folder / "x.wacz"
        )
        package = json.loads(wacz.read("datapackage.json"))
        pages = [
            json.loads(line) for line in wacz.read("pages/pages.jsonl").splitlines() if line.strip()
        ]
        names = wacz.namelist()
        return {
            "types": [r["type"] for r in records],
            "urls": [r["url"] for r in records],
            "bodies": [r["body"] for r in records],
            "statuses": [r["status"] for r in records],
            "header_names": [[h[0].lower() for h in r["headers"]] for r in records],
            "header_values": [[h[1] for h in r["headers"]] for r in records],
            "digests": all(r["digest"] and r["checked"] is not False for r in records),
            "keys": [line.split(" ", 1)[0] for line in index.splitlines()],
            "index_leads": leads,
            "sorted": index.splitlines() == sorted(index.splitlines(), key=str.encode),
            "back_urls": back["urls"],
            "back_bodies": back["bodies"],
            "back_types": back["types"],
            "back_bad": back["bad"],
            "stored": [
                i.compress_type for i in wacz.infolist() if i.filename.startswith("archive/")
            ]
            == [0] * sum(n.startswith("archive/") for n in names),
            "index_names": sorted(n for n in names if n.startswith("indexes/")),
            "has_pages": "pages/pages.jsonl" in names,
            "page_titles": [p.get("title") for p in pages[1:]],
            "page_urls": [p.get("url") for p in pages[1:]],
            "page_format": pages[0].get("format"),
            "hashes": all(
                r["hash"] == "sha256:" + hashlib.sha256(wacz.read(r["path"])).hexdigest()
                and r["bytes"] == len(wacz.read(r["path"]))
                for r in package["resources"]
            ),
            "listed": sorted(r["path"] for r in package["resources"])
            == sorted(n for n in names if not n.startswith("datapackage")),
            "profile": package.get("profile"),
        }
