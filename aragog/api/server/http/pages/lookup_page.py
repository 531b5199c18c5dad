"""
The page at `/`, which shows everything that is known about a URL.

All text is untrusted. So every value is escaped, and links only lead back to this page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from aragog.api.operations.pin_card import PinCard, shorten
from aragog.api.operations.values import Explanation, ExplanationSection
from aragog.api.server.http.pages.frame import html_page, notice, panel
from aragog.urlstore.records import LinkRecord

_LINE_CLASSES = {"title": "title", "price": "price", "text": ""}


def lookup_page(url: str, token: str, parts: Sequence[str], *, tokens: bool) -> str:
    """
    Return the page, with the form and what follows it.

    Args:
        url: the URL to show in the form, or "".
        token: the token to show in the form, or "".
        parts: what follows the form, as HTML.
        tokens: True if the form must ask for a token. It sends the token in its body.
    """
    field = (
        '<p><label>Token <input type="password" name="token" autocomplete="off" '
        f'value="{escape(token)}"></label>'
        if tokens
        else ""
    )
    refresh = (
        '<button class="second" name="refresh" value="1" formmethod="post">Refresh now</button>'
        if url
        else ""
    )
    form = (
        f'<form class="panel" action="/" method="{"post" if tokens else "get"}">'
        '<p><label>URL, in any spelling <input name="url" inputmode="url" autocapitalize="none" '
        f'spellcheck="false" placeholder="https://example.com/" value="{escape(url)}"></label>'
        f'{field}<p class="actions"><button>Look up</button>{refresh}</form>'
    )
    return html_page("aragog", "/", f"<h1>Look up a URL</h1>{form}{''.join(parts)}")


def address(normalized: str) -> str:
    """Return a link to the page about a URL. The link is the same for every spelling of the URL."""
    path = f"/?url={quote(normalized, safe='')}"
    return (
        f'<p>Permanent address of this page: <a rel="bookmark" href="{path}">'
        f"{escape(shorten(normalized))}</a>"
    )


def card(pin: PinCard) -> str:
    """Return the Rich Pin (picture, title, price and description) with sources and ages."""
    if pin.empty:
        return ""
    # The viewer's browser loads the picture from the page's site, without a referrer.
    picture = f'<img src="{escape(pin.picture)}" alt="" loading="lazy">' if pin.picture else ""
    lines = "".join(
        f'<p><span class="{_LINE_CLASSES[line.kind]}">{escape(line.text)}</span><br>'
        f'<span class="note">{escape(line.note)}</span>'
        for line in pin.lines
    )
    return f'<section class="panel pin" aria-label="Rich Pin">{picture}<div>{lines}</div></section>'


def explanation(explained: Explanation) -> str:
    """Return the sections of `aragog explain`."""
    return "".join(map(_section, explained.sections))


def links(title: str, rows: Sequence[LinkRecord]) -> str:
    """Return a list of links. Each leads to the page about its URL."""
    if not rows:
        return ""
    items = "".join(
        f'<li><a href="/?url={quote(row.url, safe="")}">{escape(shorten(row.url))}</a>'
        f' <span class="note">{escape(shorten(row.text))}</span>'
        for row in rows
    )
    return panel(title, f"<ul>{items}</ul>")


def _section(section: ExplanationSection) -> str:
    if not section.lines and not section.problem:
        return ""
    rows = "".join(
        f"<div><dt>{escape(line.name)}</dt><dd>{escape(shorten(line.text))} "
        f'<span class="note">{escape(line.note)}</span></dd></div>'
        for line in section.lines
    )
    problem = notice(f"Component did not respond: {section.problem}") if section.problem else ""
    return panel(section.title, f"{problem}<dl>{rows}</dl>" if rows else problem)
