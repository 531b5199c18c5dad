"""
Read a page independently of aragog: words, links, images, headings, lists, tables and code.

The encoding is detected by aragog, because charsets have separate transformations. Everything else
is read with the standard library and a plain walk over the tree of an HTML5 parser.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote, urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
HIDDEN = frozenset({"script", "style", "template"})
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
PERMALINK_SIGNS = "¶§🔗⚓"
_WORD = re.compile(r"\w+")


def letters(text: str) -> str:
    """Return the letters and digits of a text, which markup and white space do not affect."""
    return "".join(_WORD.findall(unicodedata.normalize("NFC", INVISIBLE.sub("", text)))).replace(
        "_", ""
    )


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(unicodedata.normalize("NFC", INVISIBLE.sub("", text)).replace("_", " "))


def out_of_order(expected_words: list[str], *sources: str) -> str:
    """Return the first word that is out of order in every source, or an empty string."""
    first = ""
    for text in sources:
        offset, missing = 0, ""
        for index, word in enumerate(expected_words):
            start = text.find(word, offset)
            if start < 0:
                missing = f"{word!r} after {' '.join(expected_words[max(0, index - 6) : index])!r}"
                break
            offset = start + len(word)
        if not missing:
            return ""
        first = first or missing
    return first


@dataclass
class PageOracle:
    """A page as a plain reader sees it."""

    markup: str
    url: str
    problems: list[str] = field(default_factory=list)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        return LexborHTMLParser(self.markup)

    @cached_property
    def base(self) -> str:
        node = self.tree.css_first("base[href]")
        href = node.attributes.get("href") or "" if node else ""
        return urljoin(self.url, href.strip()) if href else self.url

    @cached_property
    def text(self) -> str:
        """All text, with a space at each block boundary."""
        return self._text_with_spaces(everywhere=False)

    @cached_property
    def separated_text(self) -> str:
        """
        All text, with a space at each element boundary, because style sheets also
        create gaps.
        """
        return self._text_with_spaces(everywhere=True)

    def _text_with_spaces(self, *, everywhere: bool) -> str:
        parts: list[str] = []
        stack: list[LexborNode | str | None] = [self.tree.root]
        while stack:
            node = stack.pop()
            if node is None:
                continue
            if isinstance(node, str):
                parts.append(node)
                continue
            tag = node.tag or ""
            if tag == "-text":
                parts.append(node.text() or "")
                continue
            if tag.startswith("-") or tag in HIDDEN:
                continue
            gap = "" if tag in INLINE and not everywhere else " "
            parts.append(gap)
            children = []
            child = node.first_child
            while child is not None:
                children.append(child)
                child = child.next
            stack.append(gap)
            stack.extend(reversed(children))
        return "".join(parts)

    @cached_property
    def scripts(self) -> str:
        """The unescaped text of JSON in the page. Some articles are only there."""
        found = " ".join(node.text() for node in self.tree.css("script[type*=json]") if node.text())
        found = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), found)
        found = re.sub(r"\\[nrt/]", " ", found)
        return html.unescape(html.unescape(re.sub(r"<[^<>]*>", " ", html.unescape(found))))

    @cached_property
    def meta_text(self) -> str:
        """The values of meta elements and attributes."""
        nodes = self.tree.css("meta[content],img[alt]")
        texts = [n.attributes.get("content") or n.attributes.get("alt") or "" for n in nodes]
        return html.unescape(" ".join(texts))

    @cached_property
    def attribute_text(self) -> str:
        """The invisible values of microdata."""
        nodes = self.tree.css("[content]")
        return html.unescape(" ".join(n.attributes.get("content") or "" for n in nodes))

    @cached_property
    def letters(self) -> str:
        return letters(self.text)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The letters of visible text, JSON and attributes, any of which may contain a value."""
        return (self.letters, letters(self.scripts), letters(self.attribute_text))

    @cached_property
    def word_set(self) -> frozenset[str]:
        return frozenset(words(self.text)) | frozenset(words(self.separated_text))

    @cached_property
    def link_targets(self) -> frozenset[str]:
        found = set()
        for node in self.tree.css("a[href]"):
            target = self._resolve(node.attributes.get("href") or "")
            if target:
                found.add(target)
        return frozenset(found)

    @cached_property
    def image_sources(self) -> frozenset[str]:
        found = set()
        for node in self.tree.css("img,source"):
            for name, value in node.attributes.items():
                if value and ("src" in name or name.startswith("data-")):
                    candidates = [value]
                    if "srcset" in name:
                        candidates += re.findall(r"[^\s,]\S*[^\s,]", value)
                    found |= {self._resolve(candidate) for candidate in candidates}
        return frozenset(filter(None, found))

    def _resolve(self, href: str) -> str | None:
        from urlspelling import resolve as resolve_url  # Python's urljoin loses empty segments

        try:
            return same_url(resolve_url(href.strip(), self.base))
        except ValueError:
            return None


def same_url(url: str) -> str:
    """Return a comparable spelling of a URL: normalized like links, with its fragment unquoted."""
    from aragog.errors import InvalidUrl
    from urlspelling import normalize

    base, _, fragment = url.partition("#")
    try:
        base = normalize(base)
    except InvalidUrl:
        base = unquote(base)
    return unquote(f"{base}#{fragment}" if fragment else base)
