"""
Pages, lists and page frames of the sites that are scored blind.

These sites have their own frames and lists, so that rules which fit the other sites gain nothing here.
Real pages have the normal spelling of their URLs as names: queries are sorted by parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha1
from html import escape
from urllib.parse import parse_qsl

from bench.traps.site import NOT_FOUND, Answer, Link
from bench.traps.writer import Writer, slug


@dataclass(frozen=True, slots=True)
class Page:
    """What is in the middle of a page, as HTML."""

    title: str
    main: str
    head: str = ""


def anchor(href: str, text: str) -> str:
    return f'<a href="{escape(href)}">{escape(text)}</a>'


def listed(links: Iterable[Link]) -> str:
    return "<ul>" + "".join(f"<li>{anchor(*link)}</li>" for link in links) + "</ul>"


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Cells are HTML."""
    lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def digest(text: str) -> str:
    """Forty hexadecimal digits, as sites have them in identifiers."""
    return sha1(text.encode()).hexdigest()


def text_of(seed: str, least: int = 2, most: int = 5) -> str:
    return Writer(seed).paragraphs(least, most)


def portal(host: str, page: Page, menu: str, beside: str) -> str:
    """A site of a publisher: breadcrumb, sidebar, footer with columns."""
    writer = Writer(f"{host} frame")
    return (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{page.title} | {host}</title>{page.head}"
        f'</head><body><div class="topbar"><a href="/">{host}</a> {writer.sentence()}</div>'
        f'<nav class="primary">{menu}</nav><div class="breadcrumb">{anchor("/", "Home")} &raquo; {page.title}</div>'
        f'<div id="wrapper"><div id="content"><h1>{page.title}</h1>{page.main}</div>'
        f'<div id="sidebar"><h3>{writer.word()}</h3>{beside}<p>{writer.paragraph(2)}</p></div></div>'
        f'<div id="footer"><p>{writer.paragraph(3)}</p><p>{writer.paragraph(2)}</p><p>&copy; {host}</p></div></body></html>'
    )


def shop(host: str, page: Page, menu: str, beside: str) -> str:
    """A site that sells: a notice on cookies, a cart, a newsletter."""
    writer = Writer(f"{host} frame")
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{page.title}</title>{page.head}</head><body>"
        f'<div class="cookie-notice">We use cookies. {writer.sentence()} <button>Accept</button></div>'
        f'<header><a class="logo" href="/">{host}</a><span class="cart">0 items, 0.00</span>{menu}</header>'
        f'<section class="page"><h1>{page.title}</h1>{page.main}</section><section class="extra">{beside}</section>'
        f'<section class="newsletter"><h4>Newsletter</h4><p>{writer.paragraph(2)}</p></section>'
        f'<footer><p>{writer.paragraph(4)}</p><ul class="payment"><li>Card<li>Invoice<li>Transfer</ul></footer></body></html>'
    )


def old(host: str, page: Page, menu: str, beside: str) -> str:
    """A site of twenty years ago: tables for layout, no element that names its part."""
    writer = Writer(f"{host} frame")
    return (
        f"<html><head><title>{host}: {page.title}</title>{page.head}</head><body bgcolor=#ffffff><table width=100%>"
        f'<tr><td colspan=2><a href="/"><b>{host}</b></a> <i>{writer.sentence()}</i></td></tr>'
        f"<tr><td valign=top width=160>{menu}{beside}</td><td valign=top><h2>{page.title}</h2>{page.main}</td></tr>"
        f"<tr><td colspan=2><small>{writer.paragraph(2)}</small></td></tr></table></body></html>"
    )


def modern(host: str, page: Page, menu: str, beside: str) -> str:
    """A site with the elements of HTML 5."""
    writer = Writer(f"{host} frame")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{page.title} - {host}</title>{page.head}'
        f'</head><body><a href="#main">Skip to content</a><header><a href="/">{host}</a><nav>{menu}</nav></header>'
        f'<main id="main"><article><h1>{page.title}</h1>{page.main}</article></main><aside>{beside}</aside>'
        f"<footer><p>{writer.paragraph(2)}</p></footer></body></html>"
    )


Frame = Callable[[str, Page, str, str], str]


class BlindSite:
    """A host with real pages that are written down; a host with a trap overrides `beyond` and `beside`."""

    def __init__(
        self, host: str, written: dict[str, Page], *, frame: Frame, menu: Iterable[Link] = ()
    ) -> None:
        self.host, self.written, self.frame, self.menu = host, written, frame, listed(menu)

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(self.written)

    def answer(self, target: str) -> Answer:
        path, _, query = target.partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        return self.beyond(target, path, asked) or self.real(target)

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        """The answer to what is not a real page under its own name; None: it may be one."""
        return None

    def beside(self, target: str) -> str:
        """What this page has in its sidebar, as HTML."""
        return ""

    def real(self, name: str, target: str = "") -> Answer:
        """The real page of this name, under its own or another URL."""
        page = self.written.get(name)
        return Answer(self.framed(page, target or name), page=name) if page else NOT_FOUND

    def in_trap(self, title: str, main: str, target: str) -> Answer:
        return Answer(self.framed(Page(title, main), target), in_trap=True)

    def framed(self, page: Page, target: str) -> str:
        return self.frame(self.host, page, self.menu, self.beside(target))


@dataclass(frozen=True, slots=True)
class Item:
    """What a list shows of an item, and what its page shows; HTML except the title."""

    title: str
    teaser: str
    main: str
    head: str = ""


def story(seed: str) -> Item:
    """An article of two to six paragraphs."""
    writer = Writer(f"{seed} text")
    return Item(
        Writer(seed).title(), f"<p>{writer.sentence()}</p>",
        f"<p class=by>{writer.person()}</p>{writer.paragraphs(2, 6)}",
    )  # fmt: skip


def product(seed: str) -> Item:
    """A thing with a price, a short description and data."""
    writer = Writer(seed)
    name = f"{writer.word().capitalize()} {writer.random.choice(('Classic', 'Plus', 'Light', 'Duo', 'Pro'))} {writer.random.randint(2, 990)}"
    price, weight = writer.random.randint(500, 90_000) / 100, writer.random.randint(80, 9_000)
    data = table(
        (("Weight", f"{weight} g"), ("Color", writer.word()), ("Article", digest(seed)[:8]))
    )
    return Item(
        name, f"<p>{price:.2f} EUR</p>",
        f"<p class=price>{price:.2f} EUR</p><p>{writer.paragraph(3)}</p>{data}<p>Delivery within three working days.</p>",
    )  # fmt: skip


@dataclass
class Catalog:
    """Items in groups, with lists in pages: the core of most sites."""

    host: str
    count: int
    item_of: Callable[[str], Item]
    url_of: Callable[[int, str], str]
    """The URL of an item, by its number from 1 and the slug of its title."""
    list_url: Callable[[str, int], str]
    groups: tuple[str, ...]
    size: int = 10
    related: int = 3
    items: dict[int, Item] = field(default_factory=dict)
    urls: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in range(1, self.count + 1):
            item = self.items[number] = self.item_of(f"{self.host} {number}")
            url = self.url_of(number, slug(item.title))
            if url in self.urls.values():  # two things of one name, as a site would number them
                url = self.url_of(number, f"{slug(item.title)}-{number}")
            self.urls[number] = url

    def group_of(self, number: int) -> str:
        return self.groups[number % len(self.groups)]

    def of_group(self, group: str) -> list[int]:
        return [number for number in self.items if self.group_of(number) == group]

    def link(self, number: int) -> Link:
        return self.urls[number], self.items[number].title

    def teasers(self, numbers: Iterable[int], change: Callable[[str], str] = str) -> str:
        """Entries of a list; `change` is applied to their URLs."""
        return "".join(
            f'<div class="entry"><h3>{anchor(change(self.urls[n]), self.items[n].title)}</h3>{self.items[n].teaser}</div>'
            for n in numbers
        )

    def menu(self) -> list[Link]:
        return [(self.list_url(group, 1), group.capitalize()) for group in self.groups]

    def list_main(self, group: str, page: int, change: Callable[[str], str] = str) -> str:
        """A page of a list; `change` is applied to the URLs of its items and pages."""
        numbers = self.of_group(group)
        last = max(1, -(-len(numbers) // self.size))
        shown = numbers[(page - 1) * self.size : page * self.size]
        pager = [(change(self.list_url(group, p)), str(p)) for p in range(1, last + 1) if p != page]
        return f"<p>{len(numbers)} entries</p>" + self.teasers(shown, change) + listed(pager)

    def related_to(self, number: int) -> list[int]:
        near = [(number * 5 + step) % self.count + 1 for step in (2, 17, 31, 44)][: self.related]
        return [n for n in near if n != number]

    def main(self, number: int) -> str:
        more = listed(self.link(n) for n in self.related_to(number)) if self.related else ""
        return self.items[number].main + (f"<h4>See also</h4>{more}" if more else "")

    def written(self) -> dict[str, Page]:
        """The home page, all pages of lists, and all items."""
        newest = list(self.items)[-8:]
        pages = {"/": Page("Welcome", text_of(f"{self.host} home") + self.teasers(newest))}
        for group in self.groups:
            for page in range(1, max(1, -(-len(self.of_group(group)) // self.size)) + 1):
                title = group.capitalize() + (f", page {page}" if page > 1 else "")
                pages[self.list_url(group, page)] = Page(title, self.list_main(group, page))
        for number, item in self.items.items():
            pages[self.urls[number]] = Page(item.title, self.main(number), item.head)
        return pages


def paged(url: str, page: int, name: str = "page") -> str:
    """The URL of a page of a list, whose first page has no number."""
    if page == 1:
        return url
    path, _, query = url.partition("?")
    return f"{path}?" + "&".join(sorted([*filter(None, query.split("&")), f"{name}={page}"]))
