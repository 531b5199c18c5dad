"""
Splits XML that may not be well-formed into tags and text. No I/O.

In recovery mode, libxml2 drops references after any error, so `?a=1&amp;b=2` becomes `?a=1b=2`.
This reader has no state that an error could corrupt. It splits the bytes at tags; `decode_text`
decodes only the texts that are needed. Comments, declarations and processing instructions are
skipped. The only known entities are XML's five and HTML's entities for letters, so no entity can
expand into a long text.

It reads ASCII-compatible encodings in which the bytes for `<`, `>`, `&` and quotes never occur
inside other characters. Callers must convert files in other encodings, such as UTF-16, first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from html.entities import html5

from richpins import encodings

MAX_TAG_BYTES = 262_144
"""No sitemap has a longer tag. If a file has a longer one, the rest of the file is not read."""
_PIECE_BYTES = 32_768
_MAX_DECLARATIONS = 4

_TAG = re.compile(
    rb"""<(/?)([A-Za-z_:\x80-\xff][^\s<>/="']*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|)*+)>"""
)
_TAG_START = re.compile(rb"</?[A-Za-z_:\x80-\xff]")
_DECLARATION = re.compile(
    rb"""<!(?:[^<>\["']++|"[^"]*+"|'[^']*+'|)*+"""
    rb"""(?:\[(?:[^\]"']++|"[^"]*+"|'[^']*+'|)*+\]\s*+|)>"""
)
# A name must follow a space or a value. Otherwise, the regex would try to match a long name again
# from each of its letters.
_ATTRIBUTE = re.compile(rb"""(?<![^\s"'])([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_END_MARKERS = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_CDATA_END = b"]]>"


class TokenKind(Enum):
    """The kinds of tokens in an XML file."""

    START = auto()
    EMPTY = auto()
    """A tag that is both a start tag and an end tag, such as `<link/>`."""
    END = auto()
    TEXT = auto()
    CDATA = auto()
    FAULT = auto()
    """A `<` that does not start a tag."""


Token = tuple[TokenKind, bytes, bytes]
"""A part of a file: its kind, the tag's name or the text, and the tag's attributes as written. A
text may be split into several tokens."""


class TokenReader:
    """
    Yields a file's tokens once.

    Args:
        pieces: the file, in chunks of any size.

    Attributes:
        damaged: True if the XML is not well-formed. All tokens are still valid.
        cut: True if the file ends inside a tag, comment or CDATA section, or a tag was too long.
        keep_texts: whether to yield texts. Change it only between two tokens.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = _merge_tiny_pieces(pieces)
        self._buffer = b""
        self._position = 0
        self._end_marker = b""
        """The end marker of the open comment, section or instruction, or empty."""
        self._declarations = 0
        self.damaged = self.cut = False
        self.keep_texts = False

    def __iter__(self) -> Iterator[Token]:
        for piece in self._pieces:
            self._buffer, self._position = self._buffer[self._position :] + piece, 0
            yield from self._tokens(final=False)
            if len(self._buffer) - self._position > MAX_TAG_BYTES:
                self.damaged = self.cut = True
                return
        yield from self._tokens(final=True)
        if self._end_marker or self._position < len(self._buffer):
            self.damaged = self.cut = True

    def _tokens(self, *, final: bool) -> Iterator[Token]:
        buffer, match_tag = self._buffer, _TAG.match
        while self._position < len(buffer):
            # the most common case, handled inline for speed
            if match := match_tag(buffer, self._position):
                self._position = match.end()
                slash, name, attributes = match.groups()
                if slash:
                    yield TokenKind.END, name, b""
                else:
                    yield (
                        TokenKind.EMPTY if attributes.endswith(b"/") else TokenKind.START,
                        name,
                        attributes,
                    )
                continue
            if self._end_marker:
                part = self._skip_open_section()
                if part and self._end_marker == _CDATA_END and self.keep_texts:
                    yield TokenKind.CDATA, part, b""
                if not self._close_section():
                    return
                continue
            start = buffer.find(b"<", self._position)
            end = len(buffer) if start < 0 else start
            if end > self._position and self.keep_texts:
                yield TokenKind.TEXT, buffer[self._position : end], b""
            if end == self._position:
                kind = self._skip_markup(final=final)
                if kind is None:
                    return
                if kind is TokenKind.FAULT:
                    yield kind, b"", b""
            else:
                self._position = end

    def _skip_open_section(self) -> bytes:
        """Return the skipped bytes. The section may end outside the buffer."""
        start, end = self._position, self._buffer.find(self._end_marker, self._position)
        self._position = (
            end if end >= 0 else max(start, len(self._buffer) - len(self._end_marker) + 1)
        )
        return self._buffer[start : self._position]

    def _close_section(self) -> bool:
        """Return False if the end marker is not in the buffer yet."""
        if not self._buffer.startswith(self._end_marker, self._position):
            return False
        self._position += len(self._end_marker)
        self._end_marker = b""
        return True

    def _skip_markup(self, *, final: bool) -> TokenKind | None:
        """
        Skip a `<` that does not start a complete tag.

        Returns None if more of the file is needed, or TEXT if markup was skipped.
        """
        buffer, position = self._buffer, self._position
        if not final and len(buffer) - position < len(b"<![CDATA["):
            return None
        for opening, end in _END_MARKERS.items():
            if buffer.startswith(opening, position):
                self._position, self._end_marker = position + len(opening), end
                return TokenKind.TEXT
        if buffer.startswith(b"<!", position):
            return self._skip_declaration(final=final)
        if _TAG_START.match(buffer, position) and buffer.find(b"<", position + 1) < 0:
            return None  # the tag continues in the next chunk, or the file is truncated
        self.damaged = True
        self._position = position + 1
        return TokenKind.FAULT

    def _skip_declaration(self, *, final: bool) -> TokenKind | None:
        # Limit the number of declarations. Each match scans to the end of the buffer, and no valid
        # file has more than one DOCTYPE.
        is_within_limit = self._declarations < _MAX_DECLARATIONS
        match = _DECLARATION.match(self._buffer, self._position) if is_within_limit else None
        if (
            match is None
            and is_within_limit
            and not final
            and len(self._buffer) - self._position <= MAX_TAG_BYTES // 2
        ):
            return None
        end = match.end() if match else self._buffer.find(b">", self._position) + 1
        self.damaged = self.damaged or match is None
        self._position = end or len(self._buffer)
        self._declarations += 1
        return TokenKind.TEXT


def _merge_tiny_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Merge tiny chunks, because the whole buffer is searched again for each chunk."""
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def parse_attributes(raw: bytes, charset: str) -> dict[str, str]:
    """Return a tag's attributes by name. Attributes with ambiguous values are left out."""
    attributes: dict[str, str] = {}
    for name, double, single in _ATTRIBUTE.findall(raw):
        value = decode_text([(double or single, False)], charset)
        if value is not None:
            attributes.setdefault(name.decode("latin-1"), value)
    return attributes


_REFERENCE = re.compile(r"&(?:(#x[0-9A-Fa-f]{1,8}|#[0-9]{1,8}|[A-Za-z_][\w.:-]*+);|(#|amp\w)?)")
_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# Characters that XML 1.0 forbids, and the replacement for bytes that could not be decoded.
_INVALID_CHARACTER = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd\ufffe\uffff]"
)


def decode_text(parts: Sequence[tuple[bytes, bool]], charset: str) -> str | None:
    """
    Return the decoded text, or None if it is ambiguous.

    Invalid bytes for `charset`, control characters, references to invalid characters, and unknown
    entities make a text ambiguous. A bare ampersand is kept, as in `?a=1&b=2`.

    Args:
        parts: the text's bytes, in parts, each with True if it is a CDATA section. Such a section
            has no references.
        charset: WHATWG name of the encoding. In one-byte encodings, valid UTF-8 is read as UTF-8.
    """
    texts = []
    for raw, is_cdata in parts:
        text = _decode(raw, charset)
        if text is not None and not is_cdata and "&" in text:
            text = _expand_references(text)
        if text is None:
            return None
        texts.append(text)
    text = "".join(texts)
    return None if _INVALID_CHARACTER.search(text) else text


_MULTIBYTE_CHARSETS = frozenset({"big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis"})


def _decode(raw: bytes, charset: str) -> str | None:
    if raw.isascii():
        return raw.decode("ascii")
    if charset not in _MULTIBYTE_CHARSETS:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            if charset == "utf-8":
                return None
    return encodings.decode(raw, charset)


def _expand_references(text: str) -> str | None:
    """Replace references with their characters. Returns None if a reference is unknown."""
    parts, position = [], 0
    for match in _REFERENCE.finditer(text):
        name, is_ambiguous = match.groups()
        if name is None and not is_ambiguous:
            continue
        character = _decode_reference(name) if name else None
        if character is None:
            return None
        parts += [text[position : match.start()], character]
        position = match.end()
    return "".join((*parts, text[position:]))


def _html_letter(name: str) -> str | None:
    """Return the letter for an HTML entity, or None if it is not a letter."""
    letter = html5.get(f"{name};", "")
    return letter if len(letter) == 1 and letter.isalpha() else None


def _decode_reference(name: str) -> str | None:
    if not name.startswith("#"):
        return _XML_ENTITIES.get(name) or _html_letter(name)
    digits, base = (name[2:], 16) if name[1] == "x" else (name[1:], 10)
    number = int(digits, base)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else None
