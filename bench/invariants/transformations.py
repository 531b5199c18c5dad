"""Different ways to write the same page, which must not change aragog's result."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urljoin

_RAW = (
    r"<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)\b.*?</(?P=raw)\s*>"
)
_PARTS = re.compile(rf"(?is){_RAW}|<!--.*?-->|<![^>]*>|<\?[^>]*>")
_TAG = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:\s+[^\s=>/\"'<]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"'<=`]+))?)*)(\s*/?)>"
)
_ATTRIBUTE = re.compile(r"([^\s=>/\"'<]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>\"'<=`]+))?")
_BLOCKS = frozenset(
    [
        "html",
        "head",
        "body",
        "div",
        "p",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "nav",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "dl",
        "dt",
        "dd",
        "blockquote",
        "form",
        "meta",
        "link",
    ]
)


@dataclass(frozen=True, slots=True)
class Variant:
    """The same page, written differently."""

    body: bytes
    url: str
    content_type: str = "text/html; charset=utf-8"


def _outside_raw(markup: str, change: Callable[[str], str]) -> str:
    """Change markup, except scripts, comments and the like."""
    parts, offset = [], 0
    for match in _PARTS.finditer(markup):
        parts += [change(markup[offset : match.start()]), match[0]]
        offset = match.end()
    return "".join([*parts, change(markup[offset:])])


_QUERY = re.compile(r"""=\s*(?:"[^"<>?]*\?[^"<>]*"|'[^'<>?]*\?[^'<>]*')""")
_REFERENCE = re.compile(r"&#?\w+;")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def _escape_queries(markup: str) -> str:
    """Escape non-ASCII letters in queries, which browsers write in the page's encoding."""
    return _QUERY.sub(lambda match: _escape_query(match[0]), markup)


def _escape_query(value: str) -> str:
    path, question, query = value.partition("?")
    if not (path + query).isascii() and " " in query:
        return value  # text with a question mark
    query = _REFERENCE.sub(
        lambda m: m[0] if (letter := html.unescape(m[0])).isascii() else letter, query
    )
    return path + question + _NOT_ASCII.sub(lambda m: quote(m[0], errors="replace"), query)


def _charset(name: str) -> Callable[[str, str], Variant]:
    def transform(markup: str, url: str) -> Variant:
        markup = _escape_queries(markup)
        markup = re.sub(r"(?i)(<meta[^>]*charset\s*=\s*[\"']?)[\w-]+", rf"\1{name}", markup)
        encoded = markup.encode(name, "surrogatepass" if "16" in name else "xmlcharrefreplace")
        return Variant(encoded, url, f"text/html; charset={name}")

    return transform


def _upper_case(markup: str, url: str) -> Variant:
    def upper(match: re.Match[str]) -> str:
        attributes = _ATTRIBUTE.sub(
            lambda a: a[1].upper() + (f"={a[2]}" if a[2] is not None else ""), match[3]
        )
        return f"<{match[1]}{match[2].upper()}{attributes}{match[4]}>"

    return _utf8(_outside_raw(markup, lambda part: _TAG.sub(upper, part)), url)


def _attributes(markup: str, url: str) -> Variant:
    """Reverse the order of attributes, and swap their quotes."""

    def reorder(match: re.Match[str]) -> str:
        attributes = [(a[1], a[2]) for a in _ATTRIBUTE.finditer(match[3])]
        if len({name.lower() for name, _ in attributes}) != len(attributes):
            return match[0]
        reordered = "".join(f" {name}{_swap_quotes(value)}" for name, value in reversed(attributes))
        return f"<{match[1]}{match[2]}{reordered}{match[4]}>"

    return _utf8(_outside_raw(markup, lambda part: _TAG.sub(reorder, part)), url)


def _swap_quotes(value: str | None) -> str:
    if value is None:
        return ""
    bare = value[1:-1] if value[:1] in {'"', "'"} else value
    if value[:1] == '"':
        return "='" + bare.replace("'", "&#39;") + "'"
    return '="' + bare.replace('"', "&quot;") + '"'


def _references(markup: str, url: str) -> Variant:
    """Write every non-ASCII character as a reference."""

    def change(part: str) -> str:
        return re.sub(r"[^\x00-\x9f]", lambda match: f"&#{ord(match[0])};", part)

    titles = re.sub(r"(?is)<title\b.*?</title>", lambda match: change(match[0]), markup)
    return _utf8(_outside_raw(titles, change), url)


def _comments(markup: str, url: str) -> Variant:
    """Insert comments and white space between the tags of blocks."""

    def change(part: str) -> str:
        return re.sub(
            r"(</?([a-zA-Z0-9]+)\b[^<>]*>)\s*(?=</?([a-zA-Z0-9]+)\b)",
            lambda m: f"{m[1]}\n <!-- - --> " if {m[2].lower(), m[3].lower()} <= _BLOCKS else m[0],
            part,
        )

    offset = re.search(r"(?i)<body\b", markup)
    if offset is None or re.search(r"(?i)<(pre|textarea)\b", markup):
        pieces = re.split(r"(?is)(<pre\b.*?</pre>)", markup[offset.start() if offset else 0 :])
        pieces[::2] = [_outside_raw(piece, change) for piece in pieces[::2]]
        return _utf8(markup[: offset.start() if offset else 0] + "".join(pieces), url)
    return _utf8(markup[: offset.start()] + _outside_raw(markup[offset.start() :], change), url)


def _base(markup: str, url: str) -> Variant | None:
    """Add a base element with the page's own URL."""
    return _with_base(markup, url, url)


def _move(markup: str, url: str) -> Variant | None:
    """Move the page to another path, with a base element for its links."""
    return _with_base(markup, url, urljoin(url, "/another/path/to/a/page.html"))


def _with_base(markup: str, base: str, url: str) -> Variant | None:
    head = re.search(r"(?i)<head\b[^>]*>", markup)
    if head is None or re.search(r"(?i)<base\b", markup):
        return None
    return _utf8(f'{markup[: head.end()]}<base href="{base}">{markup[head.end() :]}', url)


def _utf8(markup: str, url: str) -> Variant:
    return Variant(markup.encode("utf-8", "replace"), url)


TRANSFORMATIONS: dict[str, Callable[[str, str], Variant | None]] = {
    "UTF-16": _charset("utf-16"),
    "windows-1252, other characters as references": _charset("windows-1252"),
    "GB18030": _charset("gb18030"),
    "upper-case tags and attributes": _upper_case,
    "attributes in another order and other quotes": _attributes,
    "characters as references": _references,
    "comments and white space between elements": _comments,
    "a base element": _base,
    "the page at another path with its links": _move,
}
