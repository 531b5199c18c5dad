"""The bytes of an input: a text, or a table of parts and codings."""

from __future__ import annotations

import base64
import gzip
import zlib
from typing import Any


def data(spec: Any) -> bytes:
    """
    A text is encoded as UTF-8; a list is joined; a table has `text` (with `encoding`), `base64` or
    `parts`, and `apply`: gzip, zlib, deflate, br, zstd, chunks (with `size`), `times`.
    """
    if isinstance(spec, str):
        return spec.encode()
    if isinstance(spec, list):
        return b"".join(data(each) for each in spec)
    if "base64" in spec:
        body = base64.b64decode(spec["base64"])
    elif "parts" in spec:
        body = b"".join(data(each) for each in spec["parts"])
    else:
        body = spec["text"].encode(spec.get("encoding", "utf-8"))
    if "counted" in spec:
        body = b"".join(body.replace(b"%d", b"%d" % n) for n in range(spec["counted"]))
    body *= spec.get("times", 1)
    for step in spec.get("apply", ()):
        body = _applied(step, body, spec)
    if "cut" in spec:
        body = body[: spec["cut"]]
    return body


def _applied(step: str, body: bytes, spec: dict[str, Any]) -> bytes:
    if step == "gzip":
        return gzip.compress(body)
    if step == "zlib":
        return zlib.compress(body)
    if step == "deflate":
        made = zlib.compressobj(wbits=-15)
        return made.compress(body) + made.flush()
    if step == "br":
        import brotli

        return brotli.compress(body)
    if step == "zstd":
        import zstandard

        return zstandard.compress(body)
    if step == "chunks":
        size = spec.get("size", 16)
        pieces = [body[i : i + size] for i in range(0, len(body), size)]
        return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
    raise ValueError(step)
