"""
Choose the title of a page, without the name of its site, and find the site's name.

A page names itself in its markup, its meta elements, its title and its headings. Any of them can be
wrong: markup describes a related page, an h1 contains the site's name, a `headline` contains a
short description. The title is the candidate with which the others agree; a name in the markup
counts only if the page repeats it elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from aragog.errors import InvalidUrl
from aragog.pages.document import normalize_space
from aragog.pages.page_types import app, book, movie
from aragog.pages.provenance import Candidate
from aragog.pages.structured_data.graph import Node
from aragog.pages.structured_data.sources import Sources
from aragog.pages.values import scalars
from aragog.urls.domain import registered_domain

_WORKS = app.TYPES | book.TYPES | movie.TYPES
"""Types whose publishers are rarely the site's publisher."""
_SITE_TYPES = frozenset({"website"})
TITLE_CUTS = re.compile(
    r"\s[|\-–—·•:»│›~]\s{1,9}|\s?[|│｜ㅣ]\s?|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"
)
"""Separators in a title; scripts without spaces have none around the separator."""
_NO_CUT = re.compile(r"[^|\-–—·•:»│›~｜ㅣ_]*+")
_SECTION = re.compile(r"(?<=[^\x00-\x7f])[-_](?:(?![\x00-\x7f])\w){2,4}\Z")
_SECTION_AND_SITE = re.compile(
    r"(?<=[^\x00-\x7f]{6})_(?:(?![\x00-\x7f])\w){2,6}_(?:(?![\x00-\x7f])\w){2,10}\Z"
)
_NOT_LETTERS = re.compile(r"[\W_]+")


def without_site(title: str, site_names: set[str]) -> str:
    """
    Return a title without the site's name before or after a dash, bar or dot.

    Chinese and Korean sites put the section between both: `title_section_site`.
    """
    cuts = [] if _NO_CUT.fullmatch(title) else list(TITLE_CUTS.finditer(title))
    if cuts and site_names:
        sites = {bare(name) for name in site_names}
        first, last = cuts[0], cuts[-1]
        if bare(title[last.end() :]) in sites and last.start() > 0:
            return _SECTION.sub("", title[: last.start()].strip())
        if bare(title[: first.start()]) in sites and first.end() < len(title):
            return title[first.end() :].strip()
    return _SECTION_AND_SITE.sub("", title) if "_" in title else title


def own_names(sources: Sources) -> tuple[str, ...]:
    """Return the two forms of the host that may name the site: `example`, `example.com`."""
    return _own_names(sources.document.url)


@lru_cache(4)
def _own_names(url: str) -> tuple[str, ...]:
    """Return the names in a URL; cached because a page asks for its own five times."""
    try:
        domain = registered_domain(url)
    except InvalidUrl:
        return ()
    return domain.partition(".")[0], domain


def bare(text: str) -> str:
    """Return a name without spaces, punctuation and capitals, as it appears in a host name."""
    return _bare_of_short(text) if len(text) <= _MAX_CACHED_CHARS else _bare(text)


def _bare(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower().replace("&", "and"))


_MAX_CACHED_CHARS = 300
_bare_of_short = lru_cache(256)(_bare)
"""A page's few names are compared with each other again and again."""


def site_name_of(sources: Sources, nodes: list[Node]) -> str | None:
    """Return the name of the site, preferably as the site states it."""

    def candidates() -> Iterator[Candidate]:
        sites = [n for n in sources.graph.of_types(_SITE_TYPES) if n.role in {"", "ispartof"}]
        yield from sources.scalars(sites, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars([n for n in nodes if not n.is_a(_WORKS)], "publisher")
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _named_like_the_host(sources)

    # A site that uses its address as its name in one place often has a real name in another.
    ranked = sorted(candidates(), key=lambda candidate: _is_address(candidate.value))
    name = sources.ledger.pick(
        "page.site_name",
        scalars.name,
        ranked,
        otherwise=_spelled_like_the_host(sources),
        expected="a name",
    )
    if name and len(name) > _MAX_SITE_NAME_CHARS:
        return _without_slogan(sources, name)
    return _with_blanks(sources, name)


def _with_blanks(sources: Sources, name: str | None) -> str | None:
    """Return `Headbanger's Kitchen` for `Headbangerskitchen`, if the page's tags spell it so."""
    if name and " " not in name:
        for candidate in sources.meta("og:site_name"):
            other = scalars.name(candidate.value)
            if other and " " in other and bare(other) == bare(name):
                sources.ledger.note("page.site_name", candidate)
                return other
    return name


_MAX_SITE_NAME_CHARS = 80
_ADDRESS = re.compile(r"\s*+[\w\-]++\.[\w\-]++(?:\.[\w\-]++|)*+\s*+")


def _is_address(value: object) -> bool:
    """Return True for an address as machines write it; with capital letters it is a name."""
    return isinstance(value, str) and value.islower() and _ADDRESS.fullmatch(value) is not None


def _named_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """Yield the part of a title that spells the host's name: `Bong Eats` of bongeats.com."""
    own = {bare(name) for name in own_names(sources)}
    for where, text in (
        ("title", sources.document.title),
        ("og:title", sources.metas.first("og:title")),
    ):
        for part in TITLE_CUTS.split(text or ""):
            if bare(part) in own:
                yield Candidate(part.strip(), "html", where)


def _spelled_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """
    Yield the most frequent stand-alone text, in a logo or a link, that spells the host's name.

    It must contain a capital letter or a space. This is the last resort, because it searches the
    start and the end of the page.
    """
    letters = next(iter(own_names(sources)), "")
    if not _MIN_HOST_CHARS <= len(letters) <= _MAX_HOST_CHARS or not letters.isalnum():
        return
    lowered = _ends(sources.words.lowered)
    alone = [
        (start, end)
        for start, end in islice(_spelled(lowered, letters), _MAX_SPELLED)
        if _stands_alone(lowered, start, end)
    ]
    if alone:
        body = _ends(sources.document.body)
        texts = (body[start:end].decode() for start, end in alone)
        names = Counter(text for text in texts if not text.islower() and not text.isupper())
        for name, _ in names.most_common(1):
            yield Candidate(name, "html", "logo or link")


def _spelled(body: bytes, letters: str) -> Iterator[tuple[int, int]]:
    """
    Yield where `letters` occur with at most three spaces and marks between two of them.

    The search begins at the letter that is the rarest in texts, which takes a third of the time of
    a search for a first letter that is frequent.
    """
    before, from_rarest = _spelling_of(letters)
    most = len(before.pattern)
    for match in from_rarest.finditer(body):
        start = match.start()
        head = before.search(body, max(0, start - most), start)
        if head is not None:
            yield head.start(), match.end()


@lru_cache(256)
def _spelling_of(letters: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return what matches the letters before the rarest one, up to it, and those from it on."""
    rarest = max(range(len(letters)), key=lambda at: _BY_FREQUENCY.find(letters[at]))
    spelled = [re.escape(char.encode()) for char in letters]
    head = b"".join(char + _BETWEEN for char in spelled[:rarest])
    return re.compile(head + rb"\Z"), re.compile(_BETWEEN.join(spelled[rarest:]))


_BETWEEN = rb"[ '.&-]{0,3}"
_BY_FREQUENCY = "etaoinsrlcdhumpfgby1203wv4k5x67j8q9z"


def _stands_alone(body: bytes, start: int, end: int) -> bool:
    """Return True for a complete text between tags, or a complete attribute value."""
    before = body[max(0, start - _MAX_BLANKS) : start].rstrip()[-1:]
    after = body[end : end + _MAX_BLANKS].lstrip()[:1]
    return before != b"" and after != b"" and before in b">\"'" and after in b"<\"'"


def _ends(body: bytes) -> bytes:
    if len(body) <= 2 * _MAX_SEARCHED_BYTES:
        return body
    return body[:_MAX_SEARCHED_BYTES] + body[-_MAX_SEARCHED_BYTES:]


_MAX_SPELLED = 500
_MAX_BLANKS = 40
_MAX_SEARCHED_BYTES = 32_768
"""Number of bytes at the start and at the end of a page, where logos and imprints are."""
_MIN_HOST_CHARS = 5
_MAX_HOST_CHARS = 40


def _without_slogan(sources: Sources, name: str) -> str:
    """Return the part of a sentence that is named like the host, else the first part."""
    own = {bare(own_name) for own_name in own_names(sources)}
    parts = [part.strip() for part in TITLE_CUTS.split(name) if part.strip()]
    return next((part for part in parts if bare(part) in own), parts[0] if parts else name)


_MARKUP = frozenset({"json-ld", "microdata", "rdfa"})
_METAS = (
    "og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title", "title",
    "parsely-title", "sailthru.title",
)  # fmt: skip
_ALIKE = 0.5
"""The share of the shorter text's three-letter groups that both texts must have."""
_MAX_COMPARED_CHARS = 300
_MAX_NAMES = 4
_MAX_WITNESSES = 12
_MIN_PART_CHARS = 4
_MIN_URL_GRAMS = 10
_MARKS = re.compile(r"(?<=\w)-(?=\w)|\s[-–—:]\s|[–—|│｜ㅣ·•»›~_]")


def title_of(
    sources: Sources, nodes: list[Node], properties: tuple[str, ...], site_name: str | None
) -> str | None:
    """Return the title of a page about `nodes`; values of these properties come first."""
    sites = {*filter(None, [site_name]), *own_names(sources)}
    shown = [candidate for candidate in _shown(sources, sites) if scalars.text(candidate.value)]
    confirmed, doubtful = _marked_by_trust(sources, list(_marked(nodes, properties)), shown, sites)
    title = sources.ledger.pick(
        "page.title", scalars.text, [*confirmed, *shown, *doubtful], expected="a title"
    )
    where = sources.ledger.provenance.get("page.title")
    if not title or not where:
        return None
    title = without_site(title, sites)
    if where.syntax in _MARKUP:
        return title
    if len(title) > _MAX_COMPARED_CHARS or not _MARKS.search(title):
        return title
    others = [
        scalars.text(candidate.value) or "" for candidate in (*confirmed, *shown[:_MAX_WITNESSES])
    ]
    return _without_section(title, others, {bare(name) for name in sites})


def _marked_by_trust(
    sources: Sources, marked: list[Candidate], shown: list[Candidate], sites: set[str]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the names from the markup that may be the title, and those that the page refutes."""
    if not marked:
        return [], []
    witnesses = [
        without_site(scalars.text(candidate.value) or "", sites)[:_MAX_COMPARED_CHARS]
        for candidate in shown[:_MAX_WITNESSES]
    ]
    ranked = _by_agreement(marked, witnesses, sources.document.url)
    if all(agreed for agreed, _ in ranked) or not _agree_among_themselves(shown, witnesses):
        return [candidate for _, candidate in ranked], []
    return (
        [candidate for agreed, candidate in ranked if agreed],
        [candidate for agreed, candidate in ranked if not agreed],
    )


def _marked(nodes: list[Node], properties: tuple[str, ...]) -> Iterator[Candidate]:
    for node in nodes:
        for name in properties:
            for value in node.all(name)[:_MAX_NAMES]:
                yield Candidate(value, node.syntax, f"{node.where}.{name}")


def _by_agreement(
    marked: list[Candidate], witnesses: list[str], url: str
) -> list[tuple[int, Candidate]]:
    """Return names from the markup; exact repetitions in the page come before similar names."""
    ranked = []
    for candidate in marked:
        text = scalars.text(candidate.value) or ""
        ranked.append((agreement(text, witnesses) or int(_is_in_url(text, url)), candidate))
    return sorted(ranked, key=lambda entry: not entry[0])


def _is_in_url(text: str, url: str) -> bool:
    """Return True if the path of a URL is made of a title: `/leek-soup-with-barley`."""
    grams = _grams(bare(text[:_MAX_COMPARED_CHARS]))
    path = _grams(bare(url.partition("://")[2].partition("/")[2][:_MAX_COMPARED_CHARS]))
    return len(grams) >= _MIN_URL_GRAMS and len(grams & path) >= _ALIKE * len(grams)


def _agree_among_themselves(shown: list[Candidate], witnesses: list[str]) -> bool:
    """Return True if two of meta elements, title and heading agree; markup must then agree."""
    by_place: dict[str, list[str]] = {}
    for candidate, text in zip(shown, witnesses, strict=False):
        by_place.setdefault(candidate.where if candidate.syntax == "html" else "meta", []).append(
            text
        )
    return any(
        agreement(text, others) > 1
        for kind, texts in by_place.items()
        for text in texts
        for other, others in by_place.items()
        if other != kind
    )


def _shown(sources: Sources, sites: set[str]) -> Iterator[Candidate]:
    """
    Yield what the page calls itself outside its markup, best first.

    A heading that resembles the title or a meta element comes before both, because those are often
    shortened or reworded for search results and for sharing.
    """
    tag, heading = sources.document.title, _heading(sources, sites)
    metas = list(sources.meta(*_METAS))
    others = [*filter(None, [tag]), *(str(meta.value) for meta in metas[:_MAX_WITNESSES])]
    is_confirmed = heading is not None and (
        heading.where == "h2" or agreement(heading.value, others) > 0
    )
    if heading is not None and is_confirmed:
        yield heading
    yield from metas
    if tag is not None:
        yield Candidate(tag, "html", "title")
    if heading is not None and not is_confirmed:
        yield heading


def _heading(sources: Sources, sites: set[str]) -> Candidate | None:
    """Return the h1 that the title repeats; the site's name only if there is no title."""
    tag = sources.document.title
    headings = sources.document.headings
    if tag and len(headings) > 1:
        headings = tuple(sorted(headings, key=lambda text: -agreement(text, [tag])))
    is_start = _is_start_page(sources.document.url)
    for text in headings:
        if text in sources.document.banners and not is_start:
            continue
        if tag is None or not _is_site(text, tag, sites):
            return Candidate(text, "html", "h1")
    return None if is_start else _below_banner(sources, tag)


def _is_start_page(url: str) -> bool:
    return not url.partition("://")[2].partition("/")[2].partition("?")[0]


def _below_banner(sources: Sources, tag: str | None) -> Candidate | None:
    """Return the h2 of a page whose title and only h1 are the name or slogan of its site."""
    document = sources.document
    alone = {bare(text) for text in document.banners}
    if tag is None or not any(name and (name in bare(tag) or bare(tag) in name) for name in alone):
        return None
    node = document.tree.css_first("article h2,main h2,h2[class*=title],h2[class*=headline],h2,h3")
    text = normalize_space(node.text()) if node is not None else ""
    return Candidate(text, "html", "h2") if text else None


def _is_site(heading: str, tag: str, sites: set[str]) -> bool:
    """Return True for the site's name, and for the end of a title whose start is more specific."""
    plain = bare(heading)
    if bare(tag) == plain:
        return False
    if plain in {bare(name) for name in sites}:
        return True
    parts = [part for part in TITLE_CUTS.split(tag) if part.strip()]
    return len(parts) > 1 and bare(parts[-1]) == plain and len(bare(parts[0])) > len(plain)


def agreement(text: str, others: list[str]) -> int:
    """Return 2 if one of `others` is or contains the same text, 1 if one is similar, else 0."""
    plain = bare(text[:_MAX_COMPARED_CHARS])
    if not plain:
        return 0
    plains = [bare(other[:_MAX_COMPARED_CHARS]) for other in others]
    if any(
        plain == other or (len(plain) >= _MIN_PART_CHARS and plain in other) for other in plains
    ):
        return 2
    grams = _grams(plain)
    return int(any(other and _are_alike(grams, _grams(other)) for other in plains))


def _are_alike(grams: set[str], others: set[str]) -> bool:
    return len(grams & others) >= _ALIKE * min(len(grams), len(others))


def _grams(plain: str) -> set[str]:
    return {plain[at : at + 3] for at in range(max(1, len(plain) - 2))}


def _without_section(title: str, others: list[str], sites: set[str]) -> str:
    """Return a title cut to the part in another source: `Leek soup` of `Leek soup - Recipes`."""
    alone = {plain for plain in map(bare, others) if len(plain) >= _MIN_PART_CHARS} - sites
    for cut in _MARKS.finditer(title):
        for part in (title[: cut.start()], title[cut.end() :]):
            if bare(part) in alone:
                return part.strip()
    return title
