"""
Choose a page's title, without the name of its site (`site_names`).

Any source of the title can be wrong: markup may describe a related page, an h1 may be the site's
name, and a `headline` may be a short description. The best candidate is the one that others
confirm. A name in the markup that the page contradicts comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser

from richpins._permalinks import heading_text
from richpins.page_facts.site_names import TITLE_SEPARATORS, host_names, normalize_name
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import scalars
from richpins.values.placeholders import is_placeholder, is_untitled

_NO_SEPARATOR = re.compile(r"[^|\-–—·•:»«│›‹~⋆★☆◆◇●∙⁄｜ㅣ_]*+")
_TRAILING_SECTION = re.compile(r"(?<=[^\x00-\x7f])[-_](?:(?![\x00-\x7f])\w){2,4}\Z")
_TRAILING_SECTION_AND_SITE = re.compile(
    r"(?<=[^\x00-\x7f]{6})_(?:(?![\x00-\x7f])\w){2,6}_(?:(?![\x00-\x7f])\w){2,10}\Z"
)


def remove_site_name(title: str, site_names: set[str]) -> str:
    """
    Return a title without the site's name before or after a dash, bar or dot.

    Chinese and Korean sites put the section in between: `title_section_site`.
    """
    separators = [] if _NO_SEPARATOR.fullmatch(title) else list(TITLE_SEPARATORS.finditer(title))
    if separators and site_names:
        sites = {normalize_name(name) for name in site_names}
        first, last = separators[0], separators[-1]
        if normalize_name(title[last.end() :]) in sites and last.start() > 0:
            return _TRAILING_SECTION.sub("", title[: last.start()].strip())
        if normalize_name(title[: first.start()]) in sites and first.end() < len(title):
            return title[first.end() :].strip()
    return _TRAILING_SECTION_AND_SITE.sub("", title) if "_" in title else title


_MARKUP_SYNTAXES = frozenset({"json-ld", "microdata", "rdfa", "microformats"})
_TITLE_METAS = (
    "og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title", "title",
    "parsely-title", "sailthru.title",
)  # fmt: skip
_MIN_SIMILARITY = 0.5
"""Strings match if they share this fraction of the shorter string's three-letter groups."""
_MAX_COMPARED_CHARS = 300
_MAX_NAMES_PER_PROPERTY = 4
_MAX_OTHER_TITLES = 12
_MIN_PART_CHARS = 4
_MIN_URL_TRIGRAMS = 10
_PART_SEPARATOR = re.compile(r"(?<=\w)-(?=\w)|\s[-–—:]\s|[–—|│｜ㅣ·•»›~_]")


def find_title(
    sources: Sources, nodes: list[Node], properties: tuple[str, ...], site_name: str | None
) -> str | None:
    """Return the title of a page about `nodes`. The values of `properties` take precedence."""
    sites = {*filter(None, [site_name]), *host_names(sources)}
    visible_titles = list(filter(_may_be_title, _visible_titles(sources, sites)))
    markup_titles = list(filter(_may_be_title, _markup_titles(nodes, properties)))
    confirmed_titles, doubtful_titles = _split_by_trust(
        sources, markup_titles, visible_titles, sites
    )
    title = sources.ledger.pick(
        "page.title",
        scalars.text,
        [*confirmed_titles, *visible_titles, *doubtful_titles],
        expected="a title",
    )
    provenance = sources.ledger.provenance.get("page.title")
    if not title or not provenance:
        return None
    title = remove_site_name(title, sites)
    if provenance.syntax in _MARKUP_SYNTAXES:
        return title
    if len(title) > _MAX_COMPARED_CHARS or not _PART_SEPARATOR.search(title):
        return title
    # The last h1 of several candidates may resemble neither the title nor the meta elements.
    reliable_titles = (
        visible_titles[:-1]
        if len(visible_titles) > 1 and visible_titles[-1].position == "h1"
        else visible_titles
    )
    others = [
        scalars.text(candidate.value) or ""
        for candidate in (*confirmed_titles, *reliable_titles[:_MAX_OTHER_TITLES])
    ]
    return _remove_section(title, others, {normalize_name(name) for name in sites})


def _may_be_title(candidate: Candidate) -> bool:
    """Return False for a string that cannot be a page's name, such as `Untitled`."""
    text = scalars.text(candidate.value)
    if not text or is_placeholder(text):
        return False
    return candidate.position == "h1" or not is_untitled(text)


def _split_by_trust(
    sources: Sources,
    markup_titles: list[Candidate],
    visible_titles: list[Candidate],
    sites: set[str],
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the markup's names that may be the title, and those that the page contradicts."""
    if not markup_titles:
        return [], []
    other_titles = [
        remove_site_name(scalars.text(candidate.value) or "", sites)[:_MAX_COMPARED_CHARS]
        for candidate in visible_titles[:_MAX_OTHER_TITLES]
    ]
    ranked = _rank_by_agreement(markup_titles, other_titles, sources.document.url)
    if all(agreement for agreement, _ in ranked) or not _do_titles_agree(
        visible_titles, other_titles
    ):
        return [candidate for _, candidate in ranked], []
    return (
        [candidate for agreement, candidate in ranked if agreement],
        [candidate for agreement, candidate in ranked if not agreement],
    )


def _markup_titles(nodes: list[Node], properties: tuple[str, ...]) -> Iterator[Candidate]:
    for node in nodes:
        for name in properties:
            for value in node.all(name)[:_MAX_NAMES_PER_PROPERTY]:
                yield Candidate(value, node.syntax, f"{node.position}.{name}")


def _rank_by_agreement(
    markup_titles: list[Candidate], other_titles: list[str], url: str
) -> list[tuple[int, Candidate]]:
    """Return the markup's names with their agreement (0 to 2); those with 0 come last."""
    ranked = []
    for candidate in markup_titles:
        text = scalars.text(candidate.value) or ""
        ranked.append((agreement_with(text, other_titles) or int(_is_in_url(text, url)), candidate))
    return sorted(ranked, key=lambda entry: not entry[0])


def _is_in_url(text: str, url: str) -> bool:
    """Return True if a URL's path contains the title: `/leek-soup-with-barley`."""
    trigrams = _trigrams(normalize_name(text[:_MAX_COMPARED_CHARS]))
    path_trigrams = _trigrams(
        normalize_name(url.partition("://")[2].partition("/")[2][:_MAX_COMPARED_CHARS])
    )
    return len(trigrams) >= _MIN_URL_TRIGRAMS and len(
        trigrams & path_trigrams
    ) >= _MIN_SIMILARITY * len(trigrams)


def _do_titles_agree(visible_titles: list[Candidate], other_titles: list[str]) -> bool:
    """
    Return True if two of the meta elements, the title and the heading agree.

    In that case, a title from the markup must agree with them, too.
    """
    titles_by_source: dict[str, list[str]] = {}
    for candidate, text in zip(visible_titles, other_titles, strict=False):
        titles_by_source.setdefault(
            candidate.position if candidate.syntax == "html" else "meta", []
        ).append(text)
    return any(
        agreement_with(text, others) > 1
        for source, texts in titles_by_source.items()
        for text in texts
        for other_source, others in titles_by_source.items()
        if other_source != source
    )


def _visible_titles(sources: Sources, sites: set[str]) -> Iterator[Candidate]:
    """
    Yield the page's names outside its markup, best first.

    A heading that resembles the title or a meta element comes first, because titles and meta
    elements are often shortened or reworded for search results and sharing.
    """
    title, heading = sources.document.title, _find_heading(sources, sites)
    metas = list(sources.meta(*_TITLE_METAS))
    others = [*filter(None, [title]), *(str(meta.value) for meta in metas[:_MAX_OTHER_TITLES])]
    is_confirmed = heading is not None and (
        heading.position != "h1"
        or _is_confirmed(heading.value, title, others, sources.document.url)
    )
    if heading is not None and is_confirmed:
        yield heading
    yield from metas
    if title is not None:
        yield Candidate(title, "html", "title")
    if heading is not None and not is_confirmed:
        yield heading


def _is_confirmed(heading: str, title: str | None, others: list[str], url: str) -> bool:
    """
    Return True if the title or a meta element resembles a heading.

    A short heading that is a middle part of the title is only a section's name.
    """
    parts = [normalize_name(part) for part in TITLE_SEPARATORS.split(title or "")]
    if normalize_name(heading) in parts[1:-1] and len(normalize_name(heading)) <= len(parts[0]):
        others = [text for text in others if text != title]
        return _is_in_url(heading, url) or _resembles_any(
            normalize_name(heading), list(map(normalize_name, others))
        )
    return agreement_with(heading, others) > 0


def _find_heading(sources: Sources, sites: set[str]) -> Candidate | None:
    """Return the h1 most similar to the title; the site's name only if there is no title."""
    title = sources.document.title
    headings = sources.document.headings
    if title and len(headings) > 1:
        headings = tuple(sorted(headings, key=lambda text: -agreement_with(text, [title])))
    is_start_page = _is_start_page(sources.document.url)
    for text in headings:
        if text in sources.document.banners and not is_start_page:
            continue
        if title is None or not _is_site_name(text, title, sites):
            return Candidate(text, "html", "h1")
    return None if is_start_page or title is None else _heading_below_banner(sources, sites)


def _is_start_page(url: str) -> bool:
    return not url.partition("://")[2].partition("/")[2].partition("?")[0]


def _heading_below_banner(sources: Sources, sites: set[str]) -> Candidate | None:
    """
    Return the heading that repeats the title, on a page whose only h1 is the site's name.

    The first heading of such a page is often a menu's title (`Popular posts`). If the title and the
    meta elements give only the site's name, the heading of the page's only article is returned.
    """
    document = sources.document
    names = {*sites, *document.banners}
    texts = [document.title, *(str(meta.value) for meta in sources.meta(*_TITLE_METAS))]
    other_titles = [
        normalized
        for text in filter(None, texts[:_MAX_OTHER_TITLES])
        if (normalized := normalize_name(remove_site_name(text, names)[:_MAX_COMPARED_CHARS]))
    ]
    if {normalize_name(name) for name in names} >= set(other_titles):
        return _only_article_title(document.tree)
    for node in document.tree.css(_LOWER_HEADINGS)[:_MAX_HEADINGS]:
        text = heading_text(node)
        normalized = normalize_name(text[:_MAX_COMPARED_CHARS])
        if (
            normalized
            and normalized not in map(normalize_name, names)
            and _resembles_any(normalized, other_titles)
        ):
            return Candidate(text, "html", node.tag or "h2")
    return None


def _only_article_title(tree: LexborHTMLParser) -> Candidate | None:
    articles = tree.css("article")
    node = articles[0].css_first("h2") if len(articles) == 1 else None
    text = heading_text(node) if node is not None else ""
    return Candidate(text, "html", "h2") if text else None


_LOWER_HEADINGS = "h2,h3"
_MAX_HEADINGS = 100


def _resembles_any(name: str, other_titles: list[str]) -> bool:
    trigrams = _trigrams(name)
    return any(
        len(trigrams & other) >= _MIN_SIMILARITY * max(len(trigrams), len(other))
        for other in map(_trigrams, other_titles)
    )


def _is_site_name(heading: str, title: str, sites: set[str]) -> bool:
    """Return True for the site's name, or for a title's last part if its first part is longer."""
    normalized = normalize_name(heading)
    if normalize_name(title) == normalized:
        return False
    if normalized in {normalize_name(name) for name in sites}:
        return True
    parts = [part for part in TITLE_SEPARATORS.split(title) if part.strip()]
    return (
        len(parts) > 1
        and normalize_name(parts[-1]) == normalized
        and len(normalize_name(parts[0])) > len(normalized)
    )


def agreement_with(text: str, others: list[str]) -> int:
    """Return 2 if one of `others` equals or contains the text, 1 if one is similar, else 0."""
    name = normalize_name(text[:_MAX_COMPARED_CHARS])
    if not name:
        return 0
    other_names = [normalize_name(other[:_MAX_COMPARED_CHARS]) for other in others]
    if any(
        name == other or (len(name) >= _MIN_PART_CHARS and name in other) for other in other_names
    ):
        return 2
    trigrams = _trigrams(name)
    return int(any(other and _are_similar(trigrams, _trigrams(other)) for other in other_names))


def _are_similar(trigrams: set[str], other_trigrams: set[str]) -> bool:
    return len(trigrams & other_trigrams) >= _MIN_SIMILARITY * min(
        len(trigrams), len(other_trigrams)
    )


def _trigrams(name: str) -> set[str]:
    return {name[start : start + 3] for start in range(max(1, len(name) - 2))}


def _remove_section(title: str, others: list[str], sites: set[str]) -> str:
    """Remove a section if another source has the rest: `Leek soup - Recipes` to `Leek soup`."""
    complete_titles = {
        normalized
        for normalized in map(normalize_name, others)
        if len(normalized) >= _MIN_PART_CHARS
    } - sites
    for separator in _PART_SEPARATOR.finditer(title):
        parts = (title[: separator.start()], title[separator.end() :])
        if not all(map(normalize_name, parts)):
            continue  # the separator starts or ends the title: `__init__ - the first file`
        for part in parts:
            if normalize_name(part) in complete_titles:
                return part.strip()
    return title
