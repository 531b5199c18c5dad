"""Who wrote a page, as it shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from aragog.pages.document import squeeze
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.sources import Sources

MAX_NAME_CHARS = 80

_BYLINES = '[rel~="author"],[class*="byline" i],[class*="author" i]'
_MAX_BYLINES = 30
_BYLINE = re.compile(
    r"(?i:(?:written |posted |published |recipe )?by:?\s+|(?:von|por|par|di|door|av)\s+)?"
    r"([^\W\d_a-z][\w.’'\-]*(?:\s+(?:(?:de|van|von|der|la|del|di|da|el|al|bin|ter|and)\s+)*"
    r"[^\W\d_a-z][\w.’'\-]*){1,3})(?:\s*[|,–·•\-].*)?"
)


def bylines(sources: Sources) -> Iterator[Candidate]:
    """Names in elements that are called author or byline, outside of comments."""
    for count, node in enumerate(sources.document.tree.css(_BYLINES)):
        if count >= _MAX_BYLINES:
            return
        text = squeeze(node.text())
        named = _BYLINE.fullmatch(text) if len(text) <= MAX_NAME_CHARS else None
        if named and not _is_in_comments(node):
            yield Candidate(named[1], "html", f"{node.tag} of class or rel author")


def _is_in_comments(node: LexborNode) -> bool:
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            return False
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if "comment" in named or "review" in named or "related" in named:
            return True
        at = at.parent
    return False
