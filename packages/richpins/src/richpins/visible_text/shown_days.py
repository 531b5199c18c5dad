"""Find a page's publication date in its visible text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins._plain_text import displayed_text, spaced_text
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import DATES, TIME
from richpins.values import date_orders, dates
from richpins.visible_text.places import is_in_comments, is_in_other_content, matches_after_heading

_MAX_CHARS_WITH_SCRIPTS = 20_000
_MAX_BYLINES = 30


def text_before_date(text: str) -> str:
    """
    Return the text before a date and its label, such as `Angela Mar` in
    `Angela Mar Posted November 12, 2019`.
    """
    start = date_in(text)
    if not start:
        return _LABEL_AFTER_NAME.sub("", text) if len(text) <= _MAX_DATED_CHARS else text
    before = _WORD_BEFORE_DATE.sub("", text[:start].rstrip(_DATE_SEPARATORS))
    before = _LABEL_AFTER_NAME.sub("", before)
    last_word = before.rpartition(" ")[2]
    is_weekday = (
        len(last_word) > _MAX_ABBREVIATION_CHARS and date_orders.weekday(last_word) is not None
    )
    return before.removesuffix(last_word).rstrip(_DATE_SEPARATORS) if is_weekday else before


def date_in(text: str) -> int | None:
    """
    Return where the date at the end of a short text begins, or None.

    If several positions are possible, return the last, because a name such as `Mar` may look like
    part of a date.
    """
    if len(text) > _MAX_DATED_CHARS or not _YEAR.search(text):
        return None
    date: dates.Moment | None = None
    start: int | None = None
    for match in _WORD_START.finditer(text):
        moment = dates.moment(text[match.start() :])
        if moment is not None and date in (None, moment):
            date, start = moment, match.start()
    return start


_LABEL_AFTER_NAME = re.compile(
    r"(?<=\w)[\s,.|·–—•-]{0,5}\s(?:(?:first|last|zuletzt|dernière|última|ultimo)\s)?"
    r"(?:(?:re)?(?:published|posted)|updated|modified|veröffentlicht|aktualisiert|publiée?|"
    r"mise?\sà\sjour|publicad[oa]|a[ct]{1,2}ualiza(?:do|da|ción|ção)|pubblicat[oa]|aggiornat[oa]|"
    r"gepubliceerd|geplaatst|bijgewerkt|opublikowano|zaktualizowano|publicera[dt]|uppdatera[dt]|"
    r"publisert|oppdatert|udgivet|publiceret|opdateret|julkaistu|päivitetty|zveřejněno|aktualizováno|"
    r"közzétéve|megjelent|frissítve|опубликовано|обновлено|yayınlanma|güncelleme|stand(?=:|\s\d))"
    r"\b(?!\s(?:by|von|par|por|da|door|av|af)\b).*",
    re.IGNORECASE,
)
"""The label of a date behind a name, and what follows it: `Posted on`."""
_WORD_BEFORE_DATE = re.compile(r"(?<=\w)\W{0,5}\s(?:on|am|vom|le|el|il|op|den|em|at)\Z")
_DATE_SEPARATORS = " ,|·–—-•"
_MAX_ABBREVIATION_CHARS = 3
_MAX_DATED_CHARS = 120
_YEAR = re.compile(r"\b(?:19|20)\d\d\b|(?<!\d)2[456]\d\d(?!\d)|(?![0-9])\d{4}")
"""A year, also of the Buddhist era, or in the digits of another script."""
_WORD_START = re.compile(r"(?<![^\s|·•,–—-])[^\W_]")


def visible_times(sources: Sources, *, in_other_articles: bool = False) -> Iterator[Candidate]:
    """
    Yield times from time elements and elements with a date class, except in comments.

    Times in teasers, asides and menus are skipped. With `in_other_articles`, only times in these
    are yielded.
    """
    tree = sources.document.tree
    if "itemprop" in sources.words and not in_other_articles:
        yield from _itemprop_dates(tree)
    if sources.words.occurs_in_class("byline"):
        yield from _dates_in_bylines(sources, in_other_articles=in_other_articles)
    if not sources.words.occurs_in_class(*DATES) and TIME not in sources.words:
        return
    for node in tree.css("time[datetime]")[:3]:
        if _is_declared(node) or is_in_comments(node):
            continue
        if is_in_other_content(node) is in_other_articles:
            yield Candidate(node.attributes.get("datetime") or "", "html", "time[datetime]")
    for node in tree.css(_DATE_ELEMENTS)[:_MAX_DATE_ELEMENTS]:
        if len(node.text()) > _MAX_CHARS_WITH_SCRIPTS:
            continue
        date_text = _title_date(node) or _text_date(node)
        if date_text is None or is_in_comments(node):
            continue
        is_date = dates.moment(date_text, sources.document.language) is not None
        if is_date and is_in_other_content(node) is in_other_articles:
            yield Candidate(date_text, "html", f"{node.tag} of a class of dates")


def _title_date(node: LexborNode) -> str | None:
    """Return the machine-readable date in the title of an `abbr`, even if it has a property."""
    title = node.attributes.get("title") if node.tag == "abbr" else None
    return title if title and dates.moment(title) is not None else None


def _text_date(node: LexborNode) -> str | None:
    text = spaced_text(node)
    is_short = _MIN_DATE_CHARS <= len(text) <= _MAX_DATE_CHARS
    return _BEFORE_DATE.sub("", text) if is_short and not _is_declared(node) else None


def _dates_in_bylines(sources: Sources, *, in_other_articles: bool) -> Iterator[Candidate]:
    for node in sources.document.tree.css('[class*="byline" i]')[:_MAX_BYLINES]:
        text = spaced_text(node) if len(node.text()) <= _MAX_DATED_CHARS else ""
        start = date_in(text)
        if (
            start is not None
            and not is_in_comments(node)
            and is_in_other_content(node) is in_other_articles
        ):
            yield Candidate(text[start:], "html", f"{node.tag} of class byline")


def dates_after_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield dates soon after the h1 that are an element's whole text or follow a name."""
    for pattern in (_DATE_ALONE, _DATE_AFTER_NAME):
        candidate = _find_first_date(sources, pattern)
        if candidate is not None:
            yield candidate
            return


def dates_before_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield the date that is a whole line just above the first h1, in the same element."""
    heading = sources.document.tree.css_first("h1")
    if heading is None:
        return
    parent = heading.parent
    is_wrapped = parent is not None and parent.text().strip() == heading.text().strip()
    sibling = parent.prev if parent is not None and is_wrapped else heading.prev
    for _ in range(_MAX_SIBLINGS_ABOVE):
        if sibling is None:
            return
        text = _short_text(sibling)
        if text and dates.moment(text, sources.document.language) is not None:
            yield Candidate(text, "html", "above the h1")
            return
        sibling = sibling.prev


def _short_text(node: LexborNode) -> str:
    """Return the text of an element that is short enough for a date, without a label."""
    if (
        node.tag in {"-text", "-comment", "script", "style", "nav"}
        or len(node.text()) > _MAX_DATE_CHARS
    ):
        return ""
    text = _BEFORE_DATE.sub("", spaced_text(node))
    return text if len(text) >= _MIN_DATE_CHARS and not is_in_other_content(node) else ""


_MAX_SIBLINGS_ABOVE = 6


def update_dates_after_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield the date after a word such as `Updated`, soon after the first h1."""
    candidate = _find_first_date(sources, _UPDATE_DATE)
    if candidate is not None:
        yield candidate


def _find_first_date(sources: Sources, pattern: re.Pattern[bytes]) -> Candidate | None:
    max_bytes = min(_article_bytes_after_heading(sources), _MAX_BYTES_AFTER_HEADING)
    for match in matches_after_heading(sources, pattern, max_bytes):
        text = match[1].decode("utf-8", "replace").strip(" ,|·–-")
        if dates.moment(text, sources.document.language) is not None:
            return Candidate(text, "html", "behind the h1")
    return None


def _article_bytes_after_heading(sources: Sources) -> int:
    start = max(0, sources.heading_end)
    related = _RELATED_CONTENT.search(sources.words.body, start, start + _MAX_BYTES_AFTER_HEADING)
    return related.start() - start if related else _MAX_BYTES_AFTER_HEADING


_RELATED_CONTENT = re.compile(
    rb"<[a-z0-9]{2,10}\s[^<>]{0,200}(?:class|id)=[\"']?[^\"'<>]{0,100}"
    rb"(?:(?<![a-z-])related|recommended|read-?more|most-?read|(?<![a-z-])comments?-?(?:list|date|s|body)?[\"'\s])",
    re.IGNORECASE,
)


_LABELS_IN_OTHER_SCRIPTS = (
    "(?:تاريخ )?(?:النشر|نُشر(?:ت)?|نشر(?:ت)?)(?: في| بتاريخ)?|بتاريخ|تاریخ انتشار|"
    "منتشر شده(?: در)?|شائع شدہ|תאריך(?: פרסום)?|פורסם(?: ב-?| בתאריך)?|प्रकाशित(?: तिथि)?|"
    "প্রকাশিত|প্রকাশ|เผยแพร่(?:เมื่อ)?|วันที่(?:เผยแพร่)?|โพสต์เมื่อ|Đăng(?: ngày| lúc)?|Ngày đăng|Xuất bản"
)
"""
`Published` in Arabic, Persian, Urdu, Hebrew, Hindi, Bengali, Thai and Vietnamese. In a
pattern for bytes, `?` applies to one byte, so optional letters are in groups.
"""
_DIGIT = rb"(?:\d|\xd9[\xa0-\xa9]|\xdb[\xb0-\xb9]|\xe0(?:[\xa5\xa7][\xa6-\xaf]|\xb9[\x90-\x99]))"
"""A digit in ASCII, Arabic, Persian, Devanagari, Bengali or Thai."""
_DATE_IN_OTHER_SCRIPT = (
    rb"(?=[0-9]{0,2}\s?[\x80-\xff])"
    rb"(?:%(d)b{1,2}\s[\x80-\xff.\s]{3,60}\s%(d)b{4}|%(d)b{1,4}[/-]%(d)b{1,2}[/-]%(d)b{1,4})"
) % {b"d": _DIGIT}
_DATE_TEXT = (
    rb"((?:[A-Z\x80-\xff][A-Za-z\x80-\xff-]{1,19}[.,]?\s)?"
    rb"(?:(?:19|20)\d\d(?:[/.-][01]?\d[/.-][0-3]?\d"
    rb"|[.,]?\s[A-Za-z\x80-\xff]{3,20}\.?\s[0-3]?\d(?![\d:])\.?"
    + r"|年[01]?\d月[0-3]?\d日".encode()
    + rb"|\.\s[01]?\d\.\s[0-3]?\d\."
    rb")|[0-3]?\d(?:\.[01]?\d\.|/[01]?\d/|\.\s[01]?\d\.\s)(?:19|20)\d\d"
    rb"|[0-3]?\d(?:st|nd|rd|th|er|\.)?\s(?:de\s|of\s)?[A-Za-z\x80-\xff]{3,20}\.?\s(?:de\s)?(?:19|20)\d\d"
    rb"|"
    + _DATE_IN_OTHER_SCRIPT
    + rb"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?\s"
    rb"(?:[0-3]?\d,\s)(?:19|20)\d\d)"
    rb"(?:(?:,?\s{1,3}|\s-\s|\s\xc3\xa0s?\s|\sat\s|\sum\s)[012]?\d"
    + "(?::|[hH]|時|时|시\\s?)\\d\\d(?::\\d\\d)?(?:分|분)?".encode()
    + rb"(?:\s?[A-Za-z.]{1,5}){0,2})?)"
)
_DATE_ALONE = re.compile(
    rb">\s{0,40}+(?=[0-9A-Z\x80-\xffpu])"
    rb"(?:(?:[Pp]ublished|[Pp]osted|[Uu]pdated|Stand|Ver\xc3\xb6ffentlicht|Erstellt|Vom|Publi\xc3\xa9|"
    rb"Publicado|Pubblicato|Gepubliceerd|Opublikowano|Publicerad|Publisert)"
    rb"(?:\s(?:on|am|le|el|il|op|den|em))?:?\s|"
    + "(?:公開日|公開|投稿日|掲載日|配信日|配信|发布时间|发布日期|發布時間|發布日期|日期|게시일|"
    f"입력|등록일|등록|{_LABELS_IN_OTHER_SCRIPTS})".encode()
    + "\\s?(?::|：)?\\s?".encode()
    + rb")?"
    + _DATE_TEXT
    + rb"(?=[\s<,])[^<>]{0,40}<"
)
_DATE_AFTER_NAME = re.compile(
    rb">\s{0,40}+(?:[Bb]y|[Vv]on|[Pp]ar|[Pp]or|[Dd]oor|[Dd]i|[Aa]v|[Aa]f)\s[^<>]{5,80}?"
    rb"\s?(?:\xe2\x80[\x93\x94]|\xc2\xb7|\||,|-)\s" + _DATE_TEXT + rb"(?=[\s<,])[^<>]{0,40}<"
)
_UPDATE_DATE = re.compile(
    rb"(?i:(?:last\s|zuletzt\s|derni\xc3\xa8re\s)?(?:updated|modified|aktualisiert|ge\xc3\xa4ndert|mis\s\xc3\xa0\sjour|"
    rb"mise\s\xc3\xa0\sjour|actualizado|actualizaci\xc3\xb3n|atualizad[oa]|aggiornato|bijgewerkt|uppdaterad|"
    rb"oppdatert|opdateret|zaktualizowano|aktualizacja|aktualizov\xc3\xa1no))"
    rb"(?:\s(?:on|am|le|el|il|op|den|em|dnia))?\s?:?\s{0,5}(?:<[^<>]{1,200}>\s{0,20}){0,3}"
    + _DATE_TEXT
    + rb"(?=[\s<,])"
)
_MAX_BYTES_AFTER_HEADING = 3_000


def _itemprop_dates(tree: LexborHTMLParser) -> Iterator[Candidate]:
    """Yield the values of `itemprop=datePublished` outside of any item."""
    for node in tree.css('[itemprop~="datePublished"]')[:_MAX_DATE_ELEMENTS]:
        if _is_in_item(node):
            continue
        attributes = node.attributes
        title = attributes.get("title") if node.tag == "abbr" else None
        declared = attributes.get("content") or attributes.get("datetime") or title
        text = declared or displayed_text(node)
        yield Candidate(text, "html", f"{node.tag}[itemprop=datePublished]")


def _is_in_item(node: LexborNode) -> bool:
    ancestor = node.parent
    while ancestor is not None:
        if "itemscope" in ancestor.attributes:
            return True
        ancestor = ancestor.parent
    return False


def _is_declared(node: LexborNode) -> bool:
    """Return True for the value of a property. Structured data already contains it."""
    return bool({"itemprop", "property"} & node.attributes.keys())


_DATE_ELEMENTS = (
    'time,[class*="publish" i],[class*="date" i],[class*="timestamp" i],[class*="post-meta" i],'
    "abbr.published"
)
_MAX_DATE_ELEMENTS = 30
_MIN_DATE_CHARS = 6
_MAX_DATE_CHARS = 60
_BEFORE_DATE = re.compile(
    r"^(?:(?:last )?(?:published|posted|updated|on|date|stand|veröffentlicht|erstellt|vom|am|"
    r"publié|le|publicado|pubblicato|il|el|em|gepubliceerd|op|opublikowano|publicerad|publisert|den|"
    r"zveřejněno|udgivet|julkaistu|közzétéve|megjelent|опубликовано|дата|yayınlanma(?:\starihi)?|"
    r"yayın\starihi|data|fecha|datum|dato)\b\W*)+"
    r"|^(?:公開日?|投稿日|掲載日?|配信日?|作成日|発行日?|发布(?:时间|日期|于)?|發布(?:時間|日期|於)?|"
    r"时间|時間|日期|게시일?|입력|등록일?|작성일?|발행일?)\s?[:：]?\s?"
    rf"|^(?:{_LABELS_IN_OTHER_SCRIPTS})\s?[:：]?\s?",
    re.IGNORECASE,
)
