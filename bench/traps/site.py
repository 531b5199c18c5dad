"""
The parts of a measured origin: responses that identify their page, a core of real pages, and a
trap.

Every response says which real page its body is (`page`), or that it is a trap page. That is enough
to score a crawl: the first request for a real page is useful, and every other request for the same
page, under any URL, is in a trap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Protocol

from bench.traps.writer import Writer, slug

Link = tuple[str, str]
"""The `href` as written in the page, and its text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the origin."""

    body: str = ""
    page: str = ""
    """The real page in this response, whatever its URL; empty for none."""
    in_trap: bool = False
    status: int = 200
    location: str = ""


NOT_FOUND = Answer("<h1>404 Not Found</h1>", status=404)


class Site(Protocol):
    """A host."""

    host: str
    pages: frozenset[str]
    """The real pages, each of which a crawl can reach from `/` by links outside the trap."""

    def answer(self, target: str) -> Answer:
        """Return the response to a GET of the path and query."""


class Trap(Protocol):
    """The trap of a host."""

    def links(self, target: str) -> list[Link]:
        """Return the sidebar links that every page of the host has."""

    def answer(self, target: str, core: Core) -> Answer | None:
        """Return the response if the target is in the trap, else None (a real page or 404)."""


def list_of(links: list[Link]) -> str:
    items = "".join(f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links)
    return f"<ul>{items}</ul>"


def layout(name: str, title: str, main: str, links: list[Link], footer: str = "") -> str:
    """
    Return a page with a header, a sidebar with links, and a footer, shared by all pages
    of a site.
    """
    writer = Writer(name)
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)} - {name}</title></head><body>"
        f"<header><a href=/>{name}</a><p>{writer.sentence()}</p></header>"
        f"<main><h1>{escape(title)}</h1>{main}</main><aside><h2>More</h2>{list_of(links)}</aside>"
        f"<footer><p>{writer.paragraph(2)}</p><p>{footer or 'All rights reserved.'}</p></footer></body></html>"
    )


@dataclass
class Core:
    """
    Real pages: articles in sections, with lists of ten.

    `article_url(section, number, slug)` and `list_url(section, page)` give the site's URLs.
    """

    host: str
    articles: int
    article_url: Callable[[str, int, str], str]
    list_url: Callable[[str, int], str]
    sections: tuple[str, ...] = ("news", "people", "culture", "nature", "history")
    paragraphs: tuple[int, int] = (2, 6)
    targets: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for section, numbers in self.by_section().items():
            for page in range(1, (len(numbers) + 9) // 10 + 1):
                self.targets[self.list_url(section, page)] = (section, -page)
            for number in numbers:
                self.targets[self.url(number)] = (section, number)
        self.targets["/"] = ("", 0)

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(self.targets)

    def by_section(self) -> dict[str, list[int]]:
        """Article numbers, from 1, by section."""
        count = len(self.sections)
        return {
            s: list(range(i + 1, self.articles + 1, count)) for i, s in enumerate(self.sections)
        }

    def title(self, number: int) -> str:
        return Writer(f"{self.host} {number}").title()

    def url(self, number: int) -> str:
        section = self.sections[(number - 1) % len(self.sections)]
        return self.article_url(section, number, slug(self.title(number)))

    def answer(self, target: str, links: list[Link], change: Callable[[str], str] = str) -> Answer:
        """
        Return the target's real page, or 404. `change` is applied to every link to a
        real page.
        """
        if target not in self.targets:
            return NOT_FOUND
        section, number = self.targets[target]
        if not section:
            title, main = "Welcome", self._home(change)
        elif number < 0:
            title, main = (
                f"{section.capitalize()}, page {-number}",
                self._list(section, -number, change),
            )
        else:
            title, main = self.title(number), self._article(number, change)
        sections = [(change(self.list_url(s, 1)), s.capitalize()) for s in self.sections]
        return Answer(layout(self.host, title, main, sections + links), page=target)

    def _home(self, change: Callable[[str], str]) -> str:
        latest = range(max(1, self.articles - 8), self.articles + 1)
        return Writer(f"{self.host} home").paragraphs(2, 2) + list_of(
            [(change(self.url(n)), self.title(n)) for n in latest]
        )

    def _list(self, section: str, page: int, change: Callable[[str], str]) -> str:
        numbers = self.by_section()[section]
        shown = numbers[(page - 1) * 10 : page * 10]
        parts = [
            f'<article><h2><a href="{escape(change(self.url(n)))}">{self.title(n)}</a></h2>'
            f"<p>{Writer(f'{self.host} {n} text').sentence()}</p></article>"
            for n in shown
        ]
        pager = []
        if page > 1:
            pager.append((change(self.list_url(section, page - 1)), "Newer"))
        if page * 10 < len(numbers):
            pager.append((change(self.list_url(section, page + 1)), "Older"))
        return "".join(parts) + list_of(pager)

    def _article(self, number: int, change: Callable[[str], str]) -> str:
        writer = Writer(f"{self.host} {number} text")
        related = [(number * 7 + step) % self.articles + 1 for step in (1, 13, 29)]
        return (
            f"<p>By {writer.person()}</p>{writer.paragraphs(*self.paragraphs)}<h2>Related</h2>"
            + list_of([(change(self.url(n)), self.title(n)) for n in related if n != number])
        )


@dataclass
class TrappedSite:
    """A core of real pages with a trap."""

    core: Core
    trap: Trap

    @property
    def host(self) -> str:
        return self.core.host

    @property
    def pages(self) -> frozenset[str]:
        return self.core.pages | getattr(self.trap, "pages", frozenset())

    def answer(self, target: str) -> Answer:
        found = self.trap.answer(target, self.core)
        return found or self.core.answer(target, self.trap.links(target))
