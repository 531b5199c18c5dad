"""Hosts whose responses are made on request; names of real pages are their URLs."""

from __future__ import annotations

from datetime import date
from hashlib import sha1
from html import escape
from urllib.parse import parse_qsl, quote, unquote

from bench.traps.second.words import Text
from bench.traps.site import NOT_FOUND, Answer

e = escape


def a(href: str, text: object, more: str = "") -> str:
    return f'<a href="{escape(href)}"{" " + more if more else ""}>{escape(str(text))}</a>'


def ul(links, cls: str = "") -> str:
    return (
        f"<ul{f' class={cls}' if cls else ''}>"
        + "".join(f"<li>{a(h, t)}</li>" for h, t in links)
        + "</ul>"
    )


def table(rows, head=()) -> str:
    h = "<tr>" + "".join(f"<th>{c}</th>" for c in head) + "</tr>" if head else ""
    return (
        f"<table>{h}"
        + "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
        + "</table>"
    )


def sha(text: object, n: int = 32) -> str:
    return sha1(str(text).encode()).hexdigest()[:n]


def num(text: object) -> int:
    return int(sha(text, 12), 16)


def key(path: str, query) -> tuple:
    return unquote(path), tuple(sorted(query))


def split(target: str):
    path, _, query = target.partition("?")
    return path, parse_qsl(query, keep_blank_values=True)


class Base:
    """`add` real pages; override `frame` (the layout) and `route` (traps)."""

    host = ""

    def __init__(self) -> None:
        self.reg: dict[tuple, str] = {}
        self.made: dict[str, tuple] = {}
        self.label = ""
        self.labels: set[str] = set()
        self.build()
        self.pages = frozenset(self.made)

    def build(self) -> None: ...

    def t(self, seed: object, topic: int = 12) -> Text:
        return Text(self.host, seed, topic)

    def add(self, url: str, title: str, main, head: str = "") -> str:
        """A real page; `main` is HTML or a function of the target."""
        path, q = split(url)
        k = key(path, q)
        if k in self.reg:
            raise ValueError(f"{self.host}: {url} twice")
        self.reg[k] = url
        self.made[url] = (title, main, head)
        return url

    def lists(
        self, title: str, url_of, entries: list[str], size: int, pager, intro: str = ""
    ) -> None:
        """Pages of a list: `url_of(page)`, `pager(page, last, url_of)` is HTML."""
        last = max(1, -(-len(entries) // size))
        for p in range(1, last + 1):
            self.add(
                url_of(p), title + (f" - page {p}" if p > 1 else ""),
                (lambda target, p=p: (intro if p == 1 else "") + "".join(entries[(p - 1) * size : p * size]) + pager(p, last, url_of)),
            )  # fmt: skip

    def show(self, name: str, target: str = "", label: str = "alias") -> Answer:
        if name not in self.made:
            return NOT_FOUND
        target = target or name
        self.label = "" if target == name else label
        title, main, head = self.made[name]
        if callable(main):
            main = main(target)
        return Answer(self.frame(title, main, target, head), page=name)

    def find(self, path: str, q) -> str | None:
        return self.reg.get(key(path, q))

    def trap(self, label: str, title: str, main: str, target: str, head: str = "") -> Answer:
        self.label = label
        return Answer(self.frame(title, main, target, head), in_trap=True)

    def neutral(self, title: str, main: str, target: str, head: str = "") -> Answer:
        """A page that may be wanted or not: counts for nothing."""
        self.label = ""
        return Answer(self.frame(title, main, target, head))

    def answer(self, target: str) -> Answer:
        path, q = split(target)
        found = self.route(path, q, dict(q), target)
        if found is None:
            name = self.find(path, q)
            found = self.show(name, target) if name else NOT_FOUND
        return found

    def route(self, path: str, q: list, d: dict, target: str) -> Answer | None:
        return None

    def frame(self, title: str, main: str, target: str, head: str = "") -> str:
        raise NotImplementedError


def pager_all(p: int, last: int, url_of) -> str:
    if last == 1:
        return ""
    return (
        "<nav class=pages>"
        + " ".join(a(url_of(n), n) if n != p else f"<b>{n}</b>" for n in range(1, last + 1))
        + "</nav>"
    )


def pager_next(p: int, last: int, url_of) -> str:
    out = []
    if p > 1:
        out.append(a(url_of(p - 1), "Previous"))
    if p < last:
        out.append(a(url_of(p + 1), "Next"))
    return "<div class=pager>" + " | ".join(out) + "</div>"


def pager_window(p: int, last: int, url_of) -> str:
    ns = sorted({1, last, *range(max(1, p - 2), min(last, p + 2) + 1)})
    return (
        "<ul class=pagination>"
        + "".join(f"<li>{a(url_of(n), n) if n != p else n}</li>" for n in ns)
        + "</ul>"
    )


def enc(text: str) -> str:
    return quote(text, safe="")


def day(text: str) -> date | None:
    """The day that a text names, or None."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
