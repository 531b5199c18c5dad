"""
Measure the CPU of one fetch of a 60 KB page over TLS: HTTP/1.1 and HTTP/2, on a kept connection,
and on new ones with a resumed and a full handshake.

    .venv/bin/python -m bench.tls [pages]

nginx serves the page over TLS 1.3 in a separate process, and only the CPU of the client's process
counts. The variants are interleaved, so other load affects all of them. pycurl and curl-cffi are
included if installed (`uv pip install pycurl curl-cffi`). Both reuse one handle, so they read the
certificates of the authorities once; `pycurl, new` has one handle per connection, which separate
connections need.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import certifi

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.http1.connection import Peer
from aragog.crawl.fetcher.http1.tls import TlsSessions
from aragog.fetch_record.outcome import Fetched
from aragog.runtime.clock import SystemClock
from aragog.settings import FetchSettings
from bench import figures
from bench.crawl import origin
from bench.fetcher import html
from bench.quick import add_quick

HOST = "shop.test"
ROUNDS = 5
KINDS = ("kept", "resumed", "full")
Get = Callable[[], int]
"""Fetches the page once, and returns the size of its body."""


def aragog_getters(port: int, *, http2: bool) -> Iterator[Get]:
    """Yield one getter for each of `KINDS`."""
    settings = FetchSettings(
        host_map={HOST: f"127.0.0.1:{port}"},
        allowed_ports=(port,),
        allowed_networks=("127.0.0.0/8",),
        user_agent="bench/1.0 (+https://example.com/bot)",
        http2_hosts=(HOST,) if http2 else (),
    )
    peer = Peer("https", HOST, port, http2=http2)
    url = f"https://{HOST}:{port}/page.html"
    for kind in KINDS:
        fetcher = Fetcher(settings)
        if kind == "full":
            fetcher.adapter.tls_sessions = TlsSessions(SystemClock(), max_sessions=0)

        def get(fetcher: Fetcher = fetcher, kind: str = kind) -> int:
            outcome = fetcher.fetch(url)
            if kind != "kept" and (connection := fetcher.adapter.connections.take(peer)):
                connection.close()
            return len(outcome.body) if isinstance(outcome, Fetched) else 0

        yield get


def curl_getters(module: str, port: int, authorities: str, *, new: bool = False) -> Iterator[Get]:
    """Yield the same with libcurl over HTTP/2, with the options that our limits and pins need."""
    for kind in KINDS:
        yield _curl_get(module, port, authorities, kind, new=new)


def _curl_get(module: str, port: int, authorities: str, kind: str, *, new: bool) -> Get:
    options = {
        "URL": f"https://{HOST}:{port}/page.html",
        "RESOLVE": [f"{HOST}:{port}:127.0.0.1"],
        "CAINFO": authorities,
        "HTTP_VERSION": 4,  # CURL_HTTP_VERSION_2TLS
        "HTTPHEADER": ["User-Agent: bench/1.0 (+https://example.com/bot)", "Accept: */*"],
        "FORBID_REUSE": int(kind != "kept"),
        "SSL_SESSIONID_CACHE": int(kind != "full"),
        "NOSIGNAL": 1,
    }
    pieces: list[bytes] = []
    fields: list[bytes] = []

    def new_handle():
        if module == "pycurl":
            import pycurl

            curl = pycurl.Curl()
            for name, value in options.items():
                curl.setopt(getattr(pycurl, name), value)
            curl.setopt(pycurl.WRITEFUNCTION, pieces.append)
            curl.setopt(pycurl.HEADERFUNCTION, fields.append)
            return curl
        from curl_cffi import Curl, CurlOpt

        curl = Curl()
        for name, value in options.items():
            encoded = [v.encode() for v in value] if isinstance(value, list) else value
            curl.setopt(getattr(CurlOpt, name), encoded)
        return curl

    kept = None if new else new_handle()

    def get() -> int:
        pieces.clear()
        fields.clear()
        curl = kept or new_handle()
        if module == "pycurl":
            curl.perform()
        else:
            from curl_cffi import CurlOpt

            # It drops its callbacks after each request.
            curl.setopt(CurlOpt.WRITEFUNCTION, lambda piece: pieces.append(piece) or len(piece))
            curl.setopt(CurlOpt.HEADERFUNCTION, lambda field: fields.append(field) or len(field))
            curl.perform(clear_headers=False, clear_resolve=False)
        if not fields[0].startswith(b"HTTP/2"):
            raise RuntimeError(f"{module} got {fields[0]!r}")
        return sum(map(len, pieces))

    return get


def ms_per_page(get: Get, pages: int, size: int) -> float:
    """Return CPU milliseconds of this process per page."""
    before = time.process_time()
    for _ in range(pages):
        if get() != size:
            raise RuntimeError("the page was not fetched")
    return (time.process_time() - before) / pages * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="?", type=int, default=500, help="a variant")
    add_quick(parser, pages=10)
    pages = max(1, parser.parse_args().pages // ROUNDS)
    body = html()
    with tempfile.TemporaryDirectory() as name, origin.certificates([HOST]) as certificates:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "page.html").write_bytes(body)
        authorities = folder / "authorities.pem"
        shutil.copy(certifi.where(), authorities)
        authorities.write_bytes(
            authorities.read_bytes() + Path(os.environ["SSL_CERT_FILE"]).read_bytes()
        )
        with origin.serve(folder, "ssl_protocols TLSv1.3;", certificates, http2=True) as port:
            variants = {
                "aragog, HTTP/1.1": list(aragog_getters(port, http2=False)),
                "aragog, HTTP/2": list(aragog_getters(port, http2=True)),
            }
            for module in ("pycurl", "curl_cffi"):
                if importlib.util.find_spec(module):
                    variants[module] = list(curl_getters(module, port, str(authorities)))
            if "pycurl" in variants:
                variants["pycurl, new"] = list(
                    curl_getters("pycurl", port, str(authorities), new=True)
                )
            report(variants, pages, len(body))


def report(variants: dict[str, list[Get]], pages: int, size: int) -> None:
    """Print the minimum CPU per page over all rounds, without the first page of each variant."""
    best: dict[tuple[str, int], float] = {}
    for gets in variants.values():
        for get in gets:
            get()
    for _ in range(ROUNDS):
        for name, gets in variants.items():
            for index, get in enumerate(gets):
                cost_ms = ms_per_page(get, pages, size)
                best[name, index] = min(cost_ms, best.get((name, index), cost_ms))
    kept, resumed, full = (best["aragog, HTTP/1.1", index] for index in range(len(KINDS)))
    figures.report(tls_resumed=resumed - kept, tls_full=full - kept)
    print(f"{'CPU ms per page':18}" + "".join(f"{kind:>9}" for kind in KINDS))
    for name in variants:
        print(f"{name:18}" + "".join(f"{best[name, index]:9.3f}" for index in range(len(KINDS))))


if __name__ == "__main__":
    main()
