"""
Normalize URLs, find their registered domain, and decide the canonical URL of a page.

The names exported here and these modules are public:

- `canonical` decides which of the URLs that lead to a page is canonical, based on redirects, Link
  headers, rel=canonical, instant meta refresh and og:url;
- `domain` returns the origin, host and registered domain of a URL;
- `hosts` splits ports from hosts, and finds the closest of some names that is a host or its parent;
- `link_header` parses Link headers (RFC 8288).

Names load on first use, so `import urlspelling` alone is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from urlspelling._explanation import Step, explain
    from urlspelling._normalization import (
        KEY_BYTES,
        MAX_URL_CHARS,
        NORMALIZATION_VERSION,
        normalize,
        url_key,
        use_site_rules,
        with_query,
    )
    from urlspelling._parser import resolve
    from urlspelling._placeholders import why_no_page
    from urlspelling._query import SiteRule, site_rules
    from urlspelling.errors import InvalidSiteRules, InvalidUrl, UrlSpellingError
    from urlspelling.link_header import HeaderLink, parse_link_header

__all__ = [
    "KEY_BYTES",
    "MAX_URL_CHARS",
    "NORMALIZATION_VERSION",
    "HeaderLink",
    "InvalidSiteRules",
    "InvalidUrl",
    "SiteRule",
    "Step",
    "UrlSpellingError",
    "explain",
    "normalize",
    "parse_link_header",
    "resolve",
    "site_rules",
    "url_key",
    "use_site_rules",
    "why_no_page",
    "with_query",
]

_NAMES_BY_MODULE = {
    "_explanation": ("Step", "explain"),
    "_normalization": (
        "KEY_BYTES",
        "MAX_URL_CHARS",
        "NORMALIZATION_VERSION",
        "normalize",
        "url_key",
        "use_site_rules",
        "with_query",
    ),
    "_parser": ("resolve",),
    "_placeholders": ("why_no_page",),
    "_query": ("SiteRule", "site_rules"),
    "errors": ("InvalidSiteRules", "InvalidUrl", "UrlSpellingError"),
    "link_header": ("HeaderLink", "parse_link_header"),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
