"""Find the authors and the publication date of a page in its visible text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind
from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins._plain_text import parted_lines, parted_text, shown_text
from richpins.document import normalize_space
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import AUTHORS_IN_TAGS, DATES, TIME
from richpins.values import dates
from richpins.values.scalars import MAX_NAME_CHARS

_BYLINES = '[rel~="author"],[class*="byline" i],[class*="author" i],[itemprop~="author"]'
_MAX_BYLINES = 30
_BYLINE = re.compile(
    r"(?i:(?:written |posted |published |recipe )?by:?\s+|(?:von|por|par|di|door|av)\s+)?"
    r"([^\W\d_a-z][\w.’'\-]*(?:\s+(?:(?:de|van|von|der|la|del|di|da|el|al|bin|ter|and)\s+)*"
    r"[^\W\d_a-z][\w.’'\-]*){1,3})(?:\s*[|,–·•\-].*)?"
)


def bylines(sources: Sources) -> Iterator[Candidate]:
    """Yield names from elements of class or rel author or byline, except in comments."""
    named = [
        (node, name)
        for node in _after_the_heading(sources)
        if (name := _name_in(node)) is not None and not _is_elsewhere(node)
    ]
    for node, name in named:
        around = _around(node)
        together = [other for each, other in named if other == name or _around(each) & around]
        yield Candidate(list(dict.fromkeys(together)), "html", f"{node.tag} of class or rel author")


def _behind_heading(
    sources: Sources, pattern: re.Pattern[bytes], most_bytes: int
) -> Iterator[re.Match[bytes]]:
    """Matches in the bytes after the first h1; none without one."""
    start = sources.heading_end
    if start < 0:
        return iter(())
    return pattern.finditer(sources.words.body, start, start + most_bytes)


def names_behind_by(sources: Sources) -> Iterator[Candidate]:
    """Yield names after a `by` shortly after the first h1, in any elements."""
    if not _may_say_by(sources):
        return
    for match in _behind_heading(sources, _SAID_BY, _MAX_BYTES_BEHIND_HEADING):
        text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
        alone = _BYLINE.fullmatch(text)
        if alone is not None:
            name = _BY_BEFORE.sub("", text, count=1) if _AND.search(text) else alone[1]
            yield Candidate([name], "html", "behind a by")


def names_behind_a_caption(sources: Sources) -> Iterator[Candidate]:
    """Yield the name behind `作者`, `Autor` or another caption, shortly after the first h1."""
    for match in _behind_heading(sources, _CAPTIONED, _MAX_BYTES_BEHIND_HEADING):
        text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
        alone = _BYLINE.fullmatch(text) or _SHORT_NAME.fullmatch(text)
        if alone is not None and not _NO_NAME.fullmatch(alone[1]):
            yield Candidate([alone[1]], "html", "behind a caption for authors")
            return


_CAPTIONED = re.compile(
    (
        r">\s{0,20}+(?:作者|撰文|記者|记者|執筆者|執筆|著者|글쓴이|작성자|저자|글|[Aa]utor(?:in|ka|e|a)?|"
        r"[Aa]uteure?|[Aa]uthor|Автор|[Ff]orfatter|[Ff]örfattare|[Ss]kribent|[Yy]azar|Συντάκτης)"
        r"\s{0,3}(?:<[^<>]{1,400}>\s{0,20}){0,2}(?::|：)\s{0,20}(?:<[^<>]{1,400}>\s{0,20}){0,4}([^<>]{5,80})<"
    ).encode()
)


def names_below_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield a bold name right below the first h1, if a date follows it."""
    start = sources.heading_end
    match = _BOLD_NAME.match(sources.words.body, start) if start >= 0 else None
    if match is None:
        return
    text = normalize_space(html.unescape(match[1].decode("utf-8", "replace")))
    if _PERSON.fullmatch(text) and not _NO_NAME.fullmatch(text):
        yield Candidate([text], "html", "bold below the h1")


_BOLD_NAME = re.compile(
    rb"</h1\s{0,9}>\s{0,99}(?:</?(?:div|p|span|header|section)\b[^<>]{0,200}>\s{0,99}){0,6}"
    rb"<(?:b|strong)\b[^<>]{0,200}>\s{0,99}([^<>]{5,60})</(?:b|strong)>"
    rb"(?=(?:[^<>]{0,80}<[^<>]{0,200}>){0,6}[^<>]{0,40}(?:(?:19|20)\d\d\b|<time\b))",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?:[^\W\d_a-z][\w.’'-]*\s){1,2}(?:(?:de|van|von|der|la)\s){0,2}[^\W\d_a-z][\w’'-]+"
)


def _may_say_by(sources: Sources) -> bool:
    """Return True if one of the words that `_SAID_BY` looks for may begin a text there."""
    start = sources.heading_end
    behind = sources.words.lowered[start : start + _MAX_BYTES_BEHIND_HEADING] if start >= 0 else b""
    return any(
        behind[max(0, at - _MAX_BYTES_BEFORE_BY) : at].rstrip().endswith(_BEFORE_BY)
        for _, at, _ in _BY_WORDS.find_matches_as_indexes(behind)
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
_SAID_BY = re.compile(
    rb">\s{0,20}+(?=[BbDPpSVvW])(?:(?:Written|Posted|Published|Words|Story)\s)?(?:[Bb]y|BY|[Vv]on|[Pp]ar|[Pp]or|[Dd]oor)"
    rb"(?=[\s:<])\s{0,20}:?\s{0,20}(?:<[^<>]{1,400}>\s{0,20}){0,4}([^<>]{5,80})<"
)
_BY_BEFORE = re.compile(r"^by\s", re.IGNORECASE)
_AND = re.compile(r"\band\b", re.IGNORECASE)
_MAX_BYTES_BEHIND_HEADING = 20_000


def _name_in(node: LexborNode) -> str | None:
    """Return the name in an element without the person's office; None if there is no name."""
    found = _text_in(_named_part(node))
    name = _OFFICE.sub("", _SECTION.sub("", found)).strip() if found else ""
    return name if name and not _NO_NAME.fullmatch(name) else None


def _named_part(node: LexborNode) -> LexborNode:
    """Return the name of a card of microformats, which also has an organization and an address."""
    classes = (node.attributes.get("class") or "").split()
    if not _CARDS & set(classes):
        return node
    return node.css_first(".p-name") or node.css_first(".fn") or node


_CARDS = frozenset({"h-card", "vcard"})


_OFFICE = re.compile(
    r"(?:\s(?:leitender?|senior|chief|political|staff|deputy|freier?|freie|special|foreign)){0,3}"
    r"\s(?:\w{0,20}(?:redakteur|korrespondent|reporter|journalist)(?:in)?|editor|correspondent|writer|"
    r"columnist|contributor|for\s\S+\.\w{2,4})\Z",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\A(?:news|opinion|analysis|kommentar|interview|gastbeitrag|text)\s(?:(?:by|von|par|de)\s)?",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:news|newsroom|log\s?(?:in|out)|sign\s?(?:in|up|out)|subscribe|read\smore|more|follow|share|"
    r"home|menu|search|(?:my\s)?account|register|contact(?:\sus)?|about(?:\sus)?|privacy|political|"
    r"(?:\S{1,20}\s){1,3}(?:news|media|magazine|times|tv|radio|newsroom|network)|"
    r"(?:\w+\s)?(?:correspondent|editor|reporter|writer|redakteur|korrespondent)(?:in)?)",
    re.IGNORECASE,
)
"""Menus, publishers and offices where a name may stand."""


def _text_in(node: LexborNode) -> str | None:
    """Return the name in an element: alone, on its first line, or on the line after a `by`."""
    if len(node.text()) > _MAX_CHARS_WITH_SCRIPTS:
        return None
    text = parted_text(node)
    if len(text) <= MAX_NAME_CHARS:
        match = _BYLINE.fullmatch(text) or _SHORT_NAME.fullmatch(text)
        if match:
            return match[1]
        if text and _is_in_path(text, node.attributes.get("href") or ""):
            return text
    return _name_in_lines(node)


def _name_in_lines(node: LexborNode) -> str | None:
    lines = parted_lines(node)
    if sum(map(len, lines)) > _MAX_BYLINE_CHARS:
        return None
    if len(lines) > 1 and _BY.fullmatch(lines[0]):
        lines = lines[1:]
    if not lines or len(lines[0]) > MAX_NAME_CHARS:
        return None
    match = _BYLINE.fullmatch(lines[0])
    return match[1] if match else None


def _is_in_path(text: str, href: str) -> bool:
    """Return True if a link to the author's page spells the name: `Paul` and `/author/paul/`."""
    words = _SLUG.findall(text.lower())
    last = href.partition("?")[0].rstrip("/").rpartition("/")[2].lower()
    return bool(words) and text[0].isupper() and _SLUG.findall(last) == words


def _around(node: LexborNode) -> set[int]:
    """Return those of the two elements around an element that hold a line of text."""
    parent = node.parent
    outer = parent.parent if parent is not None else None
    elements = (parent, outer)
    return {element.mem_id for element in elements if element is not None and element.tag in _LINES}


_LINES = frozenset({"p", "span", "address", "h2", "h3", "h4", "h5", "h6", "li", "ul", "cite", "a"})
_BY = re.compile(r"(?:by|von|por|par|di|door|av):?", re.IGNORECASE)
_SLUG = re.compile(r"[^\W_]+")
_MAX_BYLINE_CHARS = 2_000
_MAX_CHARS_WITH_SCRIPTS = 20_000
_SHORT_NAME = re.compile(r"([\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,6})")
"""Names in scripts without spaces and capitals."""


def _after_the_heading(sources: Sources) -> list[LexborNode]:
    """Return author or byline elements, those after the first h1 before those above it."""
    words = sources.words
    called = [word for word in AUTHORS_IN_TAGS if words.in_tag(word)]
    has_address = b"<address" in words.lowered
    if not called and not has_address and not words.in_class("byline"):
        return []
    named = [f'a[href*="/{word}" i],[class*="{word}" i]' for word in called]
    if has_address:
        named.append("article address,main address,header address")
    marked = sources.document.tree.css(",".join(["h1", _BYLINES, *named]))
    at = next((place for place, node in enumerate(marked) if node.tag == "h1"), 0)
    ordered = [*marked[at:], *marked[:at]]
    return [node for node in ordered if node.tag != "h1"][:_MAX_BYLINES]


def shown_times(sources: Sources, *, elsewhere: bool = False) -> Iterator[Candidate]:
    """
    Yield times from elements with a time tag or a class name for times, except in comments.

    Those in teasers, asides and menus, which belong to other articles, are yielded if `elsewhere`
    is true, and only then.
    """
    tree = sources.document.tree
    if "itemprop" in sources.words and not elsewhere:
        yield from _marked_times(tree)
    if not sources.words.in_class(*DATES) and TIME not in sources.words:
        return
    for node in tree.css("time[datetime]")[:3]:
        if _is_declared(node) or is_in_comments(node):
            continue
        if _is_elsewhere(node) is elsewhere:
            yield Candidate(node.attributes.get("datetime") or "", "html", "time[datetime]")
    for node in tree.css(_DATES)[:_MAX_DATES]:
        if len(node.text()) > _MAX_CHARS_WITH_SCRIPTS:
            continue
        text = parted_text(node)
        marked = node.attributes.get("title") if node.tag == "abbr" else None
        if not _MIN_DATE_CHARS <= len(text) <= _MAX_DATE_CHARS or _is_declared(node):
            continue
        if not is_in_comments(node) and _is_elsewhere(node) is elsewhere:
            shown = marked or _BEFORE_DATE.sub("", text)
            if dates.moment(shown, sources.document.language) is None:
                continue
            yield Candidate(shown, "html", f"{node.tag} of a class of dates")


def days_behind_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield dates that are the only text of an element shortly after the first h1."""
    for match in _behind_heading(sources, _DAY_ALONE, _MAX_BYTES_BEFORE_DAY):
        text = match[1].decode("utf-8", "replace").strip(" ,|·–-")
        if dates.moment(text, sources.document.language) is not None:
            yield Candidate(text, "html", "behind the h1")
            return


_DAY_ALONE = re.compile(
    rb">\s{0,40}+(?=[0-9A-Z\x80-\xffpu])"
    rb"(?:(?:[Pp]ublished|[Pp]osted|[Uu]pdated|Stand|Ver\xc3\xb6ffentlicht|Erstellt|Vom|Publi\xc3\xa9|"
    rb"Publicado|Pubblicato|Gepubliceerd|Opublikowano|Publicerad|Publisert)"
    rb"(?:\s(?:on|am|le|el|il|op|den|em))?:?\s|"
    + "(?:公開日|公開|投稿日|掲載日|配信日|配信|发布时间|发布日期|發布時間|發布日期|日期|게시일|"
    "입력|등록일|등록)".encode()
    + "\\s?(?::|：)?\\s?".encode()
    + rb")?"
    rb"((?:(?:19|20)\d\d(?:[/.-][01]?\d[/.-][0-3]?\d"
    + r"|年[01]?\d月[0-3]?\d日".encode()
    + rb"|\.\s[01]?\d\.\s[0-3]?\d\."
    + rb")|[0-3]?\d(?:\.[01]?\d\.|/[01]?\d/|\.\s[01]?\d\.\s)(?:19|20)\d\d"
    rb"|[0-3]?\d\.?\s(?:de\s)?[A-Za-z\x80-\xff]{3,14}\.?\s(?:de\s)?(?:19|20)\d\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?\s"
    rb"(?:[0-3]?\d,\s)(?:19|20)\d\d)"
    rb"(?:(?:,?\s{1,3}|\s-\s|\s\xc3\xa0s?\s|\sat\s|\sum\s)[012]?\d"
    + "(?::|[hH]|時|时|시\\s?)\\d\\d(?::\\d\\d)?(?:分|분)?".encode()
    + rb"(?:\s?[A-Za-z.]{1,5}){0,2})?)(?=[\s<,])[^<>]{0,40}<"
)
_MAX_BYTES_BEFORE_DAY = 3_000


def _marked_times(tree: LexborHTMLParser) -> Iterator[Candidate]:
    """Yield values of `itemprop=datePublished` that belong to no item."""
    for node in tree.css('[itemprop~="datePublished"]')[:_MAX_DATES]:
        if _is_in_item(node):
            continue
        attributes = node.attributes
        text = attributes.get("content") or attributes.get("datetime") or shown_text(node)
        yield Candidate(text, "html", f"{node.tag}[itemprop=datePublished]")


def _is_in_item(node: LexborNode) -> bool:
    at = node.parent
    while at is not None:
        if "itemscope" in at.attributes:
            return True
        at = at.parent
    return False


def _is_declared(node: LexborNode) -> bool:
    """Return True for the value of a property, which the structured data already covers."""
    return bool({"itemprop", "property"} & node.attributes.keys())


_DATES = (
    'time,[class*="publish" i],[class*="date" i],[class*="timestamp" i],[class*="post-meta" i],'
    "abbr.published"
)
_MAX_DATES = 30
_MIN_DATE_CHARS = 6
_MAX_DATE_CHARS = 60
_BEFORE_DATE = re.compile(
    r"^(?:(?:last )?(?:published|posted|updated|on|date|stand|veröffentlicht|erstellt|vom|am|"
    r"publié|le|publicado|pubblicato|il|el|em|gepubliceerd|op|opublikowano|publicerad|publisert|den|"
    r"zveřejněno|udgivet|julkaistu|közzétéve|megjelent|опубликовано|дата|yayınlanma(?:\starihi)?|"
    r"yayın\starihi|data|fecha|datum|dato)\b\W*)+"
    r"|^(?:公開日?|投稿日|掲載日?|配信日?|作成日|発行日?|发布(?:时间|日期|于)?|發布(?:時間|日期|於)?|"
    r"时间|時間|日期|게시일?|입력|등록일?|작성일?|발행일?)\s?[:：]?\s?",
    re.IGNORECASE,
)


def _is_elsewhere(node: LexborNode) -> bool:
    """Return True for a part of a comment, or of another article that the page links."""
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            break
        if at.tag in {"aside", "nav", "footer"} or (at.tag == "a" and at.css_first(_TITLES)):
            return True
        if at.tag in _TEASER_ELEMENTS and _is_teaser(at):
            return True
        at = at.parent
    return is_in_comments(node)


_TITLES = "h1,h2,h3,h4"
_TEASER_ELEMENTS = frozenset({"article", "li", "section", "div"})
_TEASER = re.compile(
    r"(?:^|[-_\s])(?:teaser|recommend\w*|read-?more|most-?read|popular|trending|latest|sidebar|"
    r"more-(?:from|on|stories|news)|mehr-zum|weitere)(?:$|[-_\s])",
    re.IGNORECASE,
)


def _is_teaser(node: LexborNode) -> bool:
    """Return True for a block whose class names a teaser, or that is the link of its own title."""
    if _TEASER.search(node.attributes.get("class") or ""):
        return True
    if node.tag not in {"article", "li"} or node.css_first("h1") is not None:
        return False
    linked = node.css_first("h2 a[href],h3 a[href],h4 a[href]")
    return linked is not None


def is_in_comments(node: LexborNode) -> bool:
    """Return True inside comments, reviews and related content."""
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            return False
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if "comment" in named or "review" in named or "related" in named:
            return True
        at = at.parent
    return False
