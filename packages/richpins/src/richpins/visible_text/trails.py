"""Find a product's category in visible breadcrumbs, or next to a label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.page_facts.breadcrumbs import is_page_name
from richpins.provenance import Candidate
from richpins.structured_data.shop_texts import CATEGORY_LABELS
from richpins.structured_data.sources import Sources
from richpins.visible_text.product_details import labeled_values

_BREADCRUMBS = (
    '[class*="breadcrumb" i],[id*="breadcrumb" i],[aria-label*="breadcrumb" i],[class~="crumbs"]'
)
_MAX_TRAILS = 10
_MAX_LINKS_PER_TRAIL = 12
_MAX_CATEGORY_CHARS = 60
_LANGUAGE_PATH = re.compile(r"/[a-z]{2}(?:[-_][a-z]{2})?", re.IGNORECASE)
"""The path of the start page in some language, such as `/en`."""
_START_PAGE_NAMES = frozenset(
    "home start startseite accueil inicio início home page homepage strona główna hem hjem etusivu "
    "domů domov kezdőlap főoldal acasă ana sayfa главная головна ホーム トップ 홈 首页 首頁".split()
) | {"home page", "strona główna", "ana sayfa"}


def categories(sources: Sources, name: str | None) -> Iterator[Candidate]:
    """
    Yield the last breadcrumb that is a category, then categories next to a label.

    The start page and the product called `name` are not categories. `Category:` is such a label.
    """
    if b"crumb" in sources.words.lowered:
        for trail in sources.document.tree.css(_BREADCRUMBS)[:_MAX_TRAILS]:
            names = list(_category_names(trail, sources, name))
            if names:
                yield Candidate(names[-1], "html", f"{trail.tag} of breadcrumbs")
                break
    yield from labeled_values(sources, CATEGORY_LABELS)


def _category_names(trail: LexborNode, sources: Sources, name: str | None) -> Iterator[str]:
    for link in trail.css("a[href]")[:_MAX_LINKS_PER_TRAIL]:
        text = normalize_space(link.text()).strip(" ›»>/\\·|")
        target = sources.absolute(link.attributes.get("href") or "")
        if (
            not text
            or len(text) > _MAX_CATEGORY_CHARS
            or target is None
            or text.casefold() in _START_PAGE_NAMES
        ):
            continue
        path = urlsplit(target).path.rstrip("/")
        if path and not _LANGUAGE_PATH.fullmatch(path) and not is_page_name(text, name):
            yield text
