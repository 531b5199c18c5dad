"""Decides from the Content-Type header and the first bytes whether a body is a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aragog.crawl.fetcher.body_limits import SNIFF_BYTES
from aragog.crawl.fetcher.http1.decoders import has_unknown_coding
from aragog.fetch_record.outcome import Headers

# Signatures of binary formats (WHATWG MIME Sniffing sections 6 and 7).
_MAGIC_NUMBERS = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x7fELF", "application/x-elf"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
)

# Bytes that never occur in text of an ASCII-compatible encoding (MIME Sniffing section 3).
_BINARY_BYTES = (
    frozenset(range(0x09)) | {0x0B} | frozenset(range(0x0E, 0x1B)) | frozenset(range(0x1C, 0x20))
)
_NON_BINARY_BYTES = bytes(b for b in range(256) if b not in _BINARY_BYTES)

_TEXT_BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


# Token characters (WHATWG MIME Sniffing section 4.4).
_MIME_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
# Sent by servers that do not know the type (WHATWG MIME Sniffing section 7).
_UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})
# The text between two commas outside quotes.
_LIST_ITEM = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
# The text between two semicolons outside quotes.
_PARAMETER_WITH_VALUE = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*"?)+')


def effective_content_type(values: Sequence[str]) -> str | None:
    """
    Return the effective Content-Type: the last valid one (Fetch standard, "extract a MIME type").

    Returns None if there is no valid value (`html` and `text/` are invalid), or if the server does
    not know the type. The body's first bytes then decide. A charset also applies to later values of
    the same type.
    """
    parts = [m.group().strip(" \t") for value in values for m in _LIST_ITEM.finditer(value)]
    usable = [part for part in parts if is_type(part) and media_type(part) != "*/*"]
    if not usable or media_type(usable[-1]) in _UNKNOWN_TYPES:
        return None
    last, name = usable[-1], media_type(usable[-1])
    if not _charset_parameter(last):
        for earlier in reversed(usable):
            if media_type(earlier) != name:
                break
            if parameter := _charset_parameter(earlier):
                return f"{last}; {parameter}"
    return last


def _charset_parameter(content_type: str) -> str:
    texts = _PARAMETER_WITH_VALUE.findall(content_type.partition(";")[2])
    parameters = [text.strip(" \t") for text in texts]
    return next((p for p in parameters if p.lower().startswith("charset=") and len(p) > 8), "")


def is_type(content_type: str) -> bool:
    """Return True if the value has the syntax of a MIME type."""
    return _MIME_TYPE.fullmatch(media_type(content_type)) is not None


def media_type(content_type: str) -> str:
    """Return `type/subtype` in lower case, without parameters."""
    return content_type.partition(";")[0].strip(" \t").lower()


def type_refusal(content_type: str | None, allowed: Sequence[str]) -> str | None:
    """Return why bodies of this type are not read, or None if they are or the type is unknown."""
    if content_type is None:
        return None
    name = media_type(content_type)
    family = name.partition("/")[0] + "/*"
    if name in allowed or family in allowed or "*/*" in allowed:
        return None
    return f"content type {name[:100]}"


def content_refusal(
    first_bytes: bytes, content_type: str | None, allowed: Sequence[str]
) -> str | None:
    """
    Return why a body with these first bytes is not a page, or None.

    A body declared as text is refused if it has another format's signature or many binary bytes.
    Without a declared type, or with `text/plain` (many servers' default for unknown files), one
    binary byte is enough.
    """
    if "*/*" in allowed or first_bytes.startswith(_TEXT_BOMS):
        return None
    detected = next((name for magic, name in _MAGIC_NUMBERS if first_bytes.startswith(magic)), None)
    if detected == "image/bmp" and not _has_binary_bytes(first_bytes):
        detected = None  # text that happens to begin with "BM"
    if detected is not None and type_refusal(detected, allowed):
        declared = f", declared as {media_type(content_type)}" if content_type else ""
        return f"the content is {detected}{declared}"
    name = media_type(content_type or "")
    if detected is not None and name in ("", detected):
        return None  # this is the declared format, and it is allowed
    if (
        name in ("", "text/plain")
        and _has_binary_bytes(first_bytes)
        and not _may_be_utf16(first_bytes)
    ):
        return "the content is binary and has no specific content type"
    if _is_mostly_binary(first_bytes):
        return f"the content is binary, declared as {name}"
    return None


def is_undecoded(headers: Headers, body: bytes) -> bool:
    """Return True if Content-Encoding names an unknown coding and the body looks binary."""
    codings = [v for name, v in headers if name.lower() == "content-encoding"]
    return has_unknown_coding(codings) and _has_binary_bytes(body[:SNIFF_BYTES])


def _has_binary_bytes(first_bytes: bytes) -> bool:
    return bool(first_bytes.translate(None, _NON_BINARY_BYTES))


def _is_mostly_binary(first_bytes: bytes) -> bool:
    """
    Return True if more than 5% of the bytes are binary.

    In compressed data, about 10% of the bytes are binary; in a damaged page, a few; in text, none.
    Zeros are not counted, because UTF-16 contains many.
    """
    return 20 * len(first_bytes.translate(None, _NON_BINARY_BYTES + b"\0")) > len(first_bytes)


def _may_be_utf16(first_bytes: bytes) -> bool:
    """Return True if many bytes are zero, all at even or all at odd positions, as in UTF-16."""
    zeros = first_bytes.count(0)
    return 10 * zeros > 3 * len(first_bytes) and zeros in (
        first_bytes[::2].count(0),
        first_bytes[1::2].count(0),
    )
