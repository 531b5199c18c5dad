"""
Find the encoding that a page declares in its first bytes, before decoding and parsing.

The steps are those of the HTML Standard (13.2.3.2): "prescan a byte stream to determine its
encoding", its attribute parser, and "get an XML encoding". As the standard intends, they also find
a `<meta>` inside a script.
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
_PART = re.compile(r"""(?:[^;"]|"(?:[^"\\]|\\.)*"?)+""", re.DOTALL)
"""The text between two semicolons outside quotes."""
_CHARSET_PART = re.compile(
    r"""[\t\n\r ]*charset=[\t\n\r ]*(?:"((?:[^"\\]|\\.)*)|([^"\t\n\r ]*))""",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


class _EndOfBytes(Exception):
    """Raised when the bytes end inside a tag. The scan then finds no encoding."""


def from_header(content_type: str | None) -> str | None:
    """
    Return the encoding in a Content-Type header, or None if it is missing or unknown.

    The first `charset` that is not empty counts (MIME Sniffing Standard, 4.4).
    """
    if not content_type or "charset" not in content_type.lower():
        return None
    for part in _PART.findall(content_type.partition(";")[2]):
        if match := _CHARSET_PART.match(part):
            label = (_QUOTED_PAIR.sub(r"\1", match[1] or "") or match[2] or "").strip("'")
            if label:
                return labels.find_encoding(label)
    return None


def from_bytes(body: bytes) -> str | None:
    """
    Return the encoding declared by a meta element or XML declaration in the first 1,024 bytes.

    Returns None if the encoding is missing or unknown.
    """
    head = body[:PRESCAN_BYTES]
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    try:
        encoding = _scan(head)
    except _EndOfBytes:
        encoding = None
    return encoding or from_xml_declaration(head)


def from_meta_content(content: str) -> str | None:
    """Return the encoding in a `content` attribute such as `text/html; charset=utf-8`."""
    for match in _META_CHARSET.finditer(content):
        if not match[1]:
            continue
        value = content[match.end() :].lstrip("\t\n\f\r ")
        if value[:1] in {'"', "'"}:
            end = value.find(value[0], 1)
            return None if end < 0 else labels.find_encoding(value[1:end])
        return labels.find_encoding(re.split(r"[\t\n\f\r ;]", value, maxsplit=1)[0])
    return None


def effective_encoding(name: str | None) -> str | None:
    """
    Return the encoding to decode with, given the declared one, as the standard defines it.

    UTF-16 becomes UTF-8, because a declaration that is readable as ASCII is not in UTF-16. The
    label `x-user-defined` becomes windows-1252.
    """
    if name in {"utf-16le", "utf-16be"}:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _scan(head: bytes) -> str | None:
    position = head.find(b"<")
    while position >= 0:
        if head.startswith(b"<!--", position):
            # "<!-->" is a complete comment: its opening dashes may also close it.
            position = _find_end(head, b"-->", position + 2)
        elif (
            head[position : position + 5].lower() == b"<meta"
            and head[position + 5 : position + 6] in _SPACE_OR_SLASH
        ):
            encoding, position = _read_meta(head, position + 5)
            if encoding:
                return encoding
        elif head[position + 1 : position + 2].isalpha() or (
            head[position + 1 : position + 2] == b"/"
            and head[position + 2 : position + 3].isalpha()
        ):
            position = _skip_tag(head, position)
        elif head[position + 1 : position + 2] in {b"!", b"/", b"?"}:
            position = _find_end(head, b">", position)
        else:
            position += 1
        position = head.find(b"<", position)
    return None


def _find_end(head: bytes, marker: bytes, position: int) -> int:
    end = head.find(marker, position)
    if end < 0:
        raise _EndOfBytes
    return end + len(marker)


def _skip_tag(head: bytes, position: int) -> int:
    name_end = _SPACE_OR_END.search(head, position)
    if not name_end:
        raise _EndOfBytes
    position = name_end.start()
    while True:
        attribute, position = _read_attribute(head, position)
        if attribute is None:
            return position


def _read_meta(head: bytes, position: int) -> tuple[str | None, int]:
    seen: set[bytes] = set()
    got_pragma, need_pragma = False, None
    charset: str | None = None
    while True:
        attribute, position = _read_attribute(head, position)
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
            charset = labels.find_encoding(value.decode("latin-1"))
            need_pragma = False
    if need_pragma is None or (need_pragma and not got_pragma):
        return None, position
    return effective_encoding(charset), position


def _read_attribute(head: bytes, position: int) -> tuple[tuple[bytes, bytes] | None, int]:
    """Return the next attribute in lower case (None at the tag's end) and the position after it."""
    position = _skip(head, position, _SPACE_OR_SLASH)
    if head[position] == 0x3E:
        return None, position
    start = position
    while not (head[position] == 0x3D and position > start):
        if head[position] in _SPACE:
            next_position = _skip(head, position, _SPACE)
            if head[next_position] != 0x3D:
                return (head[start:position].lower(), b""), next_position
            break
        if head[position] in b"/>":
            return (head[start:position].lower(), b""), position
        position = _advance(head, position)
    name = head[start:position].lower()
    position = _skip(head, head.index(b"=", position) + 1, _SPACE)
    value, position = _read_value(head, position)
    return (name, value), position


def _read_value(head: bytes, position: int) -> tuple[bytes, int]:
    quote = head[position]
    if quote in b"\"'":
        end = _find_end(head, bytes([quote]), position + 1)
        if end >= len(head):
            raise _EndOfBytes
        return head[position + 1 : end - 1].lower(), end
    if quote == 0x3E:
        return b"", position
    value_end = _SPACE_OR_END.search(head, position)
    if not value_end:
        raise _EndOfBytes
    return head[position : value_end.start()].lower(), value_end.start()


def _skip(head: bytes, position: int, to_skip: bytes) -> int:
    while position < len(head) and head[position] in to_skip:
        position += 1
    if position >= len(head):
        raise _EndOfBytes
    return position


def _advance(head: bytes, position: int) -> int:
    if position + 1 >= len(head):
        raise _EndOfBytes
    return position + 1


def from_xml_declaration(head: bytes) -> str | None:
    """Return the encoding in the XML declaration at the start of `head`, or None."""
    if not head.startswith(b"<?xml"):
        return None
    end = head.find(b">")
    match = _XML_ENCODING.match(head[: max(end, 0)])
    return effective_encoding(labels.find_encoding(match[2].decode("latin-1"))) if match else None
