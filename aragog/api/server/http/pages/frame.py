"""
The layout of the API's HTML pages.

Pages work without scripts, contain their styles, follow the user's preference for light or dark
colors, and fit screens from 320 px up.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files

STYLE = files("aragog.api.server.http.pages").joinpath("style.css").read_text("utf-8")
_NAVIGATION = (("/", "Look up"), ("/docs", "API"), ("/openapi.json", "OpenAPI"))


def html_page(title: str, current_path: str, main: str) -> str:
    """
    Return a complete page.

    Args:
        title: the window's title, as text.
        current_path: the path of the entry to highlight in the navigation bar.
        main: the content, as HTML.
    """
    links = "".join(
        f'<a href="{path}"{_aria_current(path, current_path)}>{name}</a>'
        for path, name in _NAVIGATION
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header><nav class="bar" aria-label="Pages"><a class="brand" href="/">aragog</a>{links}'
        f'</nav></header><main id="main">{main}</main></body></html>'
    )


def panel(title: str, content: str) -> str:
    """Return a section of a page with a heading. `content` is HTML."""
    return f'<section class="panel"><h2>{escape(title)}</h2>{content}</section>'


def notice(text: str) -> str:
    """Return a message about the request."""
    return f'<p class="notice" role="status">{escape(text)}</p>'


def _aria_current(path: str, current_path: str) -> str:
    return ' aria-current="page"' if path == current_path else ""
