"""
Find the charset that a page declares in its first bytes, before decoding and parsing.

The steps are those of the HTML Standard, 13.2.3.2: "prescan a byte stream to determine its
encoding", its attribute parser, and "get an XML encoding". They do not parse the page: as the
standard intends, they also find a `<meta>` inside a script.
"""

from __future__ import annotations

import re

from richpins.encodings import labels

PRESCAN_BYTES = 1024
"""The standard requires declarations to be within this many bytes."""

_SPACE = b"\t\n\f\r "
_SPACE_OR_SLASH = b"\t\n\f\r /"
_SPACE_OR_END = re.compile(rb"[\t\n\f\r >]")
_META_CHARSET = re.compile(r"charset[\t\n\f\r ]*(=?)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""[^>]*?encoding[\x00-\x20]*=[\x00-\x20]*(["'])(.*?)\1""", re.DOTALL)
_HEADER_CHARSET = re.compile(
    r""";[\t\n\r ]*charset=(?:"((?:[^"\\]|\\.)*)"?|([^;"\t\n\r ]*))""", re.IGNORECASE
)


class _EndOfBytes(Exception):
    """Raised when the bytes end inside a tag. The scan then finds no encoding."""


def from_header(content_type: str | None) -> str | None:
    """Return the encoding in a Content-Type header, or None if it is missing or unknown."""
    if not content_type or "charset" not in content_type.lower():
        return None
    match = _HEADER_CHARSET.search(content_type)
    return labels.name_of((match[1] or match[2] or "").strip("'")) if match else None


def from_bytes(body: bytes) -> str | None:
    """Return the encoding that a meta element or XML declaration in the first 1,024 bytes has."""
    head = body[:PRESCAN_BYTES]
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    try:
        rows = _scan(head)
    except _EndOfBytes:
        rows = None
    return rows or from_xml_declaration(head)


def from_meta_content(content: str) -> str | None:
    """Return the encoding in a `content` attribute such as `text/html; charset=utf-8`."""
    for match in _META_CHARSET.finditer(content):
        if not match[1]:
            continue
        value = content[match.end() :].lstrip("\t\n\f\r ")
        if value[:1] in {'"', "'"}:
            end = value.find(value[0], 1)
            return None if end < 0 else labels.name_of(value[1:end])
        return labels.name_of(re.split(r"[\t\n\f\r ;]", value, maxsplit=1)[0])
    return None


def as_declared_inside(name: str | None) -> str | None:
    """Replace a declared UTF-16 with UTF-8, as the standard does: the declaration is ASCII."""
    if name in {"utf-16le", "utf-16be"}:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _scan(head: bytes) -> str | None:
    at = head.find(b"<")
    while at >= 0:
        if head.startswith(b"<!--", at):
            # "<!-->" is a complete comment: its opening dashes may also close it.
            at = _past(head, b"-->", at + 2)
        elif head[at : at + 5].lower() == b"<meta" and head[at + 5 : at + 6] in _SPACE_OR_SLASH:
            encoding, at = _meta(head, at + 5)
            if encoding:
                return encoding
        elif head[at + 1 : at + 2].isalpha() or (
            head[at + 1 : at + 2] == b"/" and head[at + 2 : at + 3].isalpha()
        ):
            at = _past_tag(head, at)
        elif head[at + 1 : at + 2] in {b"!", b"/", b"?"}:
            at = _past(head, b">", at)
        else:
            at += 1
        at = head.find(b"<", at)
    return None


def _past(head: bytes, what: bytes, at: int) -> int:
    end = head.find(what, at)
    if end < 0:
        raise _EndOfBytes
    return end + len(what)


def _past_tag(head: bytes, at: int) -> int:
    name_end = _SPACE_OR_END.search(head, at)
    if not name_end:
        raise _EndOfBytes
    at = name_end.start()
    while True:
        attribute, at = _attribute(head, at)
        if attribute is None:
            return at


def _meta(head: bytes, at: int) -> tuple[str | None, int]:
    """Return the encoding that a meta element declares, and the position after the element."""
    seen: set[bytes] = set()
    got_pragma, need_pragma = False, None
    charset: str | None = None
    while True:
        attribute, at = _attribute(head, at)
        if attribute is None:
            break
        name, value = attribute
        if name in seen:
            continue
        seen.add(name)
        if name == b"http-equiv":
            got_pragma = value == b"content-type"
        elif name == b"content" and charset is None and need_pragma is None:
            charset = from_meta_content(value.decode("latin-1"))
            need_pragma = True if charset else None
        elif name == b"charset":
            charset = labels.name_of(value.decode("latin-1"))
            need_pragma = False
    if need_pragma is None or (need_pragma and not got_pragma):
        return None, at
    return as_declared_inside(charset), at


def _attribute(head: bytes, at: int) -> tuple[tuple[bytes, bytes] | None, int]:
    """Return the next attribute in lower case (None at the tag's end) and the position after it."""
    at = _skip(head, at, _SPACE_OR_SLASH)
    if head[at] == 0x3E:
        return None, at
    start = at
    while not (head[at] == 0x3D and at > start):
        if head[at] in _SPACE:
            after = _skip(head, at, _SPACE)
            if head[after] != 0x3D:
                return (head[start:at].lower(), b""), after
            break
        if head[at] in b"/>":
            return (head[start:at].lower(), b""), at
        at = _next(head, at)
    name = head[start:at].lower()
    at = _skip(head, head.index(b"=", at) + 1, _SPACE)
    value, at = _value(head, at)
    return (name, value), at


def _value(head: bytes, at: int) -> tuple[bytes, int]:
    first = head[at]
    if first in b"\"'":
        end = _past(head, bytes([first]), at + 1)
        if end >= len(head):
            raise _EndOfBytes
        return head[at + 1 : end - 1].lower(), end
    if first == 0x3E:
        return b"", at
    last = _SPACE_OR_END.search(head, at)
    if not last:
        raise _EndOfBytes
    return head[at : last.start()].lower(), last.start()


def _skip(head: bytes, at: int, some: bytes) -> int:
    while at < len(head) and head[at] in some:
        at += 1
    if at >= len(head):
        raise _EndOfBytes
    return at


def _next(head: bytes, at: int) -> int:
    if at + 1 >= len(head):
        raise _EndOfBytes
    return at + 1


def from_xml_declaration(head: bytes) -> str | None:
    """
    Return the encoding in the XML declaration at the start of `head`, or None if missing or
    unknown.
    """
    if not head.startswith(b"<?xml"):
        return None
    end = head.find(b">")
    match = _XML_ENCODING.match(head[: max(end, 0)])
    return as_declared_inside(labels.name_of(match[2].decode("latin-1"))) if match else None
