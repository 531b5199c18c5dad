"""Find a page's authors in its visible text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind
from selectolax.lexbor import LexborNode

from richpins._plain_text import spaced_lines, spaced_text
from richpins.document import normalize_space
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import AUTHORS_IN_TAGS
from richpins.values.scalars import MAX_NAME_CHARS
from richpins.visible_text.places import is_in_other_content, matches_after_heading
from richpins.visible_text.shown_days import text_before_date

_BYLINE_SELECTOR = (
    '[rel~="author"],[class*="byline" i],[class*="author" i],[itemprop~="author"],'
    '[class~="signature"],[class~="firma"]'
)
_MAX_BYLINES = 30
_BYLINE = re.compile(
    r"(?i:(?:written |posted |published |recipe )?by:?\s+|(?:von|por|par|di|door|av|af)\s+)?"
    r"([^\W\d_a-z][\w.’'\-]*(?:\s+(?:(?:de|van|von|der|la|del|di|da|el|al|bin|ter|and)\s+)*"
    r"[^\W\d_a-z][\w.’'\-]*){1,3})(?:\s*[|,–·•\-].*|\s+\S+@\S+)?"
)
_NAME = (
    r"[^\W\d_a-z][\w.’'\-]*(?:\s(?:(?:de|van|von|der|la|del|di|da|el|al|bin|ter)\s)*"
    r"[^\W\d_a-z][\w.’'\-]*){1,3}"
)
_SEVERAL_NAMES = re.compile(
    r"(?i:(?:written |words |story |posted |published )?by:?\s|(?:von|por|par|door)\s)"
    rf"({_NAME}(?:,\s{_NAME}){{0,9}}(?:,\s|,?\s(?:and|und|y|et|en|e|och|og|&)\s){_NAME})"
    r"(?:,\s(?:à|in|en|a|i|aus)\s.{2,40})?"
)
"""`By A B, C D and E F`, in one element or in several."""


def bylines(sources: Sources) -> Iterator[Candidate]:
    """Yield names from byline and author elements, except in comments, menus and teasers."""
    named_elements = [
        (node, name)
        for node in _byline_elements(sources)
        if (name := _name_in(node)) is not None and not is_in_other_content(node)
    ]
    for node, name in named_elements:
        containers = _line_containers(node)
        names_together = [
            other
            for other_node, other in named_elements
            if other == name or _line_containers(other_node) & containers
        ]
        yield Candidate(
            list(dict.fromkeys(names_together)), "html", f"{node.tag} of class or rel author"
        )


def names_after_by(sources: Sources) -> Iterator[Candidate]:
    """Yield names after the word `by`, soon after the first h1, in elements of any class."""
    if not _may_contain_by(sources):
        return
    for match in matches_after_heading(sources, _BY_PHRASE, _MAX_BYTES_AFTER_HEADING):
        text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
        byline = _BYLINE.fullmatch(text)
        if byline is not None:
            name = _LEADING_BY.sub("", text, count=1) if _AND_BETWEEN.search(text) else byline[1]
            yield Candidate([name], "html", "behind a by")


def names_after_a_caption(sources: Sources) -> Iterator[Candidate]:
    """Yield the name after a caption such as `作者` or `Autor`, soon after the first h1."""
    for match in matches_after_heading(sources, _NAME_AFTER_CAPTION, _MAX_BYTES_AFTER_HEADING):
        text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
        name = _BYLINE.fullmatch(text) or _SHORT_NAME.fullmatch(text)
        if name is not None and not _NOT_AN_AUTHOR.fullmatch(name[1]):
            yield Candidate([name[1]], "html", "behind a caption for authors")
            return


_NAME_AFTER_CAPTION = re.compile(
    (
        r">\s{0,20}+(?:作者|撰文|記者|记者|執筆者|執筆|著者|글쓴이|작성자|저자|글|[Aa]utor(?:in|ka|e|a)?|"
        r"[Aa]uteure?|[Aa]uthor|Автор|[Ff]orfatter|[Ff]örfattare|[Ss]kribent|[Yy]azar|Συντάκτης)"
        r"\s{0,3}(?:<[^<>]{1,400}>\s{0,20}){0,2}(?::|：)\s{0,20}(?:<[^<>]{1,400}>\s{0,20}){0,4}([^<>]{5,80})<"
    ).encode()
)


def names_below_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield a bold name directly below the first h1, if a date follows the name."""
    start = sources.heading_end
    match = _BOLD_NAME.match(sources.words.body, start) if start >= 0 else None
    if match is None:
        return
    text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
    if _CAPITALIZED_NAME.fullmatch(text) and not _NOT_AN_AUTHOR.fullmatch(text):
        yield Candidate([text], "html", "bold below the h1")


_BOLD_NAME = re.compile(
    rb"</h1\s{0,9}>\s{0,99}(?:</?(?:div|p|span|header|section)\b[^<>]{0,200}>\s{0,99}){0,6}"
    rb"<(?:b|strong)\b[^<>]{0,200}>\s{0,99}([^<>]{5,60})</(?:b|strong)>"
    rb"(?=(?:[^<>]{0,80}<[^<>]{0,200}>){0,6}[^<>]{0,40}(?:(?:19|20)\d\d\b|<time\b))",
    re.IGNORECASE,
)
_CAPITALIZED_NAME = re.compile(
    r"(?:[^\W\d_a-z][\w.’'-]*\s){1,2}(?:(?:de|van|von|der|la)\s){0,2}[^\W\d_a-z][\w’'-]+"
)


def _may_contain_by(sources: Sources) -> bool:
    """Return True if a string soon after the h1 may start with `by`. Faster than `_BY_PHRASE`."""
    start = sources.heading_end
    following = (
        sources.words.lowered[start : start + _MAX_BYTES_AFTER_HEADING] if start >= 0 else b""
    )
    return any(
        following[max(0, position - _MAX_BYTES_BEFORE_BY) : position].rstrip().endswith(_BEFORE_BY)
        for _, position, _ in _BY_WORDS.find_matches_as_indexes(following)
    )


_BY_WORDS = BytesAhoCorasick(
    [
        word + end
        for word in (b"by", b"von", b"par", b"por", b"door")
        for end in (b":", b"<", b" ", b"\t", b"\n", b"\r", b"\f", b"\v")
    ],
    matchkind=MatchKind.LeftmostFirst,
    implementation=Implementation.DFA,
)
_BEFORE_BY = (b">", b"written", b"posted", b"published", b"words", b"story")
_MAX_BYTES_BEFORE_BY = 40
_BY_PHRASE = re.compile(
    rb">\s{0,20}+(?=[BbDPpSVvW])(?:(?:Written|Posted|Published|Words|Story)\s)?(?:[Bb]y|BY|[Vv]on|[Pp]ar|[Pp]or|[Dd]oor)"
    rb"(?=[\s:<])\s{0,20}:?\s{0,20}(?:<[^<>]{1,400}>\s{0,20}){0,4}([^<>]{5,80})<"
)
_LEADING_BY = re.compile(r"^by\s", re.IGNORECASE)
_AND_BETWEEN = re.compile(r"\band\b", re.IGNORECASE)
_MAX_BYTES_AFTER_HEADING = 20_000


def _name_in(node: LexborNode) -> str | None:
    text = _raw_name(_name_element(node)) or _name_of_picture(node)
    name = _SECTION.sub("", text).strip() if text else ""
    without_title = _JOB_TITLE.sub("", name)
    name = without_title if " " in without_title else name
    is_h_card = "h-card" in (node.attributes.get("class") or "").split()
    return name if name and (is_h_card or not _NOT_AN_AUTHOR.fullmatch(name)) else None


def _name_element(node: LexborNode) -> LexborNode:
    """Return the element with the name. An hCard may also have an organization and an address."""
    classes = (node.attributes.get("class") or "").split()
    if not _HCARD_CLASSES & set(classes):
        return node
    return node.css_first(".p-name") or node.css_first(".fn") or node


def _name_of_picture(node: LexborNode) -> str | None:
    """Return the person's name from the alt text of an hCard that is only a picture."""
    is_card = not _HCARD_CLASSES.isdisjoint((node.attributes.get("class") or "").split())
    picture = node.css_first("img[alt]") if is_card and not node.text().strip() else None
    match = _BYLINE.fullmatch((picture.attributes.get("alt") or "").strip()) if picture else None
    return match[1] if match else None


_HCARD_CLASSES = frozenset({"h-card", "vcard"})
_JOB_TITLE = re.compile(
    r"(?:\s(?:leitender?|senior|chief|political|staff|deputy|freier?|freie|special|foreign)){0,3}"
    r"\s(?:\w{0,20}(?:redakteur|korrespondent|reporter|journalist)(?:in)?|editor|correspondent|writer|"
    r"columnist|contributor|for\s\S+\.\w{2,4})\Z",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\A(?:news|opinion|analysis|kommentar|interview|gastbeitrag|text)\s(?:(?:by|von|par|de)\s)?",
    re.IGNORECASE,
)
_NOT_AN_AUTHOR = re.compile(
    r"(?:news|newsroom|log\s?(?:in|out)|sign\s?(?:in|up|out)|subscribe|read\smore|more|follow|share|"
    r"home|menu|search|(?:my\s)?account|register|contact(?:\sus)?|about(?:\sus)?|privacy|political|"
    r"(?:\S{1,20}\s){1,3}(?:news|media|magazine|times|tv|radio|newsroom|network)|"
    r"(?:\w+\s)?(?:correspondent|editor|reporter|writer|redakteur|korrespondent)(?:in)?)",
    re.IGNORECASE,
)
"""Menu items, publishers and job titles that look like names."""


def _raw_name(node: LexborNode) -> str | None:
    """Return the name in an element: alone, on its first line, or on the line after `by`."""
    if len(node.text()) > _MAX_CHARS_WITH_SCRIPTS:
        return None
    text = text_before_date(spaced_text(node))
    several_names = _SEVERAL_NAMES.fullmatch(text.replace(" ,", ","))
    if several_names:
        return several_names[1]
    listed = _listed_names(node)
    if listed:
        return ", ".join(listed)
    if len(text) <= MAX_NAME_CHARS:
        match = _BYLINE.fullmatch(text) or _SHORT_NAME.fullmatch(text) or _name_between_bars(text)
        if match:
            return match[1]
        if text and _is_in_path(text, node.attributes.get("href") or ""):
            return text
    return _name_in_lines(node)


def _listed_names(node: LexborNode) -> list[str]:
    """
    Return the names in the entries of a list, or in links side by side.

    Of links to different folders, only the first is a person; the others name a place or a section.
    """
    links = node.css("a[href]")[: _MAX_LISTED_NAMES + 1]
    folders = {(link.attributes.get("href") or "").rpartition("/")[0] for link in links}
    entries = _names_of(node.css("li")[: _MAX_LISTED_NAMES + 1])
    if entries:
        return entries
    linked = _names_of(links)
    return linked if len(folders) == 1 else linked[:1]


def _names_of(elements: list[LexborNode]) -> list[str]:
    """Return the texts of two or more elements, if each is a name as a whole."""
    texts = [spaced_text(element).strip(" ,") for element in elements]
    are_names = all(
        _CAPITALIZED_NAME.fullmatch(text) and not _NOT_AN_AUTHOR.fullmatch(text) for text in texts
    )
    return texts if are_names and 1 < len(texts) <= _MAX_LISTED_NAMES else []


_MAX_LISTED_NAMES = 10


def _name_between_bars(text: str) -> re.Match[str] | None:
    """Return the only name between bars: `Redacción | Marta Ruiz`."""
    parts = text.split(" | ") if " | " in text else []
    names = [match for part in parts if (match := _BYLINE.fullmatch(part.strip()))]
    return names[0] if len(names) == 1 else None


def _name_in_lines(node: LexborNode) -> str | None:
    lines = spaced_lines(node)
    if sum(map(len, lines)) > _MAX_BYLINE_CHARS:
        return None
    if len(lines) > 1 and _BY.fullmatch(lines[0]):
        lines = lines[1:]
    if not lines or len(lines[0]) > MAX_NAME_CHARS:
        return None
    match = _BYLINE.fullmatch(lines[0])
    return match[1] if match else None


def _is_in_path(text: str, href: str) -> bool:
    """Return True if the name is the end of the author's link: `Paul` and `/author/paul/`."""
    words = _SLUG_WORD.findall(text.lower())
    last_segment = href.partition("?")[0].rstrip("/").rpartition("/")[2].lower()
    return bool(words) and text[0].isupper() and _SLUG_WORD.findall(last_segment) == words


def _line_containers(node: LexborNode) -> set[int]:
    parent = node.parent
    grandparent = parent.parent if parent is not None else None
    elements = (parent, grandparent)
    return {
        element.mem_id for element in elements if element is not None and element.tag in _LINE_TAGS
    }


_SIGNATURE_CLASSES = (b'"signature"', b'"firma"')
_LINE_TAGS = frozenset(
    {"p", "span", "address", "h2", "h3", "h4", "h5", "h6", "li", "ul", "cite", "a"}
)
_BY = re.compile(r"(?:by|von|por|par|di|door|av|af):?", re.IGNORECASE)
_SLUG_WORD = re.compile(r"[^\W_]+")
_MAX_BYLINE_CHARS = 2_000
_MAX_CHARS_WITH_SCRIPTS = 20_000
_SHORT_NAME = re.compile(r"([\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,6})")
"""Names in scripts without spaces or capital letters."""


def _byline_elements(sources: Sources) -> list[LexborNode]:
    """Return author and byline elements; those after the first h1 come first."""
    words = sources.words
    is_signed = any(word in words.lowered for word in _SIGNATURE_CLASSES)
    author_words = [word for word in AUTHORS_IN_TAGS if words.occurs_in_tag(word)]
    has_address = b"<address" in words.lowered
    if (
        not author_words
        and not has_address
        and not is_signed
        and not words.occurs_in_class("byline")
    ):
        return []
    selectors = [f'a[href*="/{word}" i],[class*="{word}" i]' for word in author_words]
    if has_address:
        selectors.append("article address,main address,header address")
    nodes = sources.document.tree.css(",".join(["h1", _BYLINE_SELECTOR, *selectors]))
    heading_index = next((index for index, node in enumerate(nodes) if node.tag == "h1"), 0)
    ordered_nodes = [*nodes[heading_index:], *nodes[:heading_index]]
    return [node for node in ordered_nodes if node.tag != "h1"][:_MAX_BYLINES]
