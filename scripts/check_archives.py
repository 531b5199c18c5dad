"""
Check packs and exports (WARC, WACZ) with the programs that others use to read them: `make
archives`.

    python scripts/check_archives.py [--pages N] [STEM | FILE.wacz ...]

cdxj-indexer must write the same index, `wacz validate` must accept the WACZ, pywb must replay every
capture with its body from aragog's index, and the package surt must give the same keys for
thousands of odd URLs. pywb must also replay packs in gzip. Without arguments it exports its own
pages. STEM is the one passed to `aragog store export STEM --format warc`. The programs are in
.venv-archives (`scripts/setup archives`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from warcio.archiveiterator import ArchiveIterator

from aragog.addons.wacz.export import export_wacz
from aragog.errors import InvalidUrl
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import ContentSettings, StoreSettings
from aragog.transfer.warc_export import export_warc, index_path
from aragog.urlstore.cdxj import surt_key
from aragog.urlstore.compression import compress
from aragog.urlstore.content import FolderPacks
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.records import ContentWrite, PageWrite
from aragog.urlstore.store import UrlStore
from urlspelling import normalize
from zengraph.tables.memory import MemoryTables

PROGRAMS = Path(__file__).resolve().parent.parent / ".venv-archives" / "bin"
MAX_START_S = 60.0
SEGMENTS = (
    "a", "B", "index.HTML", "%20x", "%25", "%2F", "%C3%A9", "é", "..", ".", "", "x.aspx", "a;b",
    "a%3Fb", "%23", "~u", "a+b", "%252e", "'q'", "|", "[x]", "(abcdefghij0123456789abcd)",
)  # fmt: skip
QUERIES = (
    "a=1", "b", "b=", "A=%C3%A9", "x=%2526", "z=a=b", "q=a+b", "=", "%20=1", "c[]=2",
    "sid=" + "a" * 32, "jsessionid=" + "0" * 32, "PHPSESSID=" + "f" * 32, "cfid=1&cftoken=2",
)  # fmt: skip
HOSTS = (
    "www.example.com", "www2.example.com", "münchen.de", "127.0.0.1", "[::1]", "www.www.a.test",
    "x.y.z", "wwwa.test", "a.test:8080", "a.test:80", "sub_x.test", "www.test",
)  # fmt: skip


def main() -> None:
    """Run all checks. Exits with 1 at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exports", nargs="*", type=Path, help="STEM or FILE.wacz")
    parser.add_argument("--pages", type=int, default=300, help="of the export that it makes")
    options = parser.parse_args()
    if not PROGRAMS.exists():
        sys.exit("the programs are not installed: run scripts/setup archives")
    with tempfile.TemporaryDirectory() as folder:
        exports = options.exports or own_exports(Path(folder), options.pages)
        for path in exports:
            if path.suffix == ".wacz":
                check_wacz(path)
            else:
                check_warc(warc_files(path), Path(folder))
        check_packs(Path(folder), options.pages)
    check_keys()


def odd_urls(count: int) -> list[str]:
    """Return normalized URLs with everything that keys treat specially, the same in every run."""
    rng, urls = random.Random(7), set[str]()
    while len(urls) < count:
        path = "/".join(rng.choices(SEGMENTS, k=rng.randrange(4)))
        query = "&".join(rng.choices(QUERIES, k=rng.randrange(3)))
        url = f"{rng.choice(['http', 'https'])}://{rng.choice(HOSTS)}/{path}?{query}"
        try:
            urls.add(normalize(url))
        except InvalidUrl:
            continue
    return sorted(urls)


def own_exports(folder: Path, pages: int) -> list[Path]:
    """Return a WARC export in several files, and a WACZ, of pages with odd URLs."""
    content = MemoryContent()
    store = UrlStore(MemoryTables(), content, StoreSettings())
    # pywb treats a letter after two slashes as a host, and does not find the page in its own index.
    urls = [url for url in odd_urls(pages) if "//%C3" not in url]
    for number, url in enumerate(urls):
        body = f"<html><title>{number % 50}</title><p>Page {number % 50}".encode()
        headers = [["Content-Type", "text/html; charset=utf-8"], ["Content-Encoding", "gzip"]]
        meta = {
            "status": "200",
            "fetched_at_ms": str(1_700_000_000_000 + number * 1000),
            "content_type": "text/html",
            "headers": json.dumps(headers) if number % 9 else "",  # "": none were kept
        }
        store.put_content(url, body, meta)
    export_warc(store.zen, store.bodies, folder / "own", max_file_bytes=pages * 100)
    export_wacz(store.zen, store.bodies, folder / "own.wacz")
    return [folder / "own", folder / "own.wacz"]


def check_packs(folder: Path, pages: int) -> None:
    """Check that pywb replays every page of gzip packs, as in a content folder, and revisits."""
    options = ContentSettings(pack_compression="gzip", pack_bytes=20_000)
    packs = FolderPacks(folder / "content")
    store = UrlStore(
        MemoryTables(), MemoryContent(), StoreSettings(), packs=packs, content_settings=options
    )
    urls = [url for url in odd_urls(pages) if "//%C3" not in url]
    for round_number in range(2):
        for start in range(0, len(urls), 25):
            store.write_pages(
                [
                    fetched_page(url, n, round_number)
                    for n, url in enumerate(urls[start : start + 25], start)
                ]
            )
    store.close()
    files = sorted((folder / "content" / "packs").glob("*/*.warc.gz"))
    check_warc(files, folder)


def fetched_page(url: str, number: int, round_number: int) -> PageWrite:
    """Return a page with the report of its fetch. Half of the pages change in each round."""
    at_ms = 1_700_000_000_000 + number * 1000 + round_number * 86_400_000
    body = f"<title>{number}</title><p>Page {number}, {round_number * (number % 2)}".encode()
    headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip"))
    report = FetchRecord(
        url=url, outcome=OutcomeKind.FETCHED, final_url=url, status=200, fetched_at_ms=at_ms,
        headers=headers, address="192.0.2.7", content_type="text/html", body_bytes=len(body),
    )  # fmt: skip
    meta = {"status": "200", "fetched_at_ms": str(at_ms), "content_type": "text/html"}
    content = ContentWrite(compress(body), "zstd", len(body), meta)
    facts = {"url": url, "final_url": url, "fetched_at_ms": at_ms, "status": 200}
    return PageWrite(
        url=url, final_url=url, canonical_url=url, fetched_at_ms=at_ms, facts=facts,
        content=content, report=report,
    )  # fmt: skip


def entries(index: bytes) -> list[tuple[bytes, object]]:
    """Return the lines of a CDXJ index: key and time, and the parsed JSON."""
    parts = (line.partition(b"{") for line in index.splitlines())
    return [(start, json.loads(brace + rest)) for start, brace, rest in parts]


def warc_files(stem: Path) -> list[Path]:
    """Return the files of an export. Exits if there are none."""
    files = sorted(stem.parent.glob(f"{stem.name}-*.warc.gz"))
    if not files:
        sys.exit(f"{stem}: there is no file {stem}-*.warc.gz; pass a STEM or FILE.wacz")
    return files


def check_warc(files: list[Path], folder: Path) -> None:
    """
    Check that cdxj-indexer agrees with each file's index, and that pywb replays every
    capture.
    """
    collection = folder / "pywb" / "collections" / "pages"
    shutil.rmtree(collection, ignore_errors=True)
    for name in ("archive", "indexes"):
        (collection / name).mkdir(parents=True)
    expected: dict[tuple[str, str], bytes] = {}
    by_digest: dict[str, bytes] = {}
    for file in files:
        command = [PROGRAMS / "cdxj-indexer", "--sort", file]
        indexer_output = subprocess.run(command, check=True, capture_output=True).stdout
        if entries(indexer_output) != entries(index_path(file).read_bytes()):
            sys.exit(f"{index_path(file)} is not what cdxj-indexer writes")
        shutil.copy(file, collection / "archive")
        shutil.copy(index_path(file), collection / "indexes")
        expected |= bodies(file, by_digest)
    print(f"cdxj-indexer writes the same indexes of {len(files)} files")
    with pywb(folder / "pywb") as address, requests.Session() as session:
        session.trust_env = False
        for (url, timestamp), body in expected.items():
            response = session.get(f"{address}/pages/{timestamp}id_/{url}", timeout=MAX_START_S)
            if response.status_code != requests.codes.ok:
                sys.exit(f"pywb answers {response.status_code} for {url}")
            if response.content != body:
                sys.exit(f"pywb replays another body of {url}")
    print(f"pywb replays {len(expected)} captures")


def bodies(file: Path, by_digest: dict[str, bytes]) -> dict[tuple[str, str], bytes]:
    """
    Return the body of each capture by URL and timestamp. Bodies in earlier files are
    used, too.
    """
    bodies_by_capture: dict[tuple[str, str], bytes] = {}
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream):
            header = record.rec_headers.get_header
            if record.rec_type in ("response", "resource"):
                by_digest[header("WARC-Payload-Digest")] = record.content_stream().read()
            elif record.rec_type != "revisit" or "not-modified" in header("WARC-Profile"):
                continue
            timestamp = "".join(filter(str.isdigit, header("WARC-Date")))
            body = by_digest.get(header("WARC-Payload-Digest"))
            if body is not None:
                bodies_by_capture[header("WARC-Target-URI"), timestamp] = body
    return bodies_by_capture


@contextmanager
def pywb(folder: Path) -> Iterator[str]:
    """Run pywb over the collections of a folder, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [PROGRAMS / "wayback", "--port", str(port), "--bind", "127.0.0.1"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "NO_PROXY": "*"}
        ) as process,
    ):
        try:
            deadline_s = time.monotonic() + MAX_START_S
            while not is_listening(port):
                if process.poll() is not None or time.monotonic() > deadline_s:
                    sys.exit(f"pywb does not start: {(folder / 'log').read_text()[-2000:]}")
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def is_listening(port: int) -> bool:
    """Return True if something listens on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def check_wacz(file: Path) -> None:
    """Check that `wacz validate` accepts a file."""
    process = subprocess.run(
        [PROGRAMS / "wacz", "validate", "--file", file], capture_output=True, text=True, check=False
    )
    if process.returncode or "the passed WACZ is valid" not in process.stdout:
        sys.exit(f"wacz validate: {process.stdout}{process.stderr}")
    print(f"wacz validate accepts {file.name}")


def check_keys(count: int = 20_000) -> None:
    """Check that the package surt gives the same keys."""
    urls = odd_urls(count)
    code = "import json, surt, sys; print(json.dumps([*map(surt.surt, json.load(sys.stdin))]))"
    command = [PROGRAMS / "python", "-W", "ignore", "-c", code]
    urls_json = json.dumps(urls).encode()
    process = subprocess.run(command, input=urls_json, check=True, capture_output=True)
    surt_keys = json.loads(process.stdout)
    for url, key in zip(urls, surt_keys, strict=True):
        if surt_key(url) != key:
            sys.exit(f"{url}: aragog's key is {surt_key(url)}, surt's {key}")
    print(f"surt gives the same {count:,} keys")


if __name__ == "__main__":
    main()
