"""
Exports in parts: together they contain the store, and the next run completes an interrupted one.
"""

import os
import signal
import socket
import subprocess
import sys

import orjson
import pytest
from click.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.errors import BadInput, StoreUnavailable
from aragog.settings import load_settings
from aragog.transfer.json_lines import open_to_read
from aragog.transfer.parquet import read_parquet
from aragog.transfer.parts import Part, PartOptions, export_part, prepare_folder
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from tests.support.stores import NOW_MS, page

URLS = [f"http://parts.example/{n}" for n in range(60)]
PARTS = [Part(number, 4) for number in range(4)]


@pytest.fixture
def out(tmp_path):
    """Where the parts go; the folder above it may hold the store."""
    return tmp_path / "out"


@pytest.fixture
def filled(harness):
    """A store with 60 pages with content."""
    harness.store.write_pages(
        [
            page(
                url,
                NOW_MS,
                fields={"title": url.encode()},
                content=ContentWrite(compress(b"<p>" * 9), length_bytes=27, meta={"url": url}),
            )
            for url in URLS
        ]
    )
    return harness


def export(its, folder, part, **options):
    return export_part(its.store, folder, part, PartOptions(**options))


def urls_in(path):
    with open_to_read(path) as lines:
        return [orjson.loads(line)["url"] for line in lines]


def test_parts_contain_every_url_of_the_store_exactly_once(filled, out):
    counts = [export(filled, out, part) for part in PARTS]

    urls = [url for path in sorted(out.iterdir()) for url in urls_in(path)]
    assert sorted(urls) == sorted(URLS)
    assert sum(counts) == len(URLS)
    assert min(counts) > 0
    assert min(out.iterdir()).name == "part-00000-of-00004.jsonl.zst"


def test_parts_are_complete_as_parquet_and_warc(filled, out):
    for part in PARTS:
        export(filled, out / "parquet", part, format="parquet")
        export(filled, out / "warc", part, format="warc")

    rows = [r.url for p in (out / "parquet").iterdir() for _, r in read_parquet(p)]
    pages = []
    for path in (out / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            pages += [
                record.rec_headers["WARC-Target-URI"]
                for record in ArchiveIterator(stream)
                if record.rec_type != "warcinfo"
            ]
    assert sorted(rows) == sorted(URLS)
    assert sorted(pages) == sorted(URLS)


def test_complete_part_is_not_rewritten(filled, out):
    export(filled, out, PARTS[0])

    assert export(filled, out, PARTS[0]) is None


def test_interrupted_part_leaves_nothing_and_is_written_by_the_next_run(filled, out):
    def broken(share):
        raise StoreUnavailable("sqlite", "is locked")

    with pytest.raises(StoreUnavailable):
        export_part(filled.store, out, PARTS[1], PartOptions(), on_fraction=broken)

    assert list(out.iterdir()) == []
    assert export(filled, out, PARTS[1]) > 0


def test_progress_of_a_part_grows_from_zero_to_one(filled, out):
    seen = []
    part = PARTS[3]
    export_part(filled.store, out, part, PartOptions(), on_fraction=seen.append)

    assert seen == sorted(seen)
    assert 0 <= seen[0] < seen[-1] == 1.0


KILLED = """
import os, signal, sys
from pathlib import Path
from aragog.bootstrap.stores import url_store
from aragog.settings import load_settings
from aragog.transfer.parts import Part, PartOptions, export_part

settings = load_settings()
kill = lambda share: share > 0.1 and os.kill(os.getpid(), signal.SIGKILL)
options = PartOptions(format=sys.argv[2])
export_part(url_store(settings), Path(sys.argv[1]), Part(0, 2), options, on_fraction=kill)
"""


@pytest.mark.parametrize("kind", ["jsonl.zst", "warc"])
def test_next_run_removes_leftovers_of_a_killed_export(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    store = url_store(load_settings())
    store.write_pages([page(url, NOW_MS, fields={"title": b"x"}) for url in URLS])
    store.close()
    out = tmp_path / "out"

    killed = subprocess.run([sys.executable, "-c", KILLED, str(out), kind], check=False)
    left = [path.name for path in out.iterdir()]
    command = ["store", "export-parts", str(out), "--parts", "2", "--format", kind]
    reported = CliRunner().invoke(main, command, catch_exceptions=False)

    assert killed.returncode == -signal.SIGKILL
    assert len(left) == 1
    assert reported.exit_code == 0
    suffix = "" if kind == "warc" else f".{kind}"
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"part-0000{n}-of-00002{suffix}" for n in range(2)]


def test_unfinished_part_of_a_live_process_stays(tmp_path):
    host = socket.gethostname()
    living = tmp_path / f".part-00001-of-00002-{host}-{os.getpid()}.jsonl"
    elsewhere = tmp_path / ".part-00000-of-00002-another.host-1.jsonl"
    for path in (living, elsewhere):
        path.touch()

    prepare_folder(tmp_path, 2, "jsonl")

    assert sorted(tmp_path.iterdir()) == sorted([living, elsewhere])


@pytest.mark.parametrize(("parts", "kind"), [(3, "jsonl"), (2, "parquet"), (2, "warc")])
def test_folder_with_parts_of_another_export_is_refused(tmp_path, parts, kind):
    (tmp_path / "part-00001-of-00002.jsonl").touch()
    (tmp_path / "_SUCCESS").touch()
    command = ["store", "export-parts", str(tmp_path), "--parts", str(parts), "--format", kind]

    reported = CliRunner().invoke(main, command)

    assert reported.exit_code == 2
    assert "--parts 2 --format jsonl" in reported.output


@pytest.mark.parametrize(("number", "count"), [(0, 0), (4, 4), (-1, 4)])
def test_invalid_part_number_is_refused(number, count):
    with pytest.raises(BadInput):
        Part(number, count)


def test_command_writes_all_parts_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    store = url_store(load_settings())
    for url in URLS[:10]:
        store.put(url, {"title": b"x"})
    store.close()
    command = ["store", "export-parts", str(tmp_path / "out"), "--parts", "3", "--format", "jsonl"]

    first = CliRunner().invoke(main, [*command, "--part", "1"], catch_exceptions=False)
    rest = CliRunner().invoke(main, command, catch_exceptions=False)

    assert first.exit_code == rest.exit_code == 0
    assert "1 already existed" in rest.output
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"part-0000{n}-of-00003.jsonl" for n in range(3)]


def test_command_refuses_a_part_number_out_of_range(tmp_path):
    reported = CliRunner().invoke(main, ["store", "export-parts", str(tmp_path), "--part", "16"])

    assert reported.exit_code == 2
    assert "is not below --parts 16" in reported.output
