"""Eight hosts with a trap each, which were known when the first rules were made."""

from __future__ import annotations

import calendar
import itertools
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from urllib.parse import parse_qsl, quote, urlencode

from bench.traps.cores import path_core
from bench.traps.site import Answer, Core, Link, Site, TrappedSite, layout, list_of
from bench.traps.writer import Writer


def _query_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, number, _slug: f"/index.php?cat={section}&id={number}",
        lambda section, page: f"/index.php?cat={section}" + (f"&page={page}" if page > 1 else ""),
    )


@dataclass
class EventCalendar:
    """
    A town's calendar with a page per month and per day, back to 1970 and without an end.

    Twelve months have events, which link to their own pages. Months with events and event pages are
    real. A day repeats what its month says, and nothing shows which days have an event.
    """

    host: str
    first: date = date(2026, 3, 1)
    pages: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.days: dict[date, str] = {}
        for number in range(36):
            writer = Writer(f"{self.host} event {number}")
            day = self.first + timedelta(days=10 * number + writer.random.randrange(9))
            self.days[day] = f"/events/{number}-{writer.word()}/"
        real = {self._month_url(day) for day in self.days}
        self.pages = frozenset(real | set(self.days.values()))

    @staticmethod
    def _month_url(day: date) -> str:
        return f"/calendar/{day.year}/{day.month:02}/"

    @staticmethod
    def _day_url(day: date) -> str:
        return f"/calendar/{day.year}/{day.month:02}/{day.day:02}/"

    def links(self, target: str) -> list[Link]:
        return [(self._month_url(date(2026, 11, 1)), "Calendar")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if target.startswith("/events/"):
            return self._event(target)
        found = re.fullmatch(r"/calendar/(\d{4})/(\d\d)/(?:(\d\d)/)?", target)
        if not found:
            return None
        year, month = int(found[1]), int(found[2])
        if not 1970 <= year <= 9998 or not 1 <= month <= 12:
            return None
        title, main = (
            self._day(year, month, int(found[3])) if found[3] else self._month(year, month)
        )
        real = target if target in self.pages else ""
        body = layout(self.host, title, main, self.links(target))
        return Answer(body, page=real, in_trap=not real)

    def _month(self, year: int, month: int) -> tuple[str, str]:
        rows = []
        for week in calendar.monthcalendar(year, month):
            cells = [
                f'<td><a href="{self._day_url(date(year, month, day))}">{day}</a></td>'
                if day
                else "<td></td>"
                for day in week
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        before = date(year, month, 1) - timedelta(days=1)
        after = date(year, month, 28) + timedelta(days=5)
        events = [
            (url, f"{day.isoformat()}: {Writer(url).title()}")
            for day, url in self.days.items()
            if (day.year, day.month) == (year, month)
        ]
        main = f"<table>{''.join(rows)}</table>" + list_of(
            [
                (self._month_url(before), "Previous month"),
                (self._month_url(after), "Next month"),
            ]
        )
        main += list_of(events) if events else "<p>There are no events in this month.</p>"
        return f"{calendar.month_name[month]} {year}", main

    def _day(self, year: int, month: int, day: int) -> tuple[str, str]:
        try:
            shown = date(year, month, day)
        except ValueError:
            return "No such day", "<p>This day does not exist.</p>"
        url = self.days.get(shown)
        text = (
            list_of([(url, Writer(url).title())])
            if url
            else "<p>There are no events on this day.</p>"
        )
        text += list_of(
            [
                (self._day_url(shown - timedelta(days=1)), "Previous day"),
                (self._day_url(shown + timedelta(days=1)), "Next day"),
            ]
        )
        return (
            f"{calendar.day_name[shown.weekday()]}, {shown.day} {calendar.month_name[month]} {year}",
            text,
        )

    def _event(self, target: str) -> Answer | None:
        if target not in self.pages:
            return None
        writer = Writer(target)
        main = writer.paragraphs(2, 4)
        return Answer(layout(self.host, writer.title(), main, self.links(target)), page=target)


@dataclass
class RelativeLinks:
    """
    Navigation with relative links. The server shows a page whatever folders precede it
    in the path.
    """

    folders: tuple[str, ...] = ("about", "contact", "team", "service")

    def links(self, target: str) -> list[Link]:
        return [(f"{folder}/", folder.capitalize()) for folder in self.folders]

    def answer(self, target: str, core: Core) -> Answer | None:
        parts = target.strip("/").split("/")
        if target == "/" or target in core.targets or parts[-1] not in self.folders:
            return None
        writer = Writer(f"{core.host} {parts[-1]}")
        body = layout(
            core.host, parts[-1].capitalize(), writer.paragraphs(2, 4), self.links(target)
        )
        real = target if len(parts) == 1 else ""
        return Answer(body, page=real, in_trap=not real)

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/{folder}/" for folder in self.folders)


@dataclass
class PathSessions:
    """
    A session in the path for clients without cookies, as in old ASP.NET.

    Links in the navigation are plain. Links in the text have the session of the request, or a new
    one if it has none, or if the session was used for twenty pages.
    """

    used: dict[str, int] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def _session(self, given: str) -> str:
        if given and self.used.get(given, 0) < 20:
            self.used[given] = self.used.get(given, 0) + 1
            return given
        random = Writer(f"session {next(self._numbers)}").random
        return "".join(random.choice("abcdefghijklmnopqrstuvwxyz012345") for _ in range(24))

    def links(self, target: str) -> list[Link]:
        return []

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/\(S\((\w+)\)\)(/.*)", target)
        session, plain = (found[1], found[2]) if found else ("", target)
        if plain not in core.targets:
            return None
        own = self._session(session)
        links = [(f"/(S({own})){url}", "Read more") for url in list(core.targets)[5:12]]
        answer = core.answer(plain, links, (lambda url: f"/(S({own})){url}") if session else str)
        return Answer(answer.body, page="" if session else plain, in_trap=bool(session))


@dataclass
class AppendedParameter:
    """A pager that appends its parameter to the requested URL, and escapes `&` twice."""

    def links(self, target: str) -> list[Link]:
        mark = "&amp;" if "?" in target else "?"
        return [(f"{target}{mark}p={number}", f"Part {number}") for number in (2, 3)]

    def answer(self, target: str, core: Core) -> Answer | None:
        plain = re.split(r"[?&](?:amp;|amp%3B)?p=\d", target)[0]
        if plain == target or plain not in core.targets:
            return None
        answer = core.answer(plain, self.links(target))
        return Answer(answer.body, in_trap=True)


FACETS = {
    "color": ("black", "blue", "brown", "green", "red", "white"),
    "size": ("36", "38", "40", "42", "44"),
    "brand": ("arden", "belmo", "cortez", "dunja"),
    "material": ("leather", "canvas", "wool"),
    "sort": ("price", "-price", "newest", "name"),
    "view": ("grid", "list"),
}


@dataclass
class Facets:
    """
    A shop whose lists can be narrowed by any set of facets, in the order in which they were chosen.

    Each combination shows products that are also in the plain lists, or none.
    """

    products: int = 220

    def __post_init__(self) -> None:
        self.kinds = ("shoes", "boots", "sandals", "bags")
        lists = {
            f"/shop/{kind}" + (f"?page={page}" if page > 1 else "")
            for kind in self.kinds
            for page in range(1, self._last_page() + 1)
        }
        self.pages = frozenset(
            lists | {f"/product/{number}" for number in range(1, self.products + 1)}
        )

    def _last_page(self) -> int:
        return (self.products // len(self.kinds) + 11) // 12

    def links(self, target: str) -> list[Link]:
        return [(f"/shop/{kind}", kind.capitalize()) for kind in self.kinds]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        if path.startswith("/product/"):
            return self._product(target, core)
        kind = path.removeprefix("/shop/")
        if not path.startswith("/shop/") or kind not in self.kinds:
            return None
        chosen = parse_qsl(query)
        known = {name: value for name, value in chosen if name in FACETS or name == "page"}
        if len(known) != len(chosen) or not known.get("page", "1").isdecimal():
            return None
        return self._list(core, target, kind, known)

    def _list(self, core: Core, target: str, kind: str, chosen: dict[str, str]) -> Answer:
        page = int(chosen.get("page", "1"))
        numbers = [n for n in range(1, self.products + 1) if self.kinds[n % 4] == kind]
        for name in ("color", "size", "brand", "material"):
            if name in chosen:
                numbers = [n for n in numbers if self._facet(n, name) == chosen[name]]
        if chosen.get("sort", "").startswith("-"):
            numbers.reverse()
        shown = numbers[(page - 1) * 12 : page * 12]
        facets = {name: value for name, value in chosen.items() if name != "page"}
        links: list[Link] = [
            (f"/shop/{kind}?{urlencode({**facets, name: value})}", value)
            for name, values in FACETS.items()
            for value in values
            if facets.get(name) != value
        ]
        if page * 12 < len(numbers):
            links.append((f"/shop/{kind}?{urlencode({**facets, 'page': str(page + 1)})}", "Next"))
        main = (
            list_of([(f"/product/{n}", self._name(n)) for n in shown])
            if shown
            else "<p>No products.</p>"
        )
        real = target if target in self.pages else ""
        title = f"{kind.capitalize()} {' '.join(facets.values())}"
        return Answer(
            layout(core.host, title, main + list_of(links), self.links(target)),
            page=real,
            in_trap=not real,
        )

    def _facet(self, number: int, name: str) -> str:
        values = FACETS[name]
        return Writer(f"{name} {number}").random.choice(values)

    def _name(self, number: int) -> str:
        return f"{Writer(f'product {number}').word().capitalize()} {self._facet(number, 'color')}"

    def _product(self, target: str, core: Core) -> Answer | None:
        if target not in self.pages:
            return None
        number = int(target.rsplit("/", 1)[1])
        writer = Writer(f"product text {number}")
        facets = "".join(
            f"<li>{name}: {self._facet(number, name)}</li>"
            for name in ("color", "size", "brand", "material")
        )
        main = f"<p>EUR {writer.random.randint(20, 400)}.90</p><ul>{facets}</ul><p>{writer.paragraph(3)}</p>"
        return Answer(layout(core.host, self._name(number), main, self.links(target)), page=target)


@dataclass
class SoftNotFound:
    """
    Numbered articles with a link to the next. A number without an article is answered
    with 200.
    """

    last: int = 90

    def links(self, target: str) -> list[Link]:
        return [("/article/1", "All articles from the first one")]

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/article/{number}" for number in range(1, self.last + 1))

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/article/(\d{1,9})", target)
        if not found:
            return None
        number = int(found[1])
        following = [
            (f"/article/{number + 1}", "Next article"),
            (f"/article/{number * 2}", "Random article"),
        ]
        if target in self.pages:
            writer = Writer(f"{core.host} numbered {number}")
            body = layout(core.host, writer.title(), writer.paragraphs(2, 5), following)
            return Answer(body, page=target)
        main = f"<p>We are sorry. The article {number} does not exist any more, or never did. Try the search.</p>"
        return Answer(layout(core.host, "Article not found", main, following), in_trap=True)


@dataclass
class SiteSearch:
    """A search whose results suggest more searches, with words from the results."""

    def links(self, target: str) -> list[Link]:
        random = Writer(f"tags {target}").random
        words = random.sample(("harbor", "river", "tram", "garden", "budget", "lantern"), 2)
        return [(f"/search?q={word}", word) for word in words]

    def answer(self, target: str, core: Core) -> Answer | None:
        if not target.startswith("/search?"):
            return None
        query = dict(parse_qsl(target.partition("?")[2]))
        words = query.get("q", "")
        start = int(query["start"]) if query.get("start", "").isdecimal() else 0
        matches = [
            n
            for n in range(1, core.articles + 1)
            if any(word in core.title(n).lower() for word in words.lower().split())
        ]
        shown = matches[start : start + 10]
        links: list[Link] = [
            (f"/search?q={quote(f'{words} {word.lower()}', safe='')}", f"{words} {word.lower()}")
            for n in shown[:4]
            for word in core.title(n).split()[1:3]
        ]
        if start + 10 < len(matches):
            links.append((f"/search?q={quote(words, safe='')}&start={start + 10}", "Next"))
        main = f"<p>{len(matches)} results for {words}</p>" + "".join(
            f'<article><h3><a href="{core.url(n)}">{core.title(n)}</a></h3>'
            f"<p>{Writer(f'{core.host} {n} text').sentence()}</p></article>"
            for n in shown
        )
        return Answer(layout(core.host, f"Search: {words}", main, links), in_trap=True)


@dataclass
class Variants:
    """
    Every article also for printing, for sharing on each network, and for replying to
    each comment.
    """

    def links(self, target: str) -> list[Link]:
        if target.count("/") < 3:
            return []
        comments = Writer(f"comments {target}").random
        return [
            (f"{target}?print=1", "Print"),
            *(
                (f"{target}?share={name}&nb=1", f"Share on {name}")
                for name in ("facebook", "pocket", "reddit", "x")
            ),
            *((f"{target}?replytocom={comments.randint(1000, 99999)}", "Reply") for _ in range(6)),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        plain, mark, _ = target.partition("?")
        if not mark or plain not in core.targets:
            return None
        answer = core.answer(plain, self.links(plain))
        return Answer(answer.body, in_trap=True)


def trapped_sites() -> list[Site]:
    """Return the hosts, each with 85 to 270 real pages."""
    return [
        TrappedSite(path_core("www.ardmore-town.test", 90), EventCalendar("www.ardmore-town.test")),
        TrappedSite(path_core("belkin-joinery.test", 110), RelativeLinks()),
        TrappedSite(path_core("intranet.corvale.test", 110), PathSessions()),
        TrappedSite(_query_core("www.dunmere-gazette.test", 110), AppendedParameter()),
        TrappedSite(path_core("shop.eastholt.test", 30), Facets()),
        TrappedSite(_query_core("farrow-reader.test", 60), SoftNotFound()),
        TrappedSite(path_core("www.glenside.test", 110), SiteSearch()),
        TrappedSite(path_core("blog.hartwell.test", 110), Variants()),
    ]
