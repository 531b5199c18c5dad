"""
Nine more hosts with a trap each, of kinds that the rules were not made for. They may be looked at.

The traps are wikis, sessions in the path, baskets, links that record where they were clicked, posts
that show their thread, maps, currencies, blog suffixes, and statistics for any date range.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from urllib.parse import parse_qsl

from bench.traps.cores import script_core, titled_core
from bench.traps.site import Answer, Core, Link, Site, TrappedSite, layout, list_of
from bench.traps.writer import Writer


def _blog_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda _section, number, slug: f"/{2015 + number % 9}/{slug}/",
        lambda section, page: f"/category/{section}/" + (f"page/{page}/" if page > 1 else ""),
    )


def _shop_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, number, slug: f"/{section}/{slug}-{number}.html",
        lambda section, page: f"/{section}/" + (f"?p={page}" if page > 1 else ""),
        paragraphs=(1, 2),
    )


@dataclass
class WikiActions:
    """Every page with its source, its history, each old version and the diff of any two."""

    def links(self, target: str) -> list[Link]:
        title = target.removeprefix("/wiki/").partition("?")[0]
        if not target.startswith("/wiki/"):
            return [("/w/index.php?title=Special:RecentChanges", "Recent changes")]
        front = f"/w/index.php?title={title}&action="
        return [
            (f"{front}edit", "Edit"),
            (f"{front}history", "History"),
            (f"{front}info", "Page information"),
            (f"/w/index.php?title=Special:WhatLinksHere/{title}", "What links here"),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        if path != "/w/index.php":
            return None
        asked = dict(parse_qsl(query))
        title = asked.get("title", "")
        if title.startswith("Special:"):
            shown = list(core.targets)[10 : 10 + len(title) % 15]
            main = list_of([(url, url) for url in shown])
            return Answer(layout(core.host, title, main, self.links("/")), in_trap=True)
        plain = core.answer(f"/wiki/{title}", [])
        if plain.status != 200:
            return None
        old = int(asked["oldid"]) if asked.get("oldid", "").isdecimal() else 0
        if asked.get("action") == "history":
            numbers = [Writer(f"{title} {n}").random.randint(10_000, 999_999) for n in range(9)]
            main = list_of(
                [
                    link
                    for n, other in itertools.pairwise(numbers)
                    for link in (
                        (f"/w/index.php?title={title}&oldid={n}", f"Version {n}"),
                        (f"/w/index.php?title={title}&diff={n}&oldid={other}", "Difference"),
                    )
                ]
            )
        elif asked.get("action") == "info":
            main = f"<p>Length of the page in bytes: {len(plain.body)}</p><p>Redirects: 0</p>"
        elif asked.get("action") == "edit":
            main = f"<textarea>{self._text(plain.body)}</textarea>"
        else:
            main = self._text(plain.body) + f"<p>This is version {old} of this page.</p>"
            main += list_of([(f"/w/index.php?title={title}&oldid={old - 17}", "Older version")])
        return Answer(layout(core.host, title, main, self.links(f"/wiki/{title}")), in_trap=True)

    @staticmethod
    def _text(body: str) -> str:
        found = re.search(r"<main>(.*)</main>", body)
        return found[1] if found else ""


@dataclass
class JavaSessions:
    """A session after the last part of every link's path, new for each response."""

    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def links(self, target: str) -> list[Link]:
        return []

    def answer(self, target: str, core: Core) -> Answer | None:
        plain = re.sub(r";visit=[0-9A-F]+", "", target)
        if plain not in core.targets:
            return None
        random = Writer(f"java session {next(self._numbers)}").random
        session = "".join(random.choice("0123456789ABCDEF") for _ in range(32))

        def marked(url: str) -> str:
            path, mark, query = url.partition("?")
            return f"{path};visit={session}{mark}{query}"

        return core.answer(plain, [], marked)


@dataclass
class Baskets:
    """Links with a token that add things to a basket, a list or an alert."""

    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def links(self, target: str) -> list[Link]:
        found = re.search(r"-(\d+)\.html", target)
        token = f"{Writer(f'token {next(self._numbers)}').random.getrandbits(64):016x}"
        if not found:
            return [("/cart/", "Basket")]
        number = found[1]
        return [
            (f"/cart/add/{number}?token={token}", "Put into the basket"),
            (f"/wishlist/add?id={number}&form_key={token}", "Put on the list"),
            (f"/alert/stock/product_id/{number}/", "Tell me when it is here"),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        if not target.startswith(("/cart/", "/wishlist/", "/alert/")):
            return None
        count = next(self._numbers)
        main = f"<p>There are {count} things in your basket. The sum is EUR {count * 7}.90.</p>"
        links = [
            (f"/cart/remove/{count}?token={count * 7919:08x}", "Remove"),
            (f"/cart/more/{count}?token={count * 104729:08x}", "One more"),
        ]
        if target.startswith("/alert/"):
            main, links = "<p>Please sign in first.</p><form><input name=user></form>", []
        return Answer(layout(core.host, "Your basket", main, links), in_trap=True)


@dataclass
class ClickedFrom:
    """Every link records the page and place where it was clicked."""

    def links(self, target: str) -> list[Link]:
        return []

    def answer(self, target: str, core: Core) -> Answer | None:
        plain = re.sub(r"[?&](?:ref=[\w-]+&pos=\d+|pos=\d+&ref=[\w-]+)$", "", target)
        if plain not in core.targets:
            return None
        place = itertools.count(1)
        name = re.sub(r"\W+", "-", plain).strip("-") or "home"

        def marked(url: str) -> str:
            return f"{url}{'&' if '?' in url else '?'}ref={name}&pos={next(place)}"

        return core.answer(plain, [], marked)


@dataclass
class PostLinks:
    """Threads in which each post has its own URL, under which the thread is shown."""

    threads: int = 60

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/forum/", *(f"/forum/thread-{n}.html" for n in range(self.threads))})

    def links(self, target: str) -> list[Link]:
        return [("/forum/", "Forum")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if target == "/forum/":
            links = [(f"/forum/thread-{n}.html", f"Thread {n}") for n in range(self.threads)]
            body = layout(core.host, "Forum", list_of(links), self.links(target))
            return Answer(body, page=target)
        path, _, query = target.partition("?")
        found = re.fullmatch(r"/forum/thread-(\d+)\.html", path)
        post = re.fullmatch(r"/forum/post-(\d+)\.html", path)
        number = int(found[1]) if found else int(post[1]) // 10 if post else self.threads
        known = {"", "do=printthread", "mode=hybrid", "goto=nextnewest", "goto=nextoldest"}
        if number >= self.threads or query not in known:
            return None
        if query.startswith("goto="):
            number = (number + 7) % self.threads
        writer = Writer(f"{core.host} thread {number}")
        posts = "".join(
            f"<article><b>{writer.person()}</b><p>{writer.paragraph(3)}</p>"
            f'<a href="/forum/post-{number * 10 + n}.html">#{n}</a></article>'
            for n in range(8)
        )
        here = f"/forum/thread-{number}.html"
        links = [(f"{here}?{ask}", ask) for ask in sorted(known) if ask]
        real = target if target in self.pages else ""
        body = layout(core.host, f"Thread {number}", posts, links + self.links(target))
        return Answer(body, page=real, in_trap=not real)


@dataclass
class MapViews:
    """A map without scripts: one page per view, with links to its neighbors and other scales."""

    def links(self, target: str) -> list[Link]:
        return [("/map/12/2154/1350", "How to find us")]

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/map/(\d{1,2})/(\d{1,7})/(\d{1,7})", target)
        if not found:
            return None
        z, x, y = map(int, found.groups())
        if z > 19 or x >= 2**z or y >= 2**z:
            return None
        main = f'<img src="/tiles/{z}-{x}-{y}.png"><p>{x / 2**z * 360 - 180:.4f} east, {y / 2**z * 170 - 85:.4f} north, 1:{2 ** (29 - z)}</p>'
        views = [(z, x + 1, y), (z, x - 1, y), (z, x, y + 1), (z, x, y - 1)]
        views += [(z + 1, 2 * x, 2 * y), (z - 1, x // 2, y // 2)]
        links = [
            (f"/map/{a}/{b}/{c}", text)
            for (a, b, c), text in zip(
                views, ("East", "West", "South", "North", "Nearer", "Farther"), strict=True
            )
            if 0 <= a <= 19 and b >= 0 and c >= 0
        ]
        return Answer(layout(core.host, "Map", main, links), in_trap=True)


CURRENCIES = ("EUR", "USD", "GBP", "CHF", "SEK", "PLN", "JPY")


@dataclass
class Currencies:
    """
    Prices of every page in each currency and country, chosen by a link and then kept in
    all links.
    """

    def links(self, target: str) -> list[Link]:
        path, _, query = target.partition("?")
        asked = dict(parse_qsl(query))
        links = []
        for name, values in (("currency", CURRENCIES), ("country", ("de", "fr", "se", "pl"))):
            for value in values:
                chosen = "&".join(f"{n}={v}" for n, v in {**asked, name: value}.items())
                links.append((f"{path}?{chosen}", value))
        return links

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        asked = dict(parse_qsl(query))
        page = f"?p={asked['p']}" if "p" in asked else ""
        if f"{path}{page}" not in core.targets or not asked.keys() <= {"p", "currency", "country"}:
            return None
        is_plain = asked.keys() <= {"p"}
        money = asked.get("currency", "EUR")
        price = Writer(f"price {path}").random.randint(5, 300) * (3 + len(money) * ord(money[0]))

        def kept(url: str) -> str:
            rest = "&".join(f"{n}={v}" for n, v in asked.items() if n != "p")
            return f"{url}{('&' if '?' in url else '?') + rest if rest else ''}"

        answer = core.answer(f"{path}{page}", self.links(target), kept)
        body = answer.body.replace("<h1>", f"<p>{money} {price / 100:.2f}</p><h1>", 1)
        return Answer(body, page=answer.page if is_plain else "", in_trap=not is_plain)


@dataclass
class BlogSuffixes:
    """Each article also for phones, as a comment feed, for embedding and as an attachment."""

    suffixes: tuple[str, ...] = ("amp", "feed", "embed", "trackback", "comment-page-1")

    def links(self, target: str) -> list[Link]:
        if not re.match(r"/20\d\d/", target):
            return []
        plain = "/".join(part for part in target.split("/") if part not in self.suffixes)
        near = Writer(f"attachment {plain}").random.randint(100, 9999)
        return [
            *((f"{plain}{suffix}/", suffix) for suffix in self.suffixes),
            (f"{plain}img_{near}/", "Picture"),
        ]

    def answer(self, target: str, core: Core) -> Answer | None:
        plain, _, suffix = target.rstrip("/").rpartition("/")
        plain += "/"
        if plain not in core.targets or not re.match(r"/20\d\d/", plain):
            return None
        if suffix.startswith("img_"):
            main = f'<img src="/uploads/{suffix}.jpg" alt=""><a href="{plain}">Back</a>'
            return Answer(layout(core.host, suffix, main, []), in_trap=True)
        if suffix in {"feed", "trackback"}:
            main = f'<p>No comments yet.</p><a href="{plain}">Back to the article</a>'
            return Answer(layout(core.host, "Comments", main, []), in_trap=True)
        if suffix not in self.suffixes:
            return None
        return Answer(core.answer(plain, self.links(plain)).body, in_trap=True)


@dataclass
class AnyRange:
    """
    Statistics of a station between any two days, with links to longer, shorter and
    other ranges.
    """

    def links(self, target: str) -> list[Link]:
        return [("/stats?from=2026-10-01&to=2026-10-31", "Visitors")]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        asked = dict(parse_qsl(query))
        if path != "/stats" or not {"from", "to"} <= asked.keys():
            return None
        try:
            start, end = date.fromisoformat(asked["from"]), date.fromisoformat(asked["to"])
        except ValueError:
            return None
        random = Writer(f"stats {start} {end}").random
        rows = "".join(
            f"<tr><td>{name}</td><td>{random.randint(100, 99_999)}</td></tr>"
            for name in ("Visitors", "Pages", "Minutes", "From search", "From links")
        )
        week = timedelta(days=7)
        ranges = [
            (start - week, end - week),
            (start + week, end + week),
            (start - week, end),
            (start, end + week),
            (start, start + timedelta(days=1)),
        ]
        links = [(f"/stats?from={a}&to={b}", f"{a} to {b}") for a, b in ranges]
        main = f"<table>{rows}</table>{list_of(links)}"
        return Answer(layout(core.host, f"{start} to {end}", main, []), in_trap=True)


def trapped_kinds() -> list[Site]:
    """Return the hosts, each with 110 to 190 real pages."""
    return [
        TrappedSite(titled_core("wiki.ashby.test", 100), WikiActions()),
        TrappedSite(script_core("portal.brackley.test", 100), JavaSessions()),
        TrappedSite(_shop_core("www.corley-garden.test", 100), Baskets()),
        TrappedSite(_blog_core("www.denholm-daily.test", 100), ClickedFrom()),
        TrappedSite(_blog_core("talk.elmdon.test", 50), PostLinks()),
        TrappedSite(_blog_core("hotel.fenwick.test", 90), MapViews()),
        TrappedSite(_shop_core("www.garforth-wool.test", 100), Currencies()),
        TrappedSite(_blog_core("notes.hexley.test", 100), BlogSuffixes()),
        TrappedSite(script_core("museum.ilford.test", 90), AnyRange()),
    ]
