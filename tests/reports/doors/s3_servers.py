"""
The content store on an S3 server with scripted responses.

Input: `answers`, in order: `status`, `headers`, `body` (`{key}` is the key), `cut` sends half of
the body and closes; `stored` sends the body of the last PUT, and `echo` its bytes as received.
After the last answer, the server sends an empty 200. Then `do`: `put` (with `body`, `meta`), `get`,
`delete`, `keys`, or a list of them.

`said` is what each call returned or raised; `requests` the methods that the server saw, `sent` the
body and `sent headers` the headers of the last PUT, as lines.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aragog.errors import AragogError
from aragog.settings import ContentSettings
from aragog.urlstore.content.s3 import S3Content

KEY = "0f" * 32
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "reports", "AWS_SECRET_ACCESS_KEY": "reports",
    "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


class Scripted:
    """The server."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.methods: list[str] = []
        self.sent, self.sent_headers = b"", {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                """Log nothing."""

            def _any(self):
                server.methods.append(self.command)
                body = self._body()
                if self.command == "PUT":
                    server.sent, server.sent_headers = body, dict(self.headers)
                self._answer(server.answers.pop(0) if server.answers else {})

            def _body(self):
                if self.headers.get("Expect", "").lower() == "100-continue":
                    self.send_response_only(100)
                    self.end_headers()
                if "chunked" in self.headers.get("Transfer-Encoding", ""):
                    data = b""
                    while not data.endswith(b"\r\n\r\n"):
                        data += self.rfile.readline()
                    return data
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def _answer(self, given):
                body = given.get("body", "").replace("{key}", KEY).encode()
                headers = dict(given.get("headers", {}))
                if given.get("stored"):
                    body = server.sent
                    meta = [n for n in server.sent_headers if n.lower().startswith("x-amz-meta-")]
                    spell = getattr(str, given["stored"])
                    headers |= {spell(name): server.sent_headers[name] for name in meta}
                self.send_response_only(given.get("status", 200))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if given.get("cut") else body)
                self.close_connection = bool(given.get("cut"))

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def _credentials() -> Iterator[None]:
    """The credentials that boto3 reads from the environment, and none of the user's files."""
    before = dict(os.environ)
    os.environ.update(CREDENTIALS)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _serving(answers: list[dict[str, Any]]) -> Iterator[Scripted]:
    server = Scripted(answers)
    try:
        yield server
    finally:
        server.close()


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The results of the calls, and what the server saw."""
    calls = given["do"] if isinstance(given["do"], list) else [given["do"]]
    with _serving(given["answers"]) as server, _credentials():
        settings = ContentSettings(
            engine="s3", s3_bucket="pages", s3_endpoint=server.endpoint, s3_region="us-east-1",
            s3_attempts=2, **given.get("settings", {}),
        )  # fmt: skip
        content = S3Content(settings)
        said = [_call(content, call, given) for call in calls]
    return {
        "said": said, "last": said[-1], "requests": server.methods,
        "sent": server.sent.decode("latin-1"),
        "sent headers": [f"{n.lower()}: {value}" for n, value in server.sent_headers.items()],
        "sent values": " ".join(server.sent_headers.values()),
    }  # fmt: skip


def _call(content: S3Content, call: str, given: Mapping[str, Any]) -> str:
    try:
        match call:
            case "put":
                body = given.get("body", "a body") * given.get("times", 1)
                content.put(KEY, body.encode(), given.get("meta", {}))
                return "done"
            case "get":
                stored = content.get(KEY)
                return (
                    "nothing" if stored is None else f"{stored.body.decode()} {dict(stored.meta)}"
                )
            case "delete":
                content.delete(KEY)
                return "done"
            case _:
                return f"{len(list(content.keys()))} keys"
    except AragogError as error:
        return f"{type(error).__name__}: {error}"
