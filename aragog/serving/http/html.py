"""The HTML of the look-up page: every value is escaped here. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from aragog.errors import InvalidUrl
from aragog.hosts import is_ip
from aragog.urls.domain import host
from aragog.urls.normalize import normalize
from aragog.urlstore.records import FieldInfo

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "input[name=url]{width:100%;max-width:36rem}input,button{font:inherit;padding:.2rem .4rem}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;"
    "padding:.1rem 1rem .1rem 0;overflow-wrap:anywhere}h2{margin-top:2rem;font-size:1.1rem}"
    ".card{display:flex;gap:1rem;border:1px solid #bbb;border-radius:.5rem;padding:1rem;"
    "margin:1rem 0}.card img{max-width:12rem;max-height:12rem}.note{color:#666;font-size:.9em}"
    ".notice{background:#fff3cd;padding:.5rem 1rem}"
)
MOST_CHARACTERS = 600
_PRICES = ("product.price", "app.price", "book.price")


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


def card(fields: Mapping[str, Any], info: Mapping[str, FieldInfo], now_ms: int) -> str:
    """The Rich Pin: picture, title, price and description, each with its source and age."""
    image = fields.get("page.image")
    source = image.get("url") if isinstance(image, dict) else None
    picture = ""
    if isinstance(source, str) and _is_public(source):
        # The viewer's browser loads it from the page's site, without a referrer.
        picture = f'<img src="{escape(source)}" alt="" loading="lazy">'
    lines = []
    for name, tag in (("page.title", "strong"), *((price, "b") for price in _PRICES),
                      ("page.description", "span")):  # fmt: skip
        if (value := fields.get(name)) not in (None, ""):
            currency = fields.get(name.replace(".price", ".currency"), "") if tag == "b" else ""
            shown = escape(f"{_cut(value)} {currency}".strip())
            note = _note(info.get(name), now_ms)
            lines.append(f'<p><{tag}>{shown}</{tag}><br><span class="note">{note}</span>')
    if not lines and not picture:
        return ""
    return f'<div class="card">{picture}<div>{"".join(lines)}</div></div>'


def explanation(sections: Sequence[Mapping[str, Any]]) -> str:
    """The sections of `aragog explain`: robots, slot, queue, store, fields, links."""
    return "".join(_section(section) for section in sections)


def links(title: str, found: Sequence[Mapping[str, Any]]) -> str:
    """A list of links; each leads to its look-up."""
    if not found:
        return ""
    items = "".join(
        f'<li><a href="/?url={quote(one["url"], safe="")}">{escape(_cut(one["url"]))}</a>'
        f' <span class="note">{escape(_cut(one["text"]))}</span>'
        for one in found
    )
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>"


def _section(section: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(line['name'])}<td>{escape(_cut(line['text']))}"
        f'<td class="note">{escape(line["note"])}'
        for line in section["lines"]
    )
    problem = notice(section["problem"]) if section["problem"] else ""
    return f"<h2>{escape(section['title'])}</h2>{problem}<table>{rows}</table>"


def _is_public(url: str) -> bool:
    """A picture must not make the viewer's browser ask a machine of its own network."""
    try:
        name = host(normalize(url))
    except InvalidUrl:
        return False
    return "." in name and not is_ip(name) and not name.endswith((".localhost", ".local"))


def _note(info: FieldInfo | None, now_ms: int) -> str:
    if info is None:
        return ""
    source = f"from {info.provenance}, " if info.provenance else ""
    return escape(f"{source}{_age(max(0, now_ms - info.at_ms))} old")


def _age(ms: int) -> str:
    for unit, size_ms in (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000)):
        if ms >= size_ms:
            return f"{ms // size_ms} {unit}"
    return f"{ms // 1000} seconds"


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
