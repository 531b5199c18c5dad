"""The invariants of title, plain text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from bench.invariants import Finding, recipe_checks
from bench.invariants.page_oracle import (
    PERMALINK_SIGNS,
    PageOracle,
    letters,
    out_of_order,
    same_url,
    words,
)
from bench.invariants.reading import Reading

LINKS = "a link of Markdown is one of the page"
SCHEMES = "Markdown links only to http(s)"
IMAGES = "an image of Markdown is one of the page"
SAFE = "rendered Markdown has no markup that the page shows as text"
TEXT_ORDER = "the words of the text are in the page, in that order"
TEXT_WORDS = "each word of the text is a word of the page"
MARKDOWN_ORDER = "the words of Markdown are in the page, in that order"
JOINERS = "joiners in the words of the text are those of the page"
TITLE = "the words of the title are in the page"
PERMALINK_SIGN = "no title, heading or line has a permalink's sign"
HEADINGS = "a heading of the page is a heading of Markdown"
LISTS = "an entry of a list is one in Markdown"
TABLES = "a row of a table is one in Markdown"
CODE = "code is code in Markdown, line by line"

_RENDERED_TAGS = frozenset(
    [
        "html",
        "head",
        "body",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
        "strong",
        "s",
        "del",
        "blockquote",
        "br",
        "hr",
        "a",
        "img",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "sub",
        "sup",
        "-text",
    ]
)
_MIN_LETTERS = 20
_JOINERS = re.compile("\\w+[\u200c\u200d]\\w+")


def render(markdown: str) -> LexborHTMLParser:
    """Return the tree of Markdown rendered by an independent program."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return LexborHTMLParser(parser.render(markdown))


class _Rendered:
    def __init__(self, markdown: str) -> None:
        self.tree = render(markdown)
        for image in self.tree.css("img"):
            image.insert_before(" ")
        self.text = self.tree.body.text() if self.tree.body else ""
        self.letters = letters(self.text)


Check = Callable[[PageOracle, Reading, _Rendered], Iterator[Finding]]


def findings(page: PageOracle, reading: Reading) -> list[Finding]:
    """Return all findings of a page."""
    rendered = _Rendered(reading.markdown)
    found = [finding for check in CHECKS for finding in check(page, reading, rendered)]
    return [*found, *recipe_checks.findings(page, reading)]


def _links(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    hrefs = [node.attributes.get("href") or "" for node in rendered.tree.css("a[href]")]
    if hrefs:
        foreign = [href for href in hrefs if same_url(href) not in page.link_targets]
        yield Finding(LINKS, f"{len(foreign)} of {len(hrefs)}: {foreign[0]}" if foreign else "")
        unsafe = [href for href in hrefs if not re.match(r"https?://", href)]
        yield Finding(SCHEMES, unsafe[0] if unsafe else "")


def _images(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    sources = [node.attributes.get("src") or "" for node in rendered.tree.css("img")]
    if sources:
        foreign = [source for source in sources if same_url(source) not in page.image_sources]
        yield Finding(IMAGES, f"{len(foreign)} of {len(sources)}: {foreign[0]}" if foreign else "")


def _safe(_: PageOracle, reading: Reading, rendered: _Rendered) -> Iterator[Finding]:
    if reading.markdown:
        unexpected = [node.tag for node in rendered.tree.css("*") if node.tag not in _RENDERED_TAGS]
        yield Finding(SAFE, f"<{unexpected[0]}>" if unexpected else "")


def _text_order(page: PageOracle, reading: Reading, _: _Rendered) -> Iterator[Finding]:
    if reading.text.strip():
        yield Finding(
            TEXT_ORDER, out_of_order(words(reading.text), page.letters, letters(page.scripts))
        )
        unknown = sorted({*words(reading.text)} - page.word_set - {*words(page.scripts)})
        yield Finding(TEXT_WORDS, " ".join(unknown[:5]))


def _markdown_order(page: PageOracle, reading: Reading, rendered: _Rendered) -> Iterator[Finding]:
    if reading.markdown.strip():
        yield Finding(
            MARKDOWN_ORDER, out_of_order(words(rendered.text), page.letters, letters(page.scripts))
        )


def _joiners(page: PageOracle, reading: Reading, rendered: _Rendered) -> Iterator[Finding]:
    joined = {*_JOINERS.findall(page.text)}
    by_word_without = {re.sub("[\u200c\u200d]", "", word): word for word in joined}
    plain = {*words(page.text)}
    for name, text in (("text", reading.text), ("Markdown", rendered.text)):
        output_words = {*re.findall(r"[\w\u200c\u200d]+", text)}
        relevant = (joined & output_words) | {*by_word_without} & output_words - plain
        if relevant:
            foreign = sorted({*by_word_without} & output_words - plain)
            yield Finding(JOINERS, f"{name}: {foreign[0]}" if foreign else "")


def _title(page: PageOracle, reading: Reading, _: _Rendered) -> Iterator[Finding]:
    if reading.title:
        everything = letters(f"{page.text} {page.meta_text} {page.scripts}").casefold()
        missing = [w for w in words(reading.title) if letters(w).casefold() not in everything]
        yield Finding(TITLE, " ".join(missing))


def _signs(page: PageOracle, reading: Reading, _: _Rendered) -> Iterator[Finding]:
    links = [node.text() for node in page.tree.css('a[href*="#"]')]
    if any(text.strip() in PERMALINK_SIGNS for text in links if text.strip()):
        lines = [reading.title, *reading.text.splitlines(), *reading.markdown.splitlines()]
        lines_with_sign = [
            line for line in lines if line.strip("* ")[-1:] in {*PERMALINK_SIGNS} or "[¶](" in line
        ]
        other_signs = sum(page.text.count(sign) for sign in PERMALINK_SIGNS) - sum(
            t.strip() in PERMALINK_SIGNS for t in links
        )
        yield Finding(
            PERMALINK_SIGN, lines_with_sign[0] if len(lines_with_sign) > max(0, other_signs) else ""
        )


def _headings(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    found = {letters(node.text()) for node in rendered.tree.css("h1,h2,h3,h4,h5,h6")}
    lines = {letters(node.text()) for node in rendered.tree.css("p")}
    paragraphs = {
        letters(node.text()) for node in page.tree.css("p,li,td,dt,dd,div:not(:has(h1,h2,h3))")
    }
    paragraphs |= {letters(n.text()) for n in page.tree.css("a,span,b") if not _in_heading(n)}
    page_headings = (
        {letters(n.text()) for n in page.tree.css("h1,h2,h3,h4,h5,h6")} - paragraphs - {""}
    )
    expected = page_headings & (found | lines)
    if expected:
        missing = sorted(expected - found)
        yield Finding(HEADINGS, missing[0] if missing else "")


def _in_heading(node) -> bool:
    while node is not None and node.tag not in {"h1", "h2", "h3", "h4", "h5", "h6"}:
        node = node.parent
    return node is not None


def _lists(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    entries = {letters(node.text()) for node in page.tree.css("li:not(:has(li)):not(:has(h2,h3))")}
    others = {
        letters(node.text()) for node in page.tree.css("p,td,h1,h2,h3,h4") if not _in_list(node)
    }
    entries = {entry for entry in entries - others if len(entry) >= _MIN_LETTERS}
    found = {letters(node.text()) for node in rendered.tree.css("li")}
    paragraphs = {letters(node.text()) for node in rendered.tree.css("p") if not _in_list(node)}
    expected = entries & (found | paragraphs)
    if expected:
        missing = sorted(expected - found)
        yield Finding(LISTS, missing[0][:60] if missing else "")


def _in_list(node) -> bool:
    for _ in range(6):
        node = node.parent
        if node is None:
            return False
        if node.tag == "li":
            return True
    return False


def _tables(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    rows = {
        tuple(letters(cell.text()) for cell in row.css("td,th"))
        for row in page.tree.css("table:not(:has(table)) tr:not(:has(li,p + p,pre))")
    }
    rows = {row for row in rows if len(row) > 1 and len("".join(row)) >= _MIN_LETTERS and all(row)}
    expected = {row for row in rows if "".join(row) in rendered.letters}
    if expected:
        found = {
            tuple(letters(cell.text()) for cell in row.css("td,th"))
            for row in rendered.tree.css("tr")
        }
        missing = sorted(expected - {tuple(filter(None, row)) for row in found})
        yield Finding(TABLES, " | ".join(missing[0])[:80] if missing else "")


def _code(page: PageOracle, _: Reading, rendered: _Rendered) -> Iterator[Finding]:
    blocks = {_code_lines(node) for node in page.tree.css("pre") if "\n" in node.text().strip("\n")}
    expected = {
        b for b in blocks if len(letters(b)) >= _MIN_LETTERS and letters(b) in rendered.letters
    }
    if expected:
        found = {_code_lines(node) for node in rendered.tree.css("pre")}
        missing = sorted(
            block for block in expected if not any(block in output_block for output_block in found)
        )
        yield Finding(CODE, missing[0][:60] if missing else "")


def _code_lines(node) -> str:
    for line_break in node.css("br"):
        line_break.replace_with("\n")
    lines = (line.rstrip() for line in node.text().strip("\n").split("\n"))
    return "\n".join(lines).replace("\u00a0", " ").strip("\n")


CHECKS: tuple[Check, ...] = (
    _links, _images, _safe, _text_order, _markdown_order, _joiners, _title, _signs, _headings, _lists,
    _tables, _code,
)  # fmt: skip
