"""
Parse documents other than HTML: the title, language and text of plain text and PDF files.

`parse` returns a `Document` for every type. Documents other than HTML have no elements, links or
structured data; their text is `Document.text`. PDF needs the extra `pdf` (pypdf). A hostile PDF
cannot execute code, but the caller must limit the time and memory that it uses.
"""

from __future__ import annotations

import html
import io
import logging
import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import chardet

from richpins import document
from richpins.document import Document, normalize_space
from richpins.encodings.detection import encoding, to_utf8
from richpins.errors import MissingExtra
from richpins.main_text import is_html

if TYPE_CHECKING:
    from pypdf import PdfReader

PDF, PLAIN = "application/pdf", "text/plain"
MAX_CHARS = 2_000_000
"""Maximum length of a document's text. The rest is omitted."""
MAX_PAGES = 2_000
"""Maximum number of PDF pages. The rest is omitted."""
MAX_CPU_S = 5.0
"""CPU time after which no further PDF page is read; enough for about 200 pages of a report."""
_MAX_TITLE_CHARS = 200
_MIN_WORDS, _MIN_LETTER_SHARE = 12, 0.7
"""The language is detected only if the text has this many words and this fraction of letters."""
_MAX_DETECTION_CHARS = 20_000
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# Matches only at the first space of a run. Otherwise, each space would start a search to the end
# of the line.
_TRAILING_BLANKS = re.compile(r"(?<![ \t])[ \t]++\n")
_BLANK_LINES = re.compile(r"\n{3,}")
# Default titles and authors that programs write.
_PROGRAM_TITLE = re.compile(
    r"(?i)(?:microsoft (?:word|powerpoint|excel) - .*|untitled.*|unknown|title|document\d*|slide 1|"
    r"\(?anonymous\)?|.*\.(?:docx?|odt|rtf|pdf|indd|qxd|dvi|tex|pptx?|xlsx?|ps|html?|fm))"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True)
class _ParsedText:
    text: str
    title: str | None = None
    language: str | None = None
    encoding: str = "utf-8"
    problems: tuple[str, ...] = ()


def is_read(content_type: str | None) -> bool:
    """Return True if `parse` reads bodies of this type."""
    return is_html(content_type) or _media_type(content_type) in (PDF, PLAIN)


def parse(body: bytes, *, url: str, content_type: str | None = None, agent: str = "") -> Document:
    """
    Return the document in a body.

    For types other than HTML, PDF and plain text, only facts from the URL are available. An
    encrypted or unreadable PDF has no text; see `Document.problems`.
    """
    if parse_text := _PARSERS_BY_TYPE.get(_detect_media_type(body, content_type)):
        return _to_document(parse_text(body, content_type), url=url, agent=agent)
    markup = body if is_html(content_type) else b""
    return document.parse(markup, url=url, content_type=content_type, agent=agent)


def _detect_media_type(body: bytes, content_type: str | None) -> str:
    """Return the media type. A body without one is recognized as PDF by its first bytes."""
    declared_type = _media_type(content_type)
    return PDF if not declared_type and body.startswith(b"%PDF-") else declared_type


def _media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip(" \t").lower()


def _to_document(parsed: _ParsedText, *, url: str, agent: str) -> Document:
    attribute = f' lang="{parsed.language}"' if parsed.language else ""
    title = f"<title>{html.escape(parsed.title)}</title>" if parsed.title else ""
    head = f"<!doctype html><html{attribute}><head>{title}</head><body></body></html>"
    page = document.parse(
        head.encode(), url=url, content_type="text/html;charset=utf-8", agent=agent
    )
    return replace(page, text=parsed.text, encoding=parsed.encoding, problems=parsed.problems)


def _read_plain(body: bytes, content_type: str | None) -> _ParsedText:
    problems: list[str] = []
    encoding_name = encoding(body, content_type)
    text = _clean_text(to_utf8(body, encoding_name, problems).decode("utf-8", "replace"), problems)
    return _ParsedText(
        text, _first_line(text), _detect_language(text), encoding_name, tuple(problems)
    )


def _read_pdf(body: bytes, _content_type: str | None) -> _ParsedText:
    try:
        import pypdf  # noqa: PLC0415 - an optional extra that takes 0.1 s
    except ModuleNotFoundError:
        return _ParsedText("", problems=(f"PDF: {MissingExtra('pdf', 'pypdf')}",))
    # pypdf logs a line for each error in a file.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    problems: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            return _ParsedText("", problems=("PDF: it is encrypted",))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file may raise anything
        return _ParsedText("", problems=(_describe_problem("it cannot be read", error),))
    text = _clean_text("\n\n".join(_read_page_texts(reader, problems)), problems)
    title = _text_or_none(lambda: _declared_title(reader)) or _first_line(text)
    language = _text_or_none(lambda: _declared_language(reader)) or _detect_language(text)
    return _ParsedText(text, title, language, problems=tuple(problems))


def _read_page_texts(reader: PdfReader, problems: list[str]) -> list[str]:
    """Return each page's text, up to the limits; empty for an unreadable page."""
    texts: list[str] = []
    char_count, unreadable_count, started_s = 0, 0, time.thread_time()
    try:
        for index, page in enumerate(reader.pages):
            is_over_limit = time.thread_time() - started_s > MAX_CPU_S
            if is_over_limit or index >= MAX_PAGES or char_count > MAX_CHARS:
                problems.append(f"PDF: the text ends after {index} pages")
                break
            text = _text_or_none(page.extract_text)
            unreadable_count += text is None
            texts.append(text or "")
            char_count += len(texts[-1])
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the tree of pages is damaged
        problems.append(_describe_problem(f"the text ends after {len(texts)} pages", error))
    if unreadable_count:
        problems.append(f"PDF: pages that cannot be read: {unreadable_count}")
    return texts


def _text_or_none(read: Callable[[], Any]) -> str | None:
    try:
        value = read()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - a damaged file may raise anything
        return None
    return value if isinstance(value, str) else None


def _describe_problem(description: str, error: Exception) -> str:
    return f"PDF: {description}: {type(error).__name__}: {error}"[:200]


def _declared_title(reader: PdfReader) -> str | None:
    metadata = reader.metadata
    title = normalize_space(_CONTROL_CHARACTERS.sub("", metadata.title or "")) if metadata else ""
    return title[:_MAX_TITLE_CHARS] if title and not _PROGRAM_TITLE.fullmatch(title) else None


def _declared_language(reader: PdfReader) -> str | None:
    language = str(reader.root_object.get("/Lang") or "").strip()
    return language if _LANGUAGE.fullmatch(language) else None


def _clean_text(text: str, problems: list[str]) -> str:
    """Return the text in NFC, without control characters and surplus white space."""
    if len(text) > MAX_CHARS:
        problems.append(f"the text ends after {MAX_CHARS} characters")
        text = text[:MAX_CHARS]
    text = text.encode("utf-8", "replace").decode()  # UTF-8 cannot represent lone surrogates
    lines = _CONTROL_CHARACTERS.sub(
        "", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    )
    return unicodedata.normalize(
        "NFC", _BLANK_LINES.sub("\n\n", _TRAILING_BLANKS.sub("\n", lines))
    ).strip()


def _first_line(text: str) -> str | None:
    """Return the first line if it may be a title: it is short and consists mostly of words."""
    line = normalize_space(text.lstrip().partition("\n")[0]) if text else ""
    letters = sum(map(str.isalpha, line))
    is_title = line and len(line) <= _MAX_TITLE_CHARS and 2 * letters >= len(line.replace(" ", ""))
    return line if is_title else None


def _detect_language(text: str) -> str | None:
    sample = text[:_MAX_DETECTION_CHARS]
    visible = "".join(sample.split())
    letters = sum(map(str.isalpha, visible))
    if letters < _MIN_LETTER_SHARE * len(visible) or letters < 4 * _MIN_WORDS:
        return None
    if sample.isascii() and len(sample.split()) < _MIN_WORDS:
        return None
    language = chardet.detect(sample.encode()).get("language")
    return language if language and _LANGUAGE.fullmatch(language) else None


_PARSERS_BY_TYPE = {PDF: _read_pdf, PLAIN: _read_plain}
