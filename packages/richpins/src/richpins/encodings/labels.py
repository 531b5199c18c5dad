"""
Map charset labels to encoding names with the table of the WHATWG Encoding Standard, section 4.2.

A label is what a page or server writes (`latin1`, `x-sjis`). A name is the standard's own name in
lower case (`windows-1252`, `shift_jis`). Each encoding is read by Python's largest compatible
codec.
"""

from __future__ import annotations

import codecs
from importlib import resources

_ASCII_WHITESPACE = " \t\n\f\r"

FALLBACK = "windows-1252"
"""The encoding if none is declared and none is detected (HTML Standard, 13.2.3.2)."""

_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac_roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-user-defined": "latin-1",
}


_ENCODERS = _CODECS | {"big5": "cp950", "gbk": "gbk"}
"""The standard encodes fewer characters than it decodes."""
_SENT_AS_UTF8 = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement"})
"""Pages are read in these encodings, but forms are sent as UTF-8 (section 4.3)."""


def _read_table() -> dict[str, str]:
    table = {}
    text = resources.files(__package__).joinpath("labels.txt").read_text("ascii")
    for entry in text.replace("\n  ", " ").splitlines():
        name, _, labels = entry.partition(":")
        table.update(dict.fromkeys([name, *labels.split()], name))
    return table


_NAMES = _read_table()


def find_encoding(label: str) -> str | None:
    """Return the standard's name for `label`, in lower case, or None if the label is unknown."""
    return _NAMES.get(label.strip(_ASCII_WHITESPACE).lower())


def codec_of(name: str) -> str:
    """Return Python's codec for an encoding's standard name, except `replacement`."""
    return _CODECS.get(name, name)


def _to_c1_control(error: UnicodeError) -> tuple[str, int]:
    """Replace an undecodable byte with its C1 control character, as the standard does."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start]
    return (chr(byte) if byte < 0xA0 else "�"), error.start + 1


codecs.register_error("richpins.keep_c1", _to_c1_control)


def _character_reference(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace a character missing from the encoding with a reference, as browsers do in URLs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    code, end = ord(error.object[error.start]), error.start + 1
    if code == _EURO and error.encoding == "gbk":
        return b"\x80", end
    return f"&#{0xFFFD if 0xD800 <= code < 0xE000 else code};", end


def _c1_or_reference(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode a C1 control character as the byte of the same code; the reverse of `decode`."""
    if isinstance(error, UnicodeEncodeError) and 0x80 <= ord(error.object[error.start]) < 0xA0:
        return error.object[error.start].encode("latin-1"), error.start + 1
    return _character_reference(error)


_EURO = 0x20AC
codecs.register_error("richpins.character_reference", _character_reference)
codecs.register_error("richpins.c1_or_reference", _c1_or_reference)


def encode(text: str, name: str) -> bytes:
    """
    Encode a string as browsers encode queries (URL Standard, "percent-encode after encoding").

    `name` is the encoding's standard name. Characters missing from it become references
    (`&#9731;`).
    """
    if name in _SENT_AS_UTF8:
        return text.encode("utf-8", "replace")
    is_windows = name.startswith("windows-")
    errors = "richpins.c1_or_reference" if is_windows else "richpins.character_reference"
    return text.encode(_ENCODERS.get(name, name), errors)


def decode(body: bytes, name: str) -> str:
    """
    Decode `body` to text. Undecodable bytes become U+FFFD.

    A body in `replacement`, the standard's name for encodings that can hide markup, is not decoded.
    """
    if name == "replacement":
        return "�" if body else ""
    errors = "richpins.keep_c1" if name.startswith("windows-") else "replace"
    return body.decode(_CODECS.get(name, name), errors)
