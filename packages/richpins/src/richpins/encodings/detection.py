"""Determine a page's encoding according to the HTML Standard (13.2.3.2)."""

from __future__ import annotations

import codecs
import re
from itertools import islice
from typing import Any

import chardet

from richpins import _markup_limits as markup_limits
from richpins._tree import parse_tree
from richpins.encodings import labels, prescan

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_CHARSET_WORD = re.compile(rb"charset", re.IGNORECASE)
_LATE_DECLARATION_BYTES = 65_536
_CONCATENATION = re.compile(rb"""(["'])[ \t\r\n]*\+[ \t\r\n]*\1""")
"""
Scripts split the tags that they write, to hide them from the parser: `'<meta chars' + 'et=…'`.
"""
_DETECTION_BYTES = 20_000
_DETECTION_CONFIDENCE = 0.18
"""
Minimum confidence. In short texts in Latin script, chardet was wrong up to a confidence of 0.12. In
other scripts, it was right from 0.19 on.
"""


def encoding(body: bytes, content_type: str | None) -> str:
    """
    Return the WHATWG name, in lower case, of the encoding of `body`, such as `windows-1252`.

    A byte order mark takes precedence over the Content-Type header, then comes the page's own
    declaration. Without any of these, the encoding is UTF-8 if nearly all characters outside ASCII
    are valid UTF-8, else chardet's result if it is confident enough, else windows-1252, the
    standard's default.

    UTF-16 without a byte order mark is recognized by its null bytes, as in Chrome, whatever is
    declared. If a page declares a legacy encoding but at least 49 of 50 characters are valid UTF-8,
    the result is UTF-8, although browsers would show mojibake.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if (utf16 := _utf16_without_mark(body)) is not None:
        return utf16
    declared = (
        prescan.from_header(content_type) or prescan.from_bytes(body) or _late_declaration(body)
    )
    if declared is None:
        return _detect_undeclared(body)
    return "utf-8" if is_surely_utf8(body, declared) else declared


def _utf16_without_mark(body: bytes) -> str | None:
    start = body[:_WIDE_BYTES]
    if b"\0" not in start[:4]:
        return None
    for name, zeros, text in (
        ("utf-16le", start[1::2], start[::2]),
        ("utf-16be", start[::2], start[1::2]),
    ):
        if _WIDE_MARKUP.match(text) and 2 * zeros.count(0) > len(zeros) and 0 not in text:
            return name
    return None


_WIDE_BYTES = 400
_WIDE_MARKUP = re.compile(rb"\s{0,20}<[!?a-zA-Z]")


def to_utf8(body: bytes, name: str, problems: list[str]) -> bytes:
    """Convert `body` from the encoding `name` to UTF-8; describe unreadable bytes in `problems`."""
    if name == "utf-8":
        body = body.removeprefix(b"\xef\xbb\xbf")
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(
                f"not UTF-8 at byte {error.start}, although it was declared or detected as UTF-8"
            )
            return body.decode("utf-8", "replace").encode()
        return body
    text = labels.decode(body, name).removeprefix("\ufeff")
    if name == "replacement":
        problems.append("its encoding is not supported, because it can hide markup")
    return text.encode("utf-8", "replace")


def _late_declaration(body: bytes) -> str | None:
    """
    Return the encoding that a meta element after the first 1,024 bytes declares, or None.

    Only elements that the parser would see count.
    """
    start = body[:_LATE_DECLARATION_BYTES]
    if b"document.write" in start:
        label = prescan.from_bytes(_CONCATENATION.sub(b"", start))
        if label:
            return label
    if not _CHARSET_WORD.search(start, prescan.PRESCAN_BYTES):
        return None
    text = start.decode("latin-1").encode()
    for node in parse_tree(markup_limits.limit_markup(text, [])).css(
        "meta[charset],meta[http-equiv]"
    ):
        result = _meta_encoding(node.attributes)
        if result:
            return prescan.effective_encoding(result)
    return None


def _meta_encoding(attributes: dict[str, Any]) -> str | None:
    if attributes.get("charset") is not None:
        return labels.find_encoding(attributes["charset"])
    if (attributes.get("http-equiv") or "").lower() == "content-type":
        return prescan.from_meta_content(attributes.get("content") or "")
    return None


_DETECTABLE = [
    "big5hkscs", "gb18030", "cp932", "euc_jis_2004", "iso2022_jp_2", "cp949", "euc_kr", "koi8-r",
    "koi8-u", "utf-16-le", "utf-16-be", "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-8",
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874",
]  # fmt: skip
_DETECTED_NAMES = {
    "cp932": "shift_jis", "shift_jis_2004": "shift_jis", "cp949": "euc-kr", "gb18030": "gbk",
    "euc_jis_2004": "euc-jp", "iso2022_jp_2": "iso-2022-jp", "big5hkscs": "big5",
    "cp874": "windows-874", "euc_kr": "euc-kr",
}  # fmt: skip


def _detect_undeclared(body: bytes) -> str:
    if body.isascii() and b"\x1b" not in body and b"\0" not in body:
        return labels.FALLBACK
    if _is_utf8(body, max_broken=_MAX_BROKEN):
        return "utf-8"
    start = max(0, _first_high_byte(body) - 1_000)
    guess = chardet.detect(
        body[start : start + _DETECTION_BYTES],
        include_encodings=_DETECTABLE,
        compat_names=False,
        no_match_encoding="cp1252",
    )
    result = (guess["encoding"] or "").lower()
    if (guess["confidence"] or 0.0) < _DETECTION_CONFIDENCE:
        return labels.FALLBACK
    return _DETECTED_NAMES.get(result) or labels.find_encoding(result) or labels.FALLBACK


_NEVER_UTF8 = frozenset(
    {"utf-8", "utf-16le", "utf-16be", "replacement", "iso-2022-jp", "x-user-defined"}
)
_MULTIBYTE = frozenset({"big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis"})
_COMPLETE_CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_THREE_BYTES = re.compile(rb"[\xe0-\xf4][\x80-\xbf]{2}")
_MIN_THREE_BYTE_CHARACTERS = 4
"""
Chinese text in two-byte encodings may look like UTF-8, but not like four three-byte characters.
"""


def is_surely_utf8(body: bytes, declared: str) -> bool:
    """Return True if `body` is UTF-8 although it declares `declared`."""
    if declared in _NEVER_UTF8 or not _is_utf8(body, max_broken=_MAX_BROKEN_IF_DECLARED):
        return False
    if declared not in _MULTIBYTE:
        return _COMPLETE_CHARACTER.search(body) is not None  # the last character may be cut off
    return (
        sum(1 for _ in islice(_THREE_BYTES.finditer(body), _MIN_THREE_BYTE_CHARACTERS))
        >= _MIN_THREE_BYTE_CHARACTERS
    )


_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_HIGH_BYTES = bytes(range(0x80, 0x100))


def _first_high_byte(body: bytes) -> int:
    match = _HIGH_BYTE.search(body)
    return match.start() if match else 0


_SAMPLE_BYTES = 262_144
_MAX_BROKEN = 0.1
"""
Maximum fraction of broken characters in a UTF-8 page without a declaration. A page may be cut off
inside a character, or contain a comment in another encoding. In sentences of 14 languages in 24
legacy encodings, at most half of the characters were valid UTF-8, except in fragments of ten bytes.
"""
_MAX_BROKEN_IF_DECLARED = 0.02
_MIN_VALID_PER_BROKEN = 3
"""A single broken character is acceptable if at least this many others are valid."""


def _is_utf8(body: bytes, *, max_broken: float) -> bool:
    """
    Return True for UTF-8 that is not just ASCII, even if the last character was cut off.

    `max_broken` is the fraction of characters outside ASCII that may be broken.
    """
    if b"\0" in body:
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.start > len(body) - 4:
            return True
    else:
        return not body.isascii()
    start = _first_high_byte(body)
    sample = body[start : start + _SAMPLE_BYTES]
    # Drop a character that was cut at the end of the sample.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample)
    broken_count = text.count("\ufffd") - sample.count("\ufffd".encode())
    valid_count = len(text) - len(sample.translate(None, _HIGH_BYTES)) - broken_count
    if broken_count == 1 and max_broken == _MAX_BROKEN:
        return valid_count >= _MIN_VALID_PER_BROKEN
    return broken_count <= max_broken * valid_count
