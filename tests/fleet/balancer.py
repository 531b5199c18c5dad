"""The load balancer in front of the API machines: nginx, which retries a failed read on the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

CONFIG = """
daemon off;
worker_processes 1;
user root;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 100000;
    keepalive_timeout 1h;
    upstream api {{
        {servers}
        keepalive 32;
    }}
    server {{
        listen {listen};
        location / {{
            proxy_pass http://api;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_connect_timeout 500ms;
            proxy_read_timeout 1500ms;
            proxy_next_upstream error timeout;
        }}
    }}
}}
"""


def program() -> str:
    """Return the path of nginx, or an empty string."""
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin") or ""


def command(folder: Path, listen: str, servers: Iterable[str]) -> list[str]:
    """
    Write the configuration of a balancer into a folder, and return its command line.

    A server that refuses a connection or does not answer in time gets no requests for 2 s.
    """
    server_lines = "\n        ".join(
        f"server {address} max_fails=1 fail_timeout=2s;" for address in servers
    )
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, servers=server_lines, listen=listen))
    return [program(), "-c", str(config), "-e", "stderr"]
