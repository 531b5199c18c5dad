r"""
The file format of objects: a line of JSON with checksum and meta, followed by the body.

    {"v":1,"sha256":"9f86…","bytes":5120,"meta":{"url":"https://example.com/"}}\n<5120 bytes>

JSON escapes line breaks, so the first newline always ends the header, and `head -1` shows it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from aragog.errors import BadInput, CorruptContent

VERSION = 1
_to_json = json.JSONEncoder(separators=(",", ":")).encode
KEY = re.compile(r"[0-9a-f]{64}")
PREFIX = re.compile(r"[0-9a-f]{0,64}")


class StoredContent(NamedTuple):
    """A body as it was stored, with its metadata."""

    body: bytes
    meta: dict[str, str]


def check_key(key: str) -> str:
    """
    Return `key` if it is 64 lower-case hex digits.

    Raises:
        BadInput: the key could refer to a file outside the content folder.
    """
    if not KEY.fullmatch(key):
        raise BadInput(f"content key {key[:80]!r}: must be a SHA-256 in 64 lower-case hex digits")
    return key


def check_prefix(prefix: str) -> str:
    """Return `prefix` if a key may start with it; otherwise raises BadInput."""
    if not PREFIX.fullmatch(prefix):
        raise BadInput(f"content prefix {prefix[:80]!r}: must be lower-case hex digits, 64 at most")
    return prefix


def digest(body: bytes) -> str:
    """Return the SHA-256 of a body in hex; about 1 µs per kilobyte."""
    return hashlib.sha256(body).hexdigest()


def header(body: bytes, meta: Mapping[str, str]) -> bytes:
    """Return the header line, including its newline."""
    fields = {"v": VERSION, "sha256": digest(body), "bytes": len(body), "meta": dict(meta)}
    return _to_json(fields).encode() + b"\n"


def unframe(key: str, data: bytes) -> StoredContent:
    """
    Parse a file into body and meta. Verifies the body's hash.

    Raises:
        CorruptContent: the file is damaged or not in this format.
    """
    line, newline, body = data.partition(b"\n")
    try:
        fields = json.loads(line) if newline else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("meta"), dict):
        raise CorruptContent(key, "its header cannot be read")
    if fields.get("v") != VERSION:
        raise CorruptContent(key, f"has format {fields.get('v')!r}, not {VERSION}")
    check_body(key, body, str(fields.get("sha256")))
    return StoredContent(body, fields["meta"])


def check_body(key: str, body: bytes, sha256: str) -> None:
    """
    Check that the SHA-256 of `body` is `sha256`.

    Raises:
        CorruptContent: the hashes differ.
    """
    actual = digest(body)
    if actual != sha256:
        raise CorruptContent(
            key, f"{len(body)} bytes hash to {actual[:12]}…, stored as {sha256[:12]}…"
        )
