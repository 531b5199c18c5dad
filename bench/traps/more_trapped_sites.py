"""Eight more hosts with a trap each. They were first scored unseen, and are known now."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, quote, unquote

from bench.traps.cores import dated_core
from bench.traps.site import Answer, Core, Link, Site, TrappedSite, layout, list_of
from bench.traps.writer import Writer


def _numbered_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, number, slug: f"/{section}/{number}-{slug}",
        lambda section, page: f"/{section}" + (f"/p{page}" if page > 1 else ""),
    )


@dataclass
class Bookings:
    """Rooms of a library, with free times by week and hour in the query, without an end."""

    rooms: int = 8
    start: datetime = datetime(2026, 11, 30)  # noqa: DTZ001 - a local time, as in its links

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/rooms/{room}" for room in range(1, self.rooms + 1))

    def links(self, target: str) -> list[Link]:
        return [(f"/rooms/{room}", f"Room {room}") for room in range(1, self.rooms + 1)]

    def _time_links(self, room: str, week: datetime) -> list[Link]:
        hours = [
            (
                f"/book?room={room}&at={(week + timedelta(days=day, hours=hour)).isoformat()}",
                f"{hour}:00",
            )
            for day in range(5)
            for hour in (9, 12, 15)
        ]
        return [
            *hours,
            (f"/book?room={room}&week={(week + timedelta(days=7)).date()}", "Next week"),
            (f"/book?room={room}&week={(week - timedelta(days=7)).date()}", "Last week"),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        if target in self.pages:
            room = target.rsplit("/", 1)[1]
            main = Writer(f"room {room}").paragraphs(2, 3) + list_of(
                self._time_links(room, self.start)
            )
            return Answer(layout(core.host, f"Room {room}", main, self.links(target)), page=target)
        query = dict(parse_qsl(target.partition("?")[2]))
        if not target.startswith("/book?") or f"/rooms/{query.get('room')}" not in self.pages:
            return None
        try:
            at = datetime.fromisoformat(query.get("at") or query.get("week", ""))
        except ValueError:
            return None
        if "at" in query:
            main = f"<p>Room {query['room']} is free on {at:%A, %d %B %Y at %H:%M}.</p><form><input name=name></form>"
            main += list_of(
                [
                    (
                        f"/book?room={query['room']}&week={at.date() - timedelta(days=at.weekday())}",
                        "Back",
                    )
                ]
            )
        else:
            main = list_of(self._time_links(query["room"], at))
        return Answer(layout(core.host, "Book a room", main, self.links(target)), in_trap=True)


@dataclass
class PathFilters:
    """Tags as parts of the path. Each page has links that add or remove a tag, in any order."""

    tags: tuple[str, ...] = (
        "vegan",
        "quick",
        "spicy",
        "soup",
        "baked",
        "cheap",
        "winter",
        "party",
        "gluten-free",
    )

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/recipes/", *(f"/recipes/{tag}/" for tag in self.tags)})

    def links(self, target: str) -> list[Link]:
        return [("/recipes/", "Recipes by tag")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if not target.startswith("/recipes/"):
            return None
        chosen = [part for part in target.removeprefix("/recipes/").split("/") if part]
        if any(tag not in self.tags for tag in chosen) or len(set(chosen)) != len(chosen):
            return None
        shown = [
            n
            for n in range(1, core.articles + 1)
            if set(chosen) <= set(Writer(f"tags {n}").random.sample(self.tags, 3))
        ][:20]
        links: list[Link] = [
            (f"/recipes/{'/'.join([*chosen, tag])}/", f"+ {tag}")
            for tag in self.tags
            if tag not in chosen
        ]
        links += [
            (f"/recipes/{'/'.join(t for t in chosen if t != tag)}/", f"- {tag}") for tag in chosen
        ]
        main = (
            list_of([(core.url(n), core.title(n)) for n in shown])
            if shown
            else "<p>Nothing matches.</p>"
        )
        real = target if target in self.pages else ""
        body = layout(
            core.host,
            f"Recipes: {', '.join(chosen) or 'all'}",
            main + list_of(links),
            self.links(target),
        )
        return Answer(body, page=real, in_trap=not real)


@dataclass
class FolderListings:
    """
    A server's folder listings with sortable columns, and a link in a folder to a parent
    folder.
    """

    folders: tuple[str, ...] = ("sources", "images", "manuals")

    @property
    def pages(self) -> frozenset[str]:
        files = {f"/pub/{folder}/file-{n}.html" for folder in self.folders for n in range(1, 13)}
        return frozenset({"/pub/", *(f"/pub/{folder}/" for folder in self.folders), *files})

    def links(self, target: str) -> list[Link]:
        return [("/pub/", "Files")]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, mark, query = target.partition("?")
        if not path.startswith("/pub/") or (mark and not re.fullmatch(r"C=[NMSD];O=[AD]", query)):
            return None
        parts = [part for part in path.removeprefix("/pub/").split("/") if part]
        plain = re.sub(r"^(\w+/current/)+", "", path.removeprefix("/pub/"))
        if plain and f"/pub/{plain}" not in self.pages and not self._is_link(parts):
            return None
        real = target if target in self.pages else ""
        if path.endswith(".html"):
            writer = Writer(plain)
            body = layout(core.host, writer.title(), writer.paragraphs(1, 2), self.links(target))
            return Answer(body, page=real, in_trap=not real)
        return Answer(self._listing(path, parts), page=real, in_trap=not real)

    def _is_link(self, parts: list[str]) -> bool:
        return (
            bool(parts)
            and parts[-1] == "current"
            and all(p in (*self.folders, "current") for p in parts)
        )

    def _listing(self, path: str, parts: list[str]) -> str:
        inside = bool(parts) and parts[-1] in self.folders
        entries = (
            [f"file-{n}.html" for n in range(1, 13)] + ["current/"]
            if inside
            else [f"{f}/" for f in self.folders]
        )
        sorts = [(f"?C={column};O={order}", column) for column in "NMSD" for order in "AD"]
        rows = "".join(
            f"<tr><td><a href={name}>{name}</a></td><td>2026-05-0{len(name) % 9}</td></tr>"
            for name in entries
        )
        return (
            f"<!doctype html><title>Index of {path}</title><h1>Index of {path}</h1>{list_of(sorts)}"
            f'<a href="../">Parent Directory</a><table>{rows}</table><address>Apache/2.4.62</address>'
        )


@dataclass
class Stamps:
    """Every link of the site has the number of its response, so that it is never cached."""

    _numbers: itertools.count[int] = field(
        default_factory=lambda: itertools.count(1764400000000, 1371)
    )

    def links(self, target: str) -> list[Link]:
        return []

    def answer(self, target: str, core: Core) -> Answer | None:
        plain = re.sub(r"[?&]ts=\d+$", "", target)
        if plain not in core.targets:
            return None
        stamp = next(self._numbers)
        return core.answer(plain, [], lambda url: f"{url}{'&' if '?' in url else '?'}ts={stamp}")


@dataclass
class EndlessPager:
    """Lists that continue after their last page, with a link to the next."""

    def links(self, target: str) -> list[Link]:
        return [("/archive/page/1/", "Archive")]

    def _last(self, core: Core) -> int:
        return (core.articles + 7) // 8

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/archive/page/(\d{1,8})/", target)
        if not found or not int(found[1]):
            return None
        page = int(found[1])
        shown = range((page - 1) * 8 + 1, min(page * 8, core.articles) + 1)
        main = (
            list_of([(core.url(n), core.title(n)) for n in shown])
            if shown
            else "<p>Nothing was found.</p>"
        )
        main += list_of([(f"/archive/page/{page + 1}/", "Older posts")])
        if page > 1:
            main += list_of([(f"/archive/page/{page - 1}/", "Newer posts")])
        is_real = page <= self._last(core)
        body = layout(core.host, f"Archive, page {page}", main, self.links(target))
        return Answer(body, page=target if is_real else "", in_trap=not is_real)


@dataclass
class ReturnTo:
    """
    A sign-in form that every page, including the form, links to with its own URL to
    return to.
    """

    def links(self, target: str) -> list[Link]:
        back = quote(target, safe="")
        return [
            (f"/account/login?return={back}", "Sign in"),
            (f"/account/register?from={back}", "Register"),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        if path not in {"/account/login", "/account/register"}:
            return None
        back = unquote(query.partition("=")[2])
        main = "<form method=post><input name=user><input name=password type=password></form>"
        main += f"<p>You will return to {back[:60]} afterward.</p>"
        title = "Sign in" if path.endswith("login") else "Register"
        return Answer(layout(core.host, title, main, self.links(target)), in_trap=True)


@dataclass
class Comparisons:
    """Product comparisons: any set of products, and each page offers to add one more."""

    products: int = 60

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/products/", *(f"/products/{n}" for n in range(1, self.products + 1))})

    def links(self, target: str) -> list[Link]:
        return [("/products/", "Products")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if target == "/products/":
            links = [(f"/products/{n}", self._name(n)) for n in range(1, self.products + 1)]
            return Answer(
                layout(core.host, "Products", list_of(links), self.links(target)), page=target
            )
        if target in self.pages:
            number = int(target.rsplit("/", 1)[1])
            main = self._text(number) + list_of(
                [(f"/compare?ids={number},{self._other(number, 1)}", "Compare")]
            )
            return Answer(
                layout(core.host, self._name(number), main, self.links(target)), page=target
            )
        found = re.fullmatch(r"/compare\?ids=((?:\d+(?:,|%2C))*\d+)", target)
        if not found:
            return None
        numbers = [int(n) for n in re.split(",|%2C", found[1])][:40]
        more = [self._other(numbers[-1], step) for step in range(1, 7)]
        ids = ",".join(map(str, numbers))
        main = "".join(f"<section>{self._text(n)}</section>" for n in numbers if n <= self.products)
        main += list_of(
            [(f"/compare?ids={ids},{n}", f"Add {self._name(n)}") for n in more if n not in numbers]
        )
        return Answer(layout(core.host, "Compare", main, self.links(target)), in_trap=True)

    def _other(self, number: int, step: int) -> int:
        return (number * 11 + step * 17) % self.products + 1

    def _name(self, number: int) -> str:
        return Writer(f"compared {number}").word().capitalize()

    def _text(self, number: int) -> str:
        writer = Writer(f"compared text {number}")
        return f"<h2>{self._name(number)}</h2><p>EUR {writer.random.randint(9, 900)}</p><p>{writer.paragraph(3)}</p>"


@dataclass
class Garden:
    """
    Pages of made-up sentences that link to more of them, made for crawlers that ignore
    robots.txt.
    """

    def links(self, target: str) -> list[Link]:
        return [("/garden/", "Garden")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if not target.startswith("/garden/"):
            return None
        writer = Writer(f"garden {target}")
        links = [(f"/garden/{writer.word()}/{writer.word()}/", writer.word()) for _ in range(9)]
        return Answer(
            layout(core.host, writer.title(), writer.paragraphs(3, 6), links), in_trap=True
        )


def more_trapped_sites() -> list[Site]:
    """Return the hosts, each with 120 to 190 real pages."""
    return [
        TrappedSite(_numbered_core("library.inverly.test", 100), Bookings()),
        TrappedSite(_numbered_core("jessop-kitchen.test", 110), PathFilters()),
        TrappedSite(dated_core("mirror.kelby.test", 90), FolderListings()),
        TrappedSite(dated_core("www.lindale-post.test", 120), Stamps()),
        TrappedSite(dated_core("marlow-walks.test", 110), EndlessPager()),
        TrappedSite(_numbered_core("forum.norwick.test", 120), ReturnTo()),
        TrappedSite(_numbered_core("oakham-tools.test", 70), Comparisons()),
        TrappedSite(dated_core("penrith-notes.test", 120), Garden()),
    ]
