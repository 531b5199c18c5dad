"""
Choose the authors and publication date of a page.

A candidate confirmed by other sources takes precedence over earlier candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import partial
from itertools import chain
from typing import Any

from richpins.page_facts.inverted_names import given_name_first
from richpins.page_facts.no_authors import is_placeholder_author
from richpins.page_facts.site_names import host_names, normalize_name
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import dates, scalars
from richpins.values.dates import AnyDate, Moment
from richpins.values.scalars import MAX_NAME_CHARS
from urlspelling.domain import registered_domain

_AUTHOR_METAS = (
    "article:author", "parsely-author", "sailthru.author", "byl", "citation_author", "dc.creator",
    "dcterms.creator", "dc.creator.personalname", "bepress_citation_author", "citation_authors",
    "eprints.creators_name", "article:author_name", "og:article:author", "book:author", "author",
    "authors",
)  # fmt: skip
"""`author` is late, because templates often fill it with the publisher's name."""
_CATALOG_METAS = frozenset(
    {
        "citation_author", "citation_authors", "bepress_citation_author", "eprints.creators_name",
        "dc.creator.personalname",
    }
)  # fmt: skip
"""They may name a person with the surname first."""
_DUBLIN_CORE_METAS = frozenset({"dc.creator", "dcterms.creator"})
"""So may these on pages of journals, but news sites write `Agency, City` into them."""
_AUTHOR_ENDINGS = ("_author", "_authors", "-author", "-authors", ":author", ".author")
"""Suffixes of meta names that individual sites use, such as `lrt_authors`."""
_PUBLISHED_METAS = (
    "article:published_time", "og:article:published_time", "article:published",
    "og:published_time", "article:published:time",
)  # fmt: skip
_OTHER_PUBLISHED_METAS = (
    "date", "pubdate", "publishdate", "publish_date", "publish-date", "parsely-pub-date",
    "sailthru.date", "dc.date.issued", "dc.date", "dcterms.created", "dcterms.date",
    "dcterms.issued", "dc.date.created", "citation_publication_date", "citation_date",
    "cxenseparse:recs:publishtime", "article.published", "originalpublicationdate",
    "published_at", "last-modified", "rnews:datepublished", "created", "ptime",
    "video:release_date", "book:release_date", "published_date", "release_date",
)  # fmt: skip
_MODIFIED_METAS = (
    "article:modified_time", "og:article:modified_time", "article:updated_time",
    "article:modified", "og:modified_time", "og:updated_time", "dcterms.modified",
    "dc.date.modified", "last-modified", "revision_date",
)  # fmt: skip


def find_authors(
    sources: Sources,
    nodes: list[Node],
    pages: list[Node],
    site_name: str | None,
    *,
    visible: Iterable[Candidate],
) -> tuple[str, ...]:
    """
    Return the page's authors.

    `visible`: names in the visible text, used if the markup has none. A name found in several
    sources comes first. The site's or publisher's name is used only if no person is named.
    """
    declared_candidates = list(_declared_authors(sources, nodes, pages))
    organization_names = _organization_names(sources, nodes, site_name)
    names_by_candidate = [person_names(candidate.value) or () for candidate in declared_candidates]
    votes = Counter(
        name for names in names_by_candidate for name in set(map(normalize_name, names))
    )
    person_candidates: list[tuple[int, Candidate]] = []
    organization_candidates: list[Candidate] = []
    for names, candidate in zip(names_by_candidate, declared_candidates, strict=True):
        if names and (
            all(normalize_name(name) in organization_names for name in names)
            or _are_organizations(candidate.value)
        ):
            organization_candidates.append(candidate)
        else:
            person_candidates.append(
                (max((votes[normalize_name(name)] for name in names), default=0), candidate)
            )
    person_candidates.sort(key=lambda entry: -entry[0])
    authors = sources.ledger.pick(
        "page.authors",
        person_names,
        _move_longest_list_first([candidate for _, candidate in person_candidates]),
        fallback=chain(
            _longest_visible_list_first(visible),
            organization_candidates,
            _names_in_profile_urls(sources),
        ),
        expected="a name",
    )
    return _remove_organizations(authors or (), organization_names)


def _are_organizations(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(
        isinstance(item, Node) and item.is_a(_ORGANIZATION_TYPES) and not item.is_a(_PERSON_TYPES)
        for item in items
    )


_ORGANIZATION_TYPES = frozenset({"organization", "newsmediaorganization", "corporation", "ngo"})
_PERSON_TYPES = frozenset({"person"})


def _move_longest_list_first(candidates: list[Candidate]) -> list[Candidate]:
    """If other lists contain all names of the first candidate, move the longest to the front."""
    if len(candidates) < 2:
        return candidates
    name_sets = [
        {normalize_name(name) for name in person_names(candidate.value) or ()}
        for candidate in candidates
    ]
    first_names = name_sets[0]
    longer_indexes = [
        index for index, names in enumerate(name_sets) if first_names and first_names < names
    ]
    chosen_index = max(longer_indexes, key=lambda index: len(name_sets[index]), default=0)
    return [candidates[chosen_index], *candidates[:chosen_index], *candidates[chosen_index + 1 :]]


def _longest_visible_list_first(visible: Iterable[Candidate]) -> Iterator[Candidate]:
    """Like `_move_longest_list_first`, but search the text only when a candidate is requested."""
    yield from _move_longest_list_first(list(visible))


def _remove_organizations(names: tuple[str, ...], organization_names: set[str]) -> tuple[str, ...]:
    people = tuple(name for name in names if normalize_name(name) not in organization_names)
    return people or names


def _declared_authors(
    sources: Sources, nodes: list[Node], pages: list[Node]
) -> Iterator[Candidate]:
    yield from sources.lists(nodes, "author", "creator", "contributor")
    names: tuple[str, ...] = _AUTHOR_METAS
    if (sources.metas.first("twitter:label1") or "").strip().lower() in _AUTHOR_LABELS:
        names = (*names, "twitter:data1")
    for name in () if sources.metas.has_none_of(names) else names:
        contents = [candidate.value for candidate in sources.meta(name)]
        if name in _CATALOG_METAS or (
            name in _DUBLIN_CORE_METAS and "citation_title" in sources.metas
        ):
            contents = list(map(given_name_first, contents))
        if contents:
            yield next(sources.meta(name))._replace(value=contents)
    yield from sources.lists(pages, "author", "creator")
    yield from sources.lists(sources.graph.find_nodes(_CLAIM_REVIEW_TYPES), "author")
    unattached_authors = [
        node for node in sources.graph.roots if node.role in {"author", "creator"}
    ]
    if unattached_authors:
        yield Candidate(
            unattached_authors[:_MAX_UNATTACHED_AUTHORS],
            unattached_authors[0].syntax,
            f"{unattached_authors[0].position} and others",
        )
    for name, content in sources.metas.order:
        if name.endswith(_AUTHOR_ENDINGS) and name not in names and "//" not in content:
            yield from sources.meta(name)


def _names_in_profile_urls(sources: Sources) -> Iterator[Candidate]:
    """Yield the name in the URL of an author's page on this site: `/authors/ann-lee`."""
    site = registered_domain(sources.document.url)
    for candidate in sources.meta("article:author"):
        match = _PROFILE_URL.search(candidate.value)
        if match and registered_domain(candidate.value) == site:
            yield candidate._replace(value=match[1].replace("-", " ").title())


_PROFILE_URL = re.compile(
    r"/(?:authors?|autor(?:e[ns]?|i|zy|a)?|auteurs?|redaktion|redakteure?|forfatter|skribent|yazar|"
    r"editors?|writers?|reporters?|contributors?|staff|journalists?|people|by|profiles?)/([a-z]{2,20}-[a-z]{2,20}(?:-[a-z]{2,20})?)/?\Z"
)

_MAX_UNATTACHED_AUTHORS = 20
_AUTHOR_LABELS = frozenset({"written by", "author", "by"})


def _organization_names(sources: Sources, nodes: list[Node], site_name: str | None) -> set[str]:
    names = {*filter(None, [site_name, sources.metas.first("og:site_name")]), *host_names(sources)}
    for node in nodes:
        names.update(filter(None, map(scalars.name, node.all("publisher")[:5])))
    return {normalize_name(name) for name in names}


def person_names(raw: Any) -> tuple[str, ...] | None:
    """Return people's names. A string with several names is split."""
    names = [name for name in scalars.names(raw) or () if not is_placeholder_author(name)]
    split_names = (
        name for text in names for name in _split_names(_TEXT_AROUND_NAME.sub("", text).strip())
    )
    return (
        tuple(
            dict.fromkeys(
                name for name in split_names if len(name) <= MAX_NAME_CHARS and _LETTER.search(name)
            )
        )
        or None
    )


_TEXT_AROUND_NAME = re.compile(
    r"\s\([\w.]{1,6}\)\Z|^\([^()]{1,80}\)\Z|\s(?:기자|記者|Twitter|Facebook)\Z"
)
"""Initials after a name, picture credits, job titles, and links to social networks."""
_LETTER = re.compile(r"[^\W\d_]")
_AND_WORD = r"(?:and|und|et|y|og|och|en|e|&)\s"
_NAME_SEPARATOR = re.compile(rf"\s?[,;/]\s(?:{_AND_WORD})?|\s{_AND_WORD}", re.IGNORECASE)
_FULL_NAME = re.compile(r"[^\W\d_a-z][\w.'’-]*+(?:\s[\w.'’-]{1,30}+){1,4}")
_NON_NAME_WORDS = frozenset({"of", "for", "the", "für", "de la", "dos", "news", "team"})


def _split_names(text: str) -> list[str]:
    parts = [part.strip() for part in _NAME_SEPARATOR.split(text) if part.strip()]
    full_name_count = sum(
        _FULL_NAME.fullmatch(part) is not None and not _NON_NAME_WORDS & set(part.lower().split())
        for part in parts
    )
    single_word_count = sum(" " not in part for part in parts)
    return (
        parts
        if full_name_count > 1 and full_name_count + single_word_count == len(parts)
        else [text]
    )


def published_at(
    sources: Sources, nodes: list[Node], pages: list[Node], *, visible: Iterable[Candidate]
) -> AnyDate | None:
    """
    Return when the page was published.

    `visible`: dates in the visible text, used if the markup has none. If sources (including the
    page's URL) differ, the most frequent date is returned, or else the first.
    """

    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "datepublished", "datecreated", "uploaddate")
        date_published_meta = _date_published_meta(sources)
        yield from sources.meta(*_PUBLISHED_METAS, *date_published_meta, *_OTHER_PUBLISHED_METAS)
        yield from sources.scalars(pages, "datepublished")
        yield from sources.scalars(sources.graph.find_nodes(_CLAIM_REVIEW_TYPES), "datepublished")

    url_date = date_in_url(sources.document.url)
    language = sources.document.language
    candidates_by_votes = _sort_by_votes(list(candidates()), url_date, language)
    url_candidates = [] if url_date is None else [Candidate(url_date.isoformat(), "html", "url")]
    return dates.pick(
        sources.ledger,
        "page.published_at",
        candidates_by_votes,
        fallback=chain(visible, url_candidates),
        language=language,
    )


_CLAIM_REVIEW_TYPES = frozenset({"claimreview"})
"""Item types of fact-checking pages without an article."""


def _sort_by_votes(
    candidates: list[Candidate], url_date: date | None, language: str | None
) -> list[Candidate]:
    days = [_parse_day(candidate.value, language) for candidate in candidates]
    distinct_days = {day for day in days if day is not None}
    if len(distinct_days) < 2:
        return candidates
    votes = Counter(day for day in days if day is not None)
    if url_date is not None and url_date in votes:
        votes[url_date] += 1
    ranked_candidates = sorted(
        zip(days, candidates, strict=True), key=lambda entry: -votes[entry[0]] if entry[0] else 0
    )
    return [candidate for _, candidate in ranked_candidates]


def _parse_day(value: Any, language: str | None) -> date | None:
    instant = dates.moment(value, language)
    return instant.date() if isinstance(instant, datetime) else instant


_URL_DATE = re.compile(r"[/_-]((?:19|20)\d\d)([/_-]?)([01]\d)\2([0-3]\d)(?=[/_.-]|\Z)")


def date_in_url(url: str) -> date | None:
    """Return the date in a URL's path, such as `/2016/12/14/`, or None."""
    match = _URL_DATE.search(url.partition("?")[0].partition("#")[0])
    try:
        return date(int(match[1]), int(match[3]), int(match[4])) if match else None
    except ValueError:
        return None


def _date_published_meta(sources: Sources) -> tuple[str, ...]:
    """Return `datepublished` if a meta element has this name and is not part of an RDFa item."""
    name = "datepublished"
    if name not in sources.metas:
        return ()
    items = (node for node in sources.graph.nodes if node.syntax == "rdfa")
    return () if any(name in node.properties for node in items) else (name,)


def modified_at(
    sources: Sources, nodes: list[Node], pages: list[Node], *, visible: Iterable[Candidate]
) -> Moment | None:
    """Return when the page was last changed. `visible`: dates in the visible text."""

    def candidates() -> Iterable[Candidate]:
        yield from sources.scalars(nodes, "datemodified")
        yield from sources.meta(*_MODIFIED_METAS)
        yield from sources.scalars(pages, "datemodified")

    parse = partial(dates.moment, language=sources.document.language)
    return sources.ledger.pick(
        "page.modified_at", parse, candidates(), fallback=visible, expected="a date"
    )
