"""Find a product's category in visible breadcrumbs, or next to a label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.page_facts.breadcrumbs import is_named
from richpins.provenance import Candidate
from richpins.structured_data.shop_texts import CATEGORY_LABELS
from richpins.structured_data.sources import Sources
from richpins.visible_text.product_details import labeled

_TRAILS = (
    '[class*="breadcrumb" i],[id*="breadcrumb" i],[aria-label*="breadcrumb" i],[class~="crumbs"]'
)
_MAX_TRAILS = 10
_MAX_LINKS = 12
_MAX_CHARS = 60
_LANGUAGE = re.compile(r"/[a-z]{2}(?:[-_][a-z]{2})?", re.IGNORECASE)
"""Matches the path of a start page in one language, such as `/en`."""
_STARTS = frozenset(
    "home start startseite accueil inicio início home page homepage strona główna hem hjem etusivu "
    "domů domov kezdőlap főoldal acasă ana sayfa главная головна ホーム トップ 홈 首页 首頁".split()
) | {"home page", "strona główna", "ana sayfa"}


def categories(sources: Sources, name: str | None) -> Iterator[Candidate]:
    """
    Yield the last breadcrumb link, ignoring links to the start page and to the page itself.

    `name` is the product's name. Strings next to a label (`Category: Kettles`) come after the
    breadcrumbs.
    """
    if b"crumb" in sources.words.lowered:
        for trail in sources.document.tree.css(_TRAILS)[:_MAX_TRAILS]:
            names = list(_names(trail, sources, name))
            if names:
                yield Candidate(names[-1], "html", f"{trail.tag} of breadcrumbs")
                break
    yield from labeled(sources, CATEGORY_LABELS)


def _names(trail: LexborNode, sources: Sources, name: str | None) -> Iterator[str]:
    for link in trail.css("a[href]")[:_MAX_LINKS]:
        text = normalize_space(link.text()).strip(" ›»>/\\·|")
        target = sources.absolute(link.attributes.get("href") or "")
        if not text or len(text) > _MAX_CHARS or target is None or text.casefold() in _STARTS:
            continue
        path = urlsplit(target).path.rstrip("/")
        if path and not _LANGUAGE.fullmatch(path) and not is_named(text, name):
            yield text
