"""
Build trafilatura's input tree from the page's own tree, so that both have the same structure.

The page's parser serializes the tree, and lxml parses the result. Links become absolute; those that
are not http(s) lose their target. Permalinks and templates are removed. Each code element becomes a
single string.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lxml import etree, html

from richpins._permalinks import is_permalink
from richpins.article.dialogs import remove_dialogs
from richpins.article.formulas import write_formulas
from richpins.article.images import ArticleImage, images_of
from richpins.article.page_texts import INLINE, NO_TEXT, letters_of

if TYPE_CHECKING:
    from richpins.document import Document

_PARSER_OPTIONS = {"remove_comments": True, "remove_pis": True, "huge_tree": True}
_NOT_XML = dict.fromkeys([*range(0x20), 0xFFFE, 0xFFFF], " ")
for _kept in (0x9, 0xA, 0xD):
    del _NOT_XML[_kept]
_SPACES = re.compile(r"[ \t\r\n\f]+")
_DROPPED = ("template",)
_CODE = ("code", "kbd", "samp", "tt", "var")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_FRAGMENT_SAFE = "!$&'*+,;=:@/?%-._~"
_JOINERS = ("\u200c", "\u200d")
_FIRST_STAND_IN = 0x10600
"""
The first character of Linear A, whose characters are the stand-ins. Unicode classifies them as
letters, but only texts about Crete use them.
"""
_MAX_STAND_INS = 200
_INVISIBLE = "\u00ad\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"
"""
Soft hyphen, zero-width space, word joiner, the operators of formulas and byte order mark, which are
all invisible.
"""
_DELETED_CHARACTERS = dict.fromkeys(map(ord, _INVISIBLE))


@dataclass(slots=True)
class ArticleTree:
    """A tree for trafilatura, its images, and the original characters of its stand-ins."""

    tree: Any
    images: list[ArticleImage] = field(default_factory=list)
    characters: dict[int, str] = field(default_factory=dict)
    """Maps each stand-in's code point to the original character, for `str.translate`."""


def prepare(page: Document, *, with_images: bool) -> ArticleTree:
    """Return a page as an lxml tree; `page` is not modified."""
    markup = page.tree.html or "<html></html>"
    stand_ins = _stand_ins(markup)
    parser = html.HTMLParser(encoding="utf-8", **_PARSER_OPTIONS)
    readable = markup.translate({**_NOT_XML, **stand_ins}).encode("utf-8", "replace")
    tree = html.document_fromstring(readable, parser=parser)
    article = ArticleTree(tree, characters={ord(new): chr(old) for old, new in stand_ins.items()})
    etree.strip_elements(tree, *_DROPPED, with_tail=False)
    write_formulas(tree, as_tex=with_images)
    for script in tree.iter("script"):
        _restore_escapes(script, stand_ins)
    for link in list(tree.iter("a")):
        _prepare_link(link, page)
    remove_dialogs(tree)
    _release_quotes(tree)
    _remove_hidden(tree)
    _remove_advertisement_lines(tree)
    _prepare_code(tree)
    _collapse_spaces(tree)
    if with_images:
        article.images = images_of(tree, page.base_url)
    return article


def _stand_ins(markup: str) -> dict[int, str]:
    """
    Return stand-ins (letters) for characters that readers need but trafilatura deletes.

    It deletes characters that are not `str.isprintable`. These include the joiners in Persian and
    Hindi words, direction marks, and letters unknown to this Python version.
    """
    if markup.isascii() and "\\u200" not in markup:
        return {}
    present = set(markup)
    deleted = [*_JOINERS, *sorted(c for c in present - {*_JOINERS} if _is_deleted_text(c))]
    free = (c for c in map(chr, range(_FIRST_STAND_IN, _FIRST_STAND_IN + 311)) if c not in present)
    return {ord(c): new for c, new in zip(deleted[:_MAX_STAND_INS], free, strict=False)}


def _restore_escapes(script: Any, stand_ins: dict[int, str]) -> None:
    """Replace escaped joiners in JSON-LD, which may contain the article, with stand-ins."""
    text = script.text or ""
    for joiner in _JOINERS:
        if ord(joiner) in stand_ins:
            text = text.replace(f"\\u{ord(joiner):04x}", stand_ins[ord(joiner)])
    script.text = text


def _is_deleted_text(character: str) -> bool:
    if character.isprintable() or character in _INVISIBLE:
        return False
    category = unicodedata.category(character)
    return category == "Cf" or (category == "Cn" and ord(character) & 0xFFFE != 0xFFFE)


def _remove_hidden(tree: Any) -> None:
    """
    Remove inline text that is neither displayed nor read aloud, such as tooltips and icon letters.

    Separate blocks are kept: a script may reveal them later, and some are hidden only from screen
    readers, because a label repeats their text.
    """
    _remove_invisible(tree)
    for element in tree.xpath("//*[@hidden or @aria-hidden='true']"):
        parent = element.getparent()
        if element.tag not in INLINE or element.get("hidden") == "until-found" or parent is None:
            continue
        text = element.text_content()
        if len(" ".join(parent.text_content().split())) <= len(" ".join(text.split())) + 1:
            continue
        if text.isalnum() or not text:
            element.drop_tree()
        else:
            _replace_content(element, " ")  # the space may separate two words


def _remove_invisible(tree: Any) -> None:
    """
    Remove elements hidden by their own style, if enough text is left in other paragraphs.

    Some pages are entirely invisible until their script runs.
    """
    elements = tree.xpath("//*[contains(@style, 'isibility')]")
    invisible = [e for e in elements if _INVISIBLE_STYLE.search(e.get("style"))]
    inside = {paragraph for element in invisible for paragraph in element.iter("p")}
    visible_texts = (
        paragraph.text_content()
        for paragraph in tree.iter("p")
        if invisible and paragraph not in inside
    )
    if sum(map(len, visible_texts)) < _MIN_LEFT:
        return
    for element in invisible:
        if element.getparent() is not None:
            element.drop_tree()


_INVISIBLE_STYLE = re.compile(r"(?:\A|;|\s)visibility\s?:\s?hidden", re.IGNORECASE)
_MIN_LEFT = 200


def _release_quotes(tree: Any) -> None:
    """
    Turn figures with a quotation into plain elements, because trafilatura leaves figures out.

    A quotation that only repeats a passage of the text stays in its figure.
    """
    figures = [each for each in tree.iter("figure") if each.find(".//blockquote") is not None]
    figures = [each for each in figures if each.find(".//img") is None]
    if not figures:
        return
    letters = letters_of(tree.text_content())
    for figure in figures[:_MAX_QUOTES]:
        quotation = letters_of(figure.find(".//blockquote").text_content())
        if quotation and letters.count(quotation) == 1:
            figure.tag = "div"
            for caption in figure.iter("figcaption"):
                caption.tag = "p"


_MAX_QUOTES = 50


def _remove_advertisement_lines(tree: Any) -> None:
    """Remove lines that only announce an advertisement."""
    for element in list(tree.iter("p", "div", "span", "small")):
        text = element.text
        if (
            len(element) == 0
            and text
            and len(text) <= _MAX_AD_CHARS
            and _IS_ADVERTISEMENT.fullmatch(text)
            and element.getparent() is not None
        ):
            element.drop_tree()


_MAX_AD_CHARS = 60
_IS_ADVERTISEMENT = re.compile(
    r"\W*(?:advertisements?|advert|anzeigen?|werbung|publicité|publicidade?|pubblicità|advertentie|"
    r"annons(?:e|er)?|reklam[ae]?|реклама|広告|광고|广告|廣告)"
    r"(?:\W{1,5}(?:(?:article\s)?continues?|continue\sreading|story\scontinues)(?:\s\w{1,8}){0,4})?\W*",
    re.IGNORECASE,
)


def _prepare_link(link: Any, page: Document) -> None:
    href = link.attrib.pop("href", None)
    if href is None:
        return
    if is_permalink(link.text_content(), href, link.get("class") or ""):
        link.drop_tree()
        return
    target = absolute_target(page, href)
    if target is not None:
        link.set("href", target)


def absolute_target(page: Document, href: str) -> str | None:
    """
    Return a link's normalized target with its fragment; None if it is not http(s).

    A reference to the page itself (`#part`) resolves to the page's URL or its base URL.
    """
    address, _, fragment = href.strip().partition("#")
    url = page.resolve(address or page.base_url)
    if url is None or not fragment:
        return url
    return f"{url}#{quote(fragment, safe=_FRAGMENT_SAFE)}"


def _collapse_spaces(tree: Any) -> None:
    """
    Collapse white space, and remove it between blocks.

    trafilatura counts characters, so otherwise the source's indentation would matter.
    """
    for element in tree.iter():
        if element.tag == "code" or element.tag in NO_TEXT:
            inner = element.text
        else:
            is_block = element.tag not in INLINE
            inner = _collapse_space(
                element.text, at_start=is_block, at_end=is_block and not len(element)
            )
        element.text = inner
        following = element.getnext()
        ends = following is None and _is_block(element.getparent())
        element.tail = _collapse_space(
            element.tail,
            at_start=_is_block(element),
            at_end=ends or (following is not None and _is_block(following)),
        )


def _is_block(element: Any) -> bool:
    return element is not None and element.tag not in INLINE and element.tag != "img"


def _collapse_space(text: str | None, *, at_start: bool, at_end: bool) -> str | None:
    if not text:
        return None
    single = _SPACES.sub(" ", text.translate(_DELETED_CHARACTERS))
    if at_start:
        single = single.lstrip(" ")
    if at_end:
        single = single.rstrip(" ")
    return single or None


def _prepare_code(tree: Any) -> None:
    """Turn each code element into a single string. A leading newline marks a code block."""
    for block in list(tree.iter("pre")):
        for line_break in list(block.iter("br")):
            line_break.tail = "\n" + (line_break.tail or "")
        _replace_content(block, "\n" + block.text_content().strip("\n"))
        block.tag = "code"
    for heading in tree.iter(*_HEADINGS):
        if len(heading) and not _own_text(heading) and all(child.tag in _CODE for child in heading):
            _replace_content(
                heading, heading.text_content()
            )  # a heading that contains only code would become a paragraph
    for code in tree.iter("code"):
        if not (code.text or "").startswith("\n") and not _is_alone(code):
            _join_lines(code)
    for line_break in tree.xpath("//code//br"):
        line_break.tail = "\n" + (line_break.tail or "")
    for code in list(tree.iter(*_CODE)):
        if len(code) and not (code.text or "").startswith("\n"):
            _flatten(code)


def _is_alone(code: Any) -> bool:
    """Return True if code is an element's only content. Style sheets may put it on its own line."""
    parent = code.getparent()
    if parent is None or parent.tag in {"td", "th", "li"}:
        return False
    return bool(parent.text_content().strip() == code.text_content().strip())


def _join_lines(code: Any) -> None:
    """Join the lines of inline code, as browsers do."""
    for element in code.iter():
        element.text = element.text and element.text.replace("\n", " ")
        if element is not code:
            element.tail = element.tail and element.tail.replace("\n", " ")


def _own_text(element: Any) -> str:
    return "".join([element.text or "", *(child.tail or "" for child in element)]).strip()


def _flatten(code: Any) -> None:
    links = list(code.iter("a"))
    text = code.text_content()
    link = links[0] if len(links) == 1 else None
    if link is not None and link.text_content().strip() == text.strip() and link.get("href"):
        href = link.get(
            "href"
        )  # a link inside code becomes code inside a link, which Markdown supports
        inner = html.Element(code.tag)
        inner.text = text
        _replace_content(code, None)
        code.tag = "a"
        code.attrib.clear()
        code.set("href", href)
        code.append(inner)
        return
    _replace_content(code, " ".join(text.split()) if code.tag != "code" else text)


def _replace_content(element: Any, text: str | None) -> None:
    for child in list(element):
        element.remove(child)
    element.text = text
