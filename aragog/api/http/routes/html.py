"""The HTML of the look-up page: every value is escaped here. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from aragog.urlstore.pin_card import PinCard, shorten
from aragog.urlstore.records import LinkRecord

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "input[name=url]{width:100%;max-width:36rem}input,button{font:inherit;padding:.2rem .4rem}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;"
    "padding:.1rem 1rem .1rem 0;overflow-wrap:anywhere}h2{margin-top:2rem;font-size:1.1rem}"
    ".card{display:flex;gap:1rem;border:1px solid #bbb;border-radius:.5rem;padding:1rem;"
    "margin:1rem 0}.card img{max-width:12rem;max-height:12rem}.note{color:#666;font-size:.9em}"
    ".notice{background:#fff3cd;padding:.5rem 1rem}"
)
_TAGS = {"title": "strong", "price": "b", "text": "span"}


def document(url: str, token: str, parts: Sequence[str], *, tokens: bool) -> str:
    """The page: the form, and the parts below it."""
    field = (
        f'<p><label>Token <input type="password" name="token" value="{escape(token)}"></label>'
        if tokens
        else ""
    )
    refresh = '<button name="refresh" value="1" formmethod="post">Refresh now</button>'
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>aragog</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><h1>aragog</h1>"
        f'<form action="/" method="{"post" if tokens else "get"}">'
        f'<p><label>URL, in any spelling<br><input name="url" value="{escape(url)}"></label>'
        f"{field}<p><button>Look up</button> {refresh if url else ''}</form>"
        f"{''.join(parts)}"
        '<hr><p><a href="/docs">HTTP API</a> · <a href="/openapi.json">OpenAPI document</a></p>'
    )


def notice(text: str) -> str:
    """A message about the request."""
    return f'<p class="notice" role="status">{escape(text)}</p>'


def card(pin: PinCard) -> str:
    """The Rich Pin: picture, title, price and description, each with its source and age."""
    if pin.empty:
        return ""
    # The viewer's browser loads the picture from the page's site, without a referrer.
    picture = f'<img src="{escape(pin.picture)}" alt="" loading="lazy">' if pin.picture else ""
    lines = "".join(
        f"<p><{_TAGS[line.kind]}>{escape(line.text)}</{_TAGS[line.kind]}><br>"
        f'<span class="note">{escape(line.note)}</span>'
        for line in pin.lines
    )
    return f'<div class="card">{picture}<div>{lines}</div></div>'


def explanation(sections: Sequence[Mapping[str, Any]]) -> str:
    """The sections of `aragog explain`: robots, slot, queue, store, fields, links."""
    return "".join(_section(section) for section in sections)


def links(title: str, rows: Sequence[LinkRecord]) -> str:
    """A list of links; each leads to its look-up."""
    if not rows:
        return ""
    items = "".join(
        f'<li><a href="/?url={quote(row.url, safe="")}">{escape(shorten(row.url))}</a>'
        f' <span class="note">{escape(shorten(row.text))}</span>'
        for row in rows
    )
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>"


def _section(section: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(line['name'])}<td>{escape(shorten(line['text']))}"
        f'<td class="note">{escape(line["note"])}'
        for line in section["lines"]
    )
    problem = notice(section["problem"]) if section["problem"] else ""
    return f"<h2>{escape(section['title'])}</h2>{problem}<table>{rows}</table>"
