"""Read the Rich Pin of an article, post or report."""

from __future__ import annotations

from collections.abc import Iterator

from aragog.pages.richpins.model import Article
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


def read(sources: Sources, nodes: list[Node]) -> Article:
    """Return the article that `nodes` and the article tags describe."""
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
