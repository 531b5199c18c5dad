"""
Recognizes URLs of a site's functions, such as edit forms, histories, searches and sort orders, by
the words that common software uses for them. Pure (no I/O).

The pages of functions often have texts of their own, such as the changes to each page of a wiki, so
their content does not tell them apart from real pages. The words are those of widespread wikis,
forums, shops, blogs and source code viewers. They are only evidence: a site may use them for its
real pages, so links to such URLs wait and get a few trials (`host_budget`) and count as useful if
they lead to new pages (`page_weighing`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from urllib.parse import unquote, urlsplit


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMES = _words(
    """
    oldid diff curid redlink veaction mobileaction useskin rev1 rev2 r1 r2 pathrev annotate
    replytocom replyto quote hilit highlight sk sd st goto printable preview embed amp
    sort sortby sort_by sortorder order orderby order_by direction
    limit per_page perpage pagesize page_size filter filters facet facets
    min_price max_price price_min price_max pricemin pricemax
    redirect redirect_to returnto return_to return_url returnurl destination referer referrer
    q query keywords keyword search share add_to_cart add-to-cart wishlist compare currency
    vote rate subscribe theme skin fontsize bbox captcha ical
    """
)
"""Names of parameters."""
_VALUED = _words("action a do cmd op task mode view format display layout option route")
_VALUES = _words(
    """
    edit history info raw delete watch unwatch diff revisions backlink backlinks recent log
    shortlog commitdiff blob_plain plain patch snapshot blame annotate source
    login logout register signup signin newreply reply quote report email sendtofriend sendpassword
    print printable printpage printthread rss atom feed pdf txt csv json xml ical
    grid list compact threaded flat hybrid preview embed
    search compare cart checkout wishlist add remove vote rate subscribe share bookmark cite export
    """
)
"""Values of the parameters in `_VALUED`. Such a parameter often selects real pages as well."""
_FIRST = _words(
    """
    login logout signin signup sign-in sign-up register cart basket checkout wishlist compare
    product_compare search diff diffs blame patch annotate rdiff oops redirect goto reply
    ucp posting
    """
)
"""Names of folders and files at the start of a path, where other words may name a topic."""
_LATER = _FIRST | _words(
    """
    edit revisions revision raw plain feed rss atom trackback embed amp print printable email share
    report vote subscribe ical export preview whatlinkshere recentchangeslinked backlinks backlink
    attach permalink followers following
    """
)
_LAST = _words("history log")
"""Names that are only meant after at least `MIN_BEFORE` folders."""
MIN_BEFORE = 2
_VERSIONED = _words("blob tree src file browse source log blame plain")
"""Folders of source code viewers below which a hash selects an earlier version."""
_SPLIT = re.compile(r"[/_:.]")
_HASH = re.compile(r"(?=[a-f]*\d)[0-9a-f]{7,40}")


def function_of(url: str) -> str:
    """Return the word in a URL that names a function of the site, or ""."""
    split = urlsplit(url)
    segments = [segment for segment in unquote(split.path).lower().split("/") if segment]
    return (
        _of_query(split.query) or _of_path(segments) or _of_earlier_version(segments, split.query)
    )


def _of_query(query: str) -> str:
    for piece in query.split("&") if query else ():
        name, _, value = unquote(piece).lower().partition("=")
        name = name.partition("[")[0]
        if name in _VALUED:
            if not _VALUES.isdisjoint(_SPLIT.split(value)):
                return f"{name}={value[:20]}"
        elif name in _NAMES and "/" not in value[1:]:
            return name
    return ""


def _of_path(segments: Sequence[str]) -> str:
    for at, segment in enumerate(segments):
        words = {segment, segment.partition(".")[0], *segment.split(":")}
        known = _FIRST if at == 0 else _LATER if at < MIN_BEFORE else _LATER | _LAST
        if found := words & known:
            return min(found)
    return ""


def _of_earlier_version(segments: Sequence[str], query: str) -> str:
    """Return the folder below which a URL selects an earlier version of a file by its hash."""
    for at, (before, segment) in enumerate(pairwise(segments), start=2):
        if before == "commits" and len(segments) - at >= MIN_BEFORE:  # those of a file
            return before
        is_of_commit = before == "commit" and at < len(segments)  # otherwise it is the commit
        if (before in _VERSIONED or is_of_commit) and _HASH.fullmatch(segment):
            return before
    found = next((segment for segment in segments if segment in _VERSIONED), "")
    values = (piece.partition("=")[2] for piece in query.split("&"))
    return found if found and any(map(_HASH.fullmatch, values)) else ""
