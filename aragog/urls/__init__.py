"""URLs: normalization, domains, canonical URLs and storage keys. Pure."""

from aragog.urls.explanation import Step, explain
from aragog.urls.keys import url_key
from aragog.urls.link_header import HeaderLink
from aragog.urls.link_header import parse as parse_link_header
from aragog.urls.normalize import (
    NORMALIZATION_VERSION,
    normalize,
    use_site_rules,
)

__all__ = [
    "NORMALIZATION_VERSION",
    "HeaderLink",
    "Step",
    "explain",
    "normalize",
    "parse_link_header",
    "url_key",
    "use_site_rules",
]
