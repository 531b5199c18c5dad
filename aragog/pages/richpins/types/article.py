"""Articles, posts and reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values import numbers, scalars

TYPES = frozenset(
    "article newsarticle blogposting reportagenewsarticle analysisnewsarticle opinionnewsarticle "
    "backgroundnewsarticle reviewnewsarticle askpublicnewsarticle satiricalarticle "
    "scholarlyarticle medicalscholarlyarticle techarticle apireference advertisercontentarticle "
    "socialmediaposting liveblogposting discussionforumposting report review criticreview "
    "opinion howto".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A text; its headline, authors and dates are the pin's own."""

    publisher: str | None = None
    section: str | None = None
    word_count: int | None = None
    is_free: bool | None = None
    """False behind a paywall; None when the page does not tell."""
    body: str | None = None
    """The text, when the markup carries it."""


def read(sources: Sources, nodes: list[Node]) -> Article:
    """The article that `nodes` and the article tags describe."""
    pick = sources.ledger.pick

    def section() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "articlesection")
        yield from sources.meta("article:section", "og:article:section", "parsely-section")

    return Article(
        publisher=pick(
            "article.publisher",
            scalars.name,
            sources.scalars(nodes, "publisher", "sourceorganization"),
            expected="a name",
        ),
        section=pick("article.section", scalars.text, section()),
        word_count=pick("article.word_count", numbers.count, sources.scalars(nodes, "wordcount")),
        is_free=pick(
            "article.is_free", scalars.flag, sources.scalars(nodes, "isaccessibleforfree")
        ),
        body=pick(
            "article.body", scalars.text, sources.scalars(nodes, "articlebody", "reviewbody")
        ),
    )
