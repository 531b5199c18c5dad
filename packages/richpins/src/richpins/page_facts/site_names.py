"""
Find a page's site name in its markup, its meta elements, its title or its logo.

The declared name is preferred. If there is none, a text that matches the host name is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from richpins.page_types import app, book, movie
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import scalars
from urlspelling import InvalidUrl
from urlspelling.domain import registered_domain

_WORK_TYPES = app.TYPES | book.TYPES | movie.TYPES
"""The publishers of such items are rarely the site's publisher."""
_SITE_TYPES = frozenset({"website"})
TITLE_SEPARATORS = re.compile(
    r"\s[|\-–—·•:»«│›‹~⋆★☆◆◇●∙⁄]\s{1,9}|\s?[|│｜ㅣ]\s?|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"
)
"""Separators in a title. In languages written without spaces, no spaces surround them."""
_NON_ALPHANUMERIC = re.compile(r"[\W_]+")


def host_names(sources: Sources) -> tuple[str, ...]:
    """Return the two forms of the host that may be the site's name: `example`, `example.com`."""
    return _names_in_host(sources.document.url)


@lru_cache(4)
def _names_in_host(url: str) -> tuple[str, ...]:
    """Cached, because reading a page needs these names five times."""
    try:
        domain = registered_domain(url)
    except InvalidUrl:
        return ()
    return domain.partition(".")[0], domain


def normalize_name(text: str) -> str:
    """Return a name in the form of host names: lowercase, without spaces and punctuation."""
    return _normalize_short_name(text) if len(text) <= _MAX_CACHED_CHARS else _normalize_name(text)


def _normalize_name(text: str) -> str:
    return _NON_ALPHANUMERIC.sub("", text.lower().replace("&", "and"))


_MAX_CACHED_CHARS = 300
_normalize_short_name = lru_cache(256)(_normalize_name)
"""Cached, because a page's few names are compared repeatedly."""


def find_site_name(sources: Sources, nodes: list[Node]) -> str | None:
    """Return the site's name, preferably the one that the site declares."""

    def candidates() -> Iterator[Candidate]:
        site_nodes = [
            node for node in sources.graph.find_nodes(_SITE_TYPES) if node.role in {"", "ispartof"}
        ]
        yield from sources.scalars(site_nodes, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars(
            [node for node in nodes if not node.is_a(_WORK_TYPES)], "publisher"
        )
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _title_parts_like_host(sources)

    # A site that uses its host name in one place often has a real name in another.
    ranked_candidates = sorted(candidates(), key=lambda candidate: _is_host_name(candidate.value))
    name = sources.ledger.pick(
        "page.site_name",
        scalars.name,
        ranked_candidates,
        fallback=_link_text_like_host(sources),
        expected="a name",
    )
    if name and len(name) > _MAX_SITE_NAME_CHARS:
        return _remove_slogan(sources, name)
    return _prefer_form_with_spaces(sources, name)


def _prefer_form_with_spaces(sources: Sources, name: str | None) -> str | None:
    """Return `Headbanger's Kitchen` for `Headbangerskitchen`, if `og:site_name` says so."""
    if name and " " not in name:
        for candidate in sources.meta("og:site_name"):
            spaced_name = scalars.name(candidate.value)
            if (
                spaced_name
                and " " in spaced_name
                and normalize_name(spaced_name) == normalize_name(name)
            ):
                sources.ledger.note("page.site_name", candidate)
                return spaced_name
    return name


_MAX_SITE_NAME_CHARS = 80
_HOST_NAME = re.compile(r"\s*+[\w\-]++\.[\w\-]++(?:\.[\w\-]++|)*+\s*+")


def _is_host_name(value: object) -> bool:
    """Return True for a host name in lower case. With capitals, it counts as a name."""
    return isinstance(value, str) and value.islower() and _HOST_NAME.fullmatch(value) is not None


def _title_parts_like_host(sources: Sources) -> Iterator[Candidate]:
    """Yield parts of titles that match the host name: `Bong Eats` for bongeats.com."""
    normalized_names = {normalize_name(name) for name in host_names(sources)}
    for position, text in (
        ("title", sources.document.title),
        ("og:title", sources.metas.first("og:title")),
    ):
        for part in TITLE_SEPARATORS.split(text or ""):
            if normalize_name(part) in normalized_names:
                yield Candidate(part.strip(), "html", position)


def _link_text_like_host(sources: Sources) -> Iterator[Candidate]:
    """
    Yield the most frequent text of a logo or link that matches the host name.

    It must be in mixed case. This is the last resort, because it searches the
    start and the end of the page.
    """
    letters = next(iter(host_names(sources)), "")
    if not _MIN_HOST_CHARS <= len(letters) <= _MAX_HOST_CHARS or not letters.isalnum():
        return
    lowered = _start_and_end(sources.words.lowered)
    spans = [
        (start, end)
        for start, end in islice(_find_spellings(lowered, letters), _MAX_OCCURRENCES)
        if _is_whole_text(lowered, start, end)
    ]
    if spans:
        body = _start_and_end(sources.words.body)
        texts = (body[start:end].decode() for start, end in spans)
        names = Counter(text for text in texts if not text.islower() and not text.isupper())
        for name, _ in names.most_common(1):
            yield Candidate(name, "html", "logo or link")


def _find_spellings(body: bytes, letters: str) -> Iterator[tuple[int, int]]:
    """
    Yield the start and end of each occurrence of `letters` in `body`.

    Letters may be separated by up to three spaces or punctuation characters. The search starts with
    the rarest letter, which is three times as fast as starting with a frequent one.
    """
    prefix_pattern, suffix_pattern = _spelling_patterns(letters)
    max_bytes = len(prefix_pattern.pattern)
    for match in suffix_pattern.finditer(body):
        start = match.start()
        start_match = prefix_pattern.search(body, max(0, start - max_bytes), start)
        if start_match is not None:
            yield start_match.start(), match.end()


@lru_cache(256)
def _spelling_patterns(letters: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return a pattern for the letters before the rarest one, and one for the rest."""
    rarest_index = max(
        range(len(letters)), key=lambda index: _LETTERS_BY_FREQUENCY.find(letters[index])
    )
    characters = [re.escape(char.encode()) for char in letters]
    prefix = b"".join(char + _GAP for char in characters[:rarest_index])
    return re.compile(prefix + rb"\Z"), re.compile(_GAP.join(characters[rarest_index:]))


_GAP = rb"[ '.&-]{0,3}"
_LETTERS_BY_FREQUENCY = "etaoinsrlcdhumpfgby1203wv4k5x67j8q9z"


def _is_whole_text(body: bytes, start: int, end: int) -> bool:
    char_before = body[max(0, start - _MAX_SPACE_BYTES) : start].rstrip()[-1:]
    char_after = body[end : end + _MAX_SPACE_BYTES].lstrip()[:1]
    return (
        char_before != b""
        and char_after != b""
        and char_before in b">\"'"
        and char_after in b"<\"'"
    )


def _start_and_end(body: bytes) -> bytes:
    if len(body) <= 2 * _MAX_SEARCHED_BYTES:
        return body
    return body[:_MAX_SEARCHED_BYTES] + body[-_MAX_SEARCHED_BYTES:]


_MAX_OCCURRENCES = 500
_MAX_SPACE_BYTES = 40
_MAX_SEARCHED_BYTES = 32_768
"""Bytes searched at the start and the end of a page, where logos and legal notices are."""
_MIN_HOST_CHARS = 5
_MAX_HOST_CHARS = 40


def _remove_slogan(sources: Sources, name: str) -> str:
    """Return the part of a site's name that matches the host name, or its first part."""
    normalized_names = {normalize_name(name_in_host) for name_in_host in host_names(sources)}
    parts = [part.strip() for part in TITLE_SEPARATORS.split(name) if part.strip()]
    return next(
        (part for part in parts if normalize_name(part) in normalized_names),
        parts[0] if parts else name,
    )
