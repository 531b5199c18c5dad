"""
Content in an S3-compatible server that lacks a feature.

Input: `server`, the missing feature: "checksums" (refused with 501), "quotes" (around ETags),
"plus" (in keys), "cut" (a truncated body, once). The answer: whether bodies and metadata are read
back, and whether listing and deleting work.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import urllib3

from aragog.settings import ContentSettings
from aragog.urlstore.content.s3 import S3Content
from deploy.s3.server import ACCESS_KEY, SECRET_KEY
from tests.support.s3_server import start_s3


def _front(target, lacks, seen):
    pool = urllib3.PoolManager()
    cut = [True]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            """Log nothing."""

        def _any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            names = {n.lower() for n in self.headers}
            seen.append((self.command, sorted(names)))
            odd = any(
                n.startswith(("x-amz-checksum", "x-amz-trailer", "x-amz-sdk-checksum"))
                for n in names
            ) or "aws-chunked" in (self.headers.get("Content-Encoding") or "")
            if lacks == "checksums" and odd:
                self._answer(501, {}, b"<Error><Code>NotImplemented</Code></Error>")
                return
            answer = pool.request(
                self.command,
                target + self.path,
                body=body,
                headers=dict(self.headers),
                retries=False,
                decode_content=False,
            )
            headers = dict(answer.headers)
            if lacks == "quotes":
                headers = {
                    n: v.strip('"') if n.lower() == "etag" else v
                    for n, v in headers.items()
                    if not n.lower().startswith("x-amz-checksum")
                }
            self._answer(
                answer.status,
                headers,
                answer.data,
                cut=lacks == "cut" and self.command == "GET" and cut and cut.pop(),
            )

        def _answer(self, status, headers, body, cut=False):
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = bool(cut)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any  # noqa: N815 - their names

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def answer(given):
    os.environ.update(
        AWS_ACCESS_KEY_ID=ACCESS_KEY,
        AWS_SECRET_ACCESS_KEY=SECRET_KEY,
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        AWS_EC2_METADATA_DISABLED="true",
    )
    with tempfile.TemporaryDirectory(prefix="ar-s3") as folder, start_s3(Path(folder)) as server:
        server.create_bucket("reports")
        seen = []
        content = S3Content(
            ContentSettings(
                engine="s3",
                s3_bucket="reports",
                s3_region="us-east-1",
                s3_prefix="pages/",
                s3_endpoint=_front(server.endpoint, given["server"], seen),
                s3_attempts=3,
            )
        )
        body = b"body " * 20_000
        keys = [hashlib.sha256(b"%d" % n).hexdigest() for n in range(3)]
        for key in keys:
            content.put(key, body + key.encode(), {"content_type": "text/html", "name": "é + ü"})
        got = [content.get(key) for key in keys]
        listed = sorted(content.keys(""))
        content.delete(keys[0])
        return {
            "bodies": all(g and g[0] == body + k.encode() for g, k in zip(got, keys, strict=True)),
            "meta": all(g and g[1].get("name") == "é + ü" for g in got),
            "listed": listed == sorted(keys),
            "deleted": content.get(keys[0]) is None,
        }
