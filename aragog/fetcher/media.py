"""Which answers are pages: the media type they claim, and what their first bytes say. Pure."""

from __future__ import annotations

from collections.abc import Sequence

# Types whose body is never text, by their first bytes (WHATWG MIME Sniffing sections 6 and 7).
_MAGIC = (
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

# Bytes that no text in any ASCII-compatible encoding holds (MIME Sniffing section 3).
_BINARY = (
    frozenset(range(0x09)) | {0x0B} | frozenset(range(0x0E, 0x1B)) | frozenset(range(0x1C, 0x20))
)
_NOT_BINARY = bytes(b for b in range(256) if b not in _BINARY)

_TEXT_BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")

EVERYTHING = ("*/*",)


def content_type_of(values: Sequence[str]) -> str | None:
    """The Content-Type that counts: the last that names a type (Fetch, "extract a MIME type")."""
    usable = (v for v in reversed(values) if "/" in media_type(v) and media_type(v) != "*/*")
    return next(usable, None)


def media_type(content_type: str) -> str:
    """`type/subtype` in lower case, without parameters."""
    return content_type.partition(";")[0].strip(" \t").lower()


def refused_by_type(content_type: str | None, allowed: Sequence[str]) -> str | None:
    """Why a body of that type is not read; None when it is, or when the type is not given."""
    if content_type is None:
        return None
    name = media_type(content_type)
    family = name.partition("/")[0] + "/*"
    if name in allowed or family in allowed or "*/*" in allowed:
        return None
    return f"content type {name[:100]}"


def refused_by_look(first: bytes, content_type: str | None, allowed: Sequence[str]) -> str | None:
    """
    Why these first bytes are no page; None when they may be one.

    A declared text type is refused only for what is certainly something else; a missing type also
    for bytes that no text holds.
    """
    if "*/*" in allowed or first.startswith(_TEXT_BOMS):
        return None
    found = next((name for magic, name in _MAGIC if first.startswith(magic)), None)
    if found == "image/bmp" and not _has_binary(first):
        found = None  # a text that begins with "BM"
    if found is not None and refused_by_type(found, allowed):
        claimed = f" although it claims {media_type(content_type)}" if content_type else ""
        return f"the content is {found}{claimed}"
    if content_type is None and _has_binary(first):
        return "no content type, and the content is binary"
    return None


def _has_binary(first: bytes) -> bool:
    return bool(first.translate(None, _NOT_BINARY))
