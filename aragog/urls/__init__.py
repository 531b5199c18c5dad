"""URLs: spelling (normalize), site (domain), identity (canonical), keys. Pure."""

from aragog.urls.explanation import Step, explain
from aragog.urls.keys import url_key
from aragog.urls.link_header import HeaderLink
from aragog.urls.link_header import parse as parse_link_header
from aragog.urls.normalize import (
    NORMALIZATION_VERSION,
    normalize,
    normalize_many,
    use_site_rules,
)

__all__ = [
    "NORMALIZATION_VERSION",
    "HeaderLink",
    "Step",
    "explain",
    "normalize",
    "normalize_many",
    "parse_link_header",
    "url_key",
    "use_site_rules",
]
