"""The page type of an article, post or report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from richpins.page_types import PageType
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import numbers, scalars


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article. Its headline, authors and dates are attributes of the pin."""

    publisher: str | None = None
    section: str | None = None
    word_count: int | None = None
    is_free: bool | None = None
    """False if the article is behind a paywall; None if unknown."""
    body: str | None = None
    """The article's text, if the markup contains it."""


TYPES = frozenset(
    "article newsarticle blogposting reportagenewsarticle analysisnewsarticle opinionnewsarticle "
    "backgroundnewsarticle reviewnewsarticle askpublicnewsarticle satiricalarticle "
    "scholarlyarticle medicalscholarlyarticle techarticle apireference advertisercontentarticle "
    "socialmediaposting liveblogposting discussionforumposting report review criticreview "
    "opinion howto".split()
)


def read(sources: Sources, nodes: list[Node]) -> Article:
    """Return the article that `nodes` and the article tags describe."""
    pick = sources.ledger.pick

    def section_candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "articlesection")
        yield from sources.meta("article:section", "og:article:section", "parsely-section")

    return Article(
        publisher=pick(
            "article.publisher",
            scalars.name,
            sources.scalars(nodes, "publisher", "sourceorganization"),
            expected="a name",
        ),
        section=pick("article.section", scalars.text, section_candidates()),
        word_count=pick("article.word_count", numbers.count, sources.scalars(nodes, "wordcount")),
        is_free=pick(
            "article.is_free", scalars.flag, sources.scalars(nodes, "isaccessibleforfree")
        ),
        body=pick(
            "article.body", scalars.text, sources.scalars(nodes, "articlebody", "reviewbody")
        ),
    )


def _declaration_weight(sources: Sources, _og_type: str) -> int:
    tags = ("article:published_time", "citation_title")
    return 3 if any(tag in sources.metas for tag in tags) else 0


PAGE_TYPE = PageType(
    name="article",
    record=Article,
    schema_types=TYPES,
    weight=60,
    read=read,
    name_properties=("headline", "name", "alternativeheadline"),
    og_types=("article", "blog"),
    og_weight=10,
    declaration_weight=_declaration_weight,
    shared_image_first=True,
)
