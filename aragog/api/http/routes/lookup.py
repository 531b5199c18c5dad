"""
The look-up page at `/`: everything about one URL, for people.

It works without scripts. All text is untrusted: every value is escaped, links lead to this
page alone, and the Content-Security-Policy allows no script, frame or foreign form. Where tokens
are configured, the form sends one in its body, never in an address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from aragog.api.fetching import FetchRequest
from aragog.api.http.calls import StoreCalls
from aragog.api.http.parameters import Query, refuse_cross_site
from aragog.api.http.services import Services
from aragog.api.problems import Overloaded, Problem, problem_of
from aragog.api.tokens import READ, WRITE, Tokens
from aragog.clock import SystemClock
from aragog.errors import AragogError
from aragog.urlstore.pin_card import PinCard, pin_card, shorten
from aragog.urlstore.records import LinkRecord
from aragog.urlstore.store import UrlStore

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


REFRESH_WAIT_MS = 10_000
SHOWN_LINKS = 50
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src https: http:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Lookup:
    """
    The page at `/`.

    Args:
        calls: runs store calls.
        services: fetches and explains.
        tokens: who may look up and refresh.
    """

    def __init__(self, calls: StoreCalls, services: Services, tokens: Tokens) -> None:
        self._calls = calls
        self._services = services
        self._tokens = tokens

    async def get(self, request: Request) -> Response:
        """`GET /`: the form; with `url`, also the stored data of that URL."""
        form = {"url": Query(request).get("url") or ""}
        return await self._answer(request, form, refresh=False)

    async def post(self, request: Request) -> Response:
        """`POST /`: look a URL up with a token, or fetch it now."""
        refuse_cross_site(request)
        try:
            body = (await request.body()).decode("ascii")
            form = dict(parse_qsl(body, errors="strict", max_num_fields=8))
        except ValueError as error:
            raise Problem(400, f"the form cannot be read: {error}") from error
        return await self._answer(request, form, refresh="refresh" in form)

    async def _answer(self, request: Request, form: dict[str, str], *, refresh: bool) -> Response:
        url, token = form.get("url", "").strip(), form.get("token", "").strip()
        parts: list[str] = []
        status = 200
        if url:
            header = f"Bearer {token}" if token else request.headers.get("authorization")
            try:
                self._tokens.check(header, WRITE if refresh else READ)
                if refresh:
                    parts.append(await self._refresh(url))
                parts += await self._parts(url)
            except (AragogError, Problem, TimeoutError, Overloaded) as error:
                problem = problem_of(error)
                status = problem.status
                parts.append(notice(problem.detail))
        page = document(url, token, parts, tokens=self._tokens.required)
        return HTMLResponse(page, status, headers=HEADERS)

    async def _refresh(self, url: str) -> str:
        fetching = self._services.fetching
        if fetching is None:
            raise Problem(501, "this server does not fetch")
        fetch = FetchRequest(url=url, max_wait_ms=REFRESH_WAIT_MS, max_age_s=0, fields=())
        response = await fetching.fetch_now_async(fetch, self._calls.fetching)
        if response.fetching:
            return notice("It is being fetched; what it waits for is below.")
        return notice(response.reason or "It was fetched just now.")

    async def _parts(self, url: str) -> list[str]:
        page = await self._calls.metadata(_stored_page, url)
        explain = self._services.explain
        explained = await self._calls.explaining(lambda: explain(url)) if explain else None
        return [
            card(pin_card(page["fields"], page["info"], page["now_ms"])) if page else "",
            explanation(explained["sections"]) if explained else "",
            links("Links from it", page["out"]) + links("Links to it", page["in"])
            if page
            else notice("Nothing is stored of this URL."),
        ]


def _stored_page(store: UrlStore, url: str) -> dict[str, Any] | None:
    record = store.get(url, info=True)
    if record is None:
        return None
    values = {name: store.formats.to_value(name, data) for name, data in record.fields.items()}
    return {
        "fields": values,
        "info": record.info,
        "now_ms": SystemClock().now_ms(),
        "out": store.links.outlinks(url, limit=SHOWN_LINKS).items,
        "in": store.links.inlinks(url, limit=SHOWN_LINKS).items,
    }
