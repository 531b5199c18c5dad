"""
The benchmark's origin: nginx on loopback, one process, keep-alive. Its CPU counts for no side.

Uses the installed nginx, or else Debian's package unpacked into `.cache/bench`, without root.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import trustme

from bench.crawl.page_sets import CACHE

ROBOTS = "User-agent: *\\nDisallow: /private/\\nDisallow: /search?*session=\\nAllow: /\\n"
CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; }}
    sendfile on;
    tcp_nodelay on;
    keepalive_requests 100000;
    open_file_cache max=2000;
    log_format asked "$msec $request_time $host$request_uri";
    server {{
        listen 127.0.0.1:{port}{tls};
        root {root};
        {server}
        location = /robots.txt {{ default_type text/plain; return 200 "{robots}"; }}
    }}
    server {{
        listen 127.0.0.1:{status};
        location / {{ stub_status; }}
    }}
}}
"""
TLS = """
        ssl_certificate {certificates}/$ssl_server_name;
        ssl_certificate_key {certificates}/$ssl_server_name;
"""


_status_ports: dict[int, int] = {}


def accepted(port: int) -> int:
    """Return how many connections the origin on this port has accepted. This opens one more."""
    with urllib.request.urlopen(f"http://127.0.0.1:{_status_ports[port]}/") as response:
        counts = response.read().decode().splitlines()[2]
    return int(counts.split()[0])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def certificates(hosts: Iterable[str]) -> Iterator[Path]:
    """
    Yield a folder with a certificate per host. This process and its children trust
    their authority.
    """
    authority = trustme.CA()
    with tempfile.TemporaryDirectory(prefix="crt") as name:
        folder = Path(name)
        authority.cert_pem.write_to_path(folder / "authority")
        for host in hosts:
            authority.issue_cert(host).private_key_and_cert_chain_pem.write_to_path(folder / host)
        with patch.dict(os.environ, SSL_CERT_FILE=str(folder / "authority")):
            yield folder


@contextmanager
def serve(
    pages: Path, server: str = "", certificates: Path | None = None, *, http2: bool = False
) -> Iterator[int]:
    """
    Serve a folder under every host name, with a robots.txt; yields the port.

    With `certificates`, a folder with one file per host, it serves HTTPS with session resumption,
    and with `http2` also HTTP/2 if the client offers it. `server` contains additional directives.
    They may log requests in the format `asked`: when the response was sent (seconds since the
    epoch), how long it took, host and path.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ngx") as name:
        folder = Path(name)
        folder.chmod(0o755)
        # When started as root, nginx changes to another user, who may not have access to the pages.
        user = "user root;" if Path("/").owner() == Path(name).owner() else ""
        if certificates:
            server += TLS.format(certificates=certificates)
        config = CONFIG.format(
            folder=folder, port=port, root=pages, user=user, robots=ROBOTS, server=server,
            status=_status_ports.setdefault(port, free_port()),
            tls=(" ssl" if certificates else "") + (" http2" if http2 else ""),
        )  # fmt: skip
        (folder / "nginx.conf").write_text(config)
        argv = [_binary(), "-p", name, "-c", str(folder / "nginx.conf"), "-e", f"{name}/error.log"]
        process = subprocess.Popen(argv)
        try:
            _wait(process, port, folder)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    for _ in range(100):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"nginx does not answer: {(folder / 'error.log').read_text()}")


def _binary() -> str:
    path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    unpacked = CACHE / "nginx" / "usr" / "sbin" / "nginx"
    if path is None and not unpacked.exists():
        _unpack()
    return path or str(unpacked)


def _unpack() -> None:
    if not shutil.which("apt-get"):
        sys.exit("install nginx: it serves the pages")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        subprocess.run(["apt-get", "download", "nginx"], cwd=folder, check=True)
        archive = next(Path(folder).glob("*.deb"))
        subprocess.run(["dpkg-deb", "--extract", archive, CACHE / "nginx"], check=True)
