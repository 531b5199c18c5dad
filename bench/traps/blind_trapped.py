"""
Fourteen hosts with traps, which were written without a look at the rules that recognize traps.

Each has a kind of trap that operators of crawlers often report. What a page in a trap shows is what the
software of such sites shows there: often a real page again, or its teasers in another order.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise
from random import Random

from bench.traps.blind_forge import Forge
from bench.traps.blind_pages import (
    BlindSite,
    Catalog,
    Item,
    Page,
    anchor,
    digest,
    listed,
    modern,
    old,
    paged,
    portal,
    story,
    table,
    text_of,
)
from bench.traps.blind_shops import PathFilters, Recommendations, SortOrders, TagSets
from bench.traps.site import Answer, Link, Site
from bench.traps.writer import Writer

TOPICS = ("society", "trade", "weather", "travel", "science")


def blind_trapped_sites() -> list[Site]:
    return [
        EventCalendar(), PathFilters(), SessionPaths(), GrowingPaths(), RelatedSearches(),
        TagSets(), WikiHistory(), Forge(), LoginReturns(), CommentReplies(),
        EndlessPages(), SortOrders(), NestedLanguages(), Recommendations(),
    ]  # fmt: skip


class EventCalendar(BlindSite):
    """A month links to the next and the one before, and to each of its days; events are of one year."""

    FIRST = date(2026, 3, 1)

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.harwell-hall.test", 115, story, lambda _, s: f"/event/{s}/",
            lambda g, p: f"/events/category/{g}/" + (f"page/{p}/" if p > 1 else ""),
            ("concerts", "theater", "lectures", "children"),
        )  # fmt: skip
        months = {
            f"/events/month/{d:%Y-%m}/": self._month(d) for d in map(self._day, range(1, 116))
        }
        menu = [*self.catalog.menu(), ("/events/month/2026-11/", "Calendar")]
        super().__init__(
            self.catalog.host, self.catalog.written() | months, frame=portal, menu=menu
        )

    def _day(self, number: int) -> date:
        return self.FIRST + timedelta(days=number * 37 % 365)

    def _events(self, day: date) -> list[Link]:
        return [self.catalog.link(n) for n in self.catalog.items if self._day(n) == day]

    def _month(self, day: date) -> Page:
        first = day.replace(day=1)
        before, after = first - timedelta(days=1), (first + timedelta(days=32)).replace(day=1)
        days = [first + timedelta(days=n) for n in range((after - first).days)]
        cells = [
            (
                anchor(f"/events/{d}/", str(d.day)),
                listed(self._events(d)) if self._events(d) else "",
            )
            for d in days
        ]
        empty = not any(event for _, event in cells)
        note = "<p>There were no results found for this month.</p>" if empty else ""
        around = [
            (f"/events/month/{before:%Y-%m}/", f"{before:%B}"), (f"/events/month/{after:%Y-%m}/", f"{after:%B}"),
        ]  # fmt: skip
        return Page(f"Events for {first:%B %Y}", note + table(cells) + listed(around))

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        if target in self.written:
            return None
        if match := re.fullmatch(r"/events/month/(\d{4})-(\d\d)/", path):
            page = self._month(date(int(match[1]), int(match[2]), 1))
            return self.in_trap(page.title, page.main, target)
        if match := re.fullmatch(r"/events/(\d{4}-\d\d-\d\d)/", path):
            day = date.fromisoformat(match[1])
            numbers = [n for n in self.catalog.items if self._day(n) == day]
            shown = self.catalog.teasers(numbers) or "<p>No events scheduled for this day.</p>"
            around = [(f"/events/{day + timedelta(days=n)}/", "Next" if n > 0 else "Previous") for n in (-1, 1)]  # fmt: skip
            return self.in_trap(f"Events for {day:%B %d, %Y}", shown + listed(around), target)
        return None


class SessionPaths(BlindSite):
    """A library catalog with the session in the path, and a number that every response increases."""

    def __init__(self) -> None:
        groups = tuple(f"{n:03}" for n in range(12))
        self.catalog = Catalog(
            "opac.norwick-library.test", 140, story, lambda n, _: f"/F?doc_number={n + 31200:09}&func=direct",
            lambda g, p: paged(f"/F?func=scan-list&scan_code={g}", p, "set_entry"), groups, size=8,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=old, menu=self.catalog.menu())  # fmt: skip

    def framed(self, page: Page, target: str) -> str:
        session = re.match(r"/F/(\w+)-\d+", target)
        name = session[1] if session else digest(target)[:36].upper()
        count = int(digest(target)[:4], 16)
        return super().framed(page, target).replace('href="/F?', f'href="/F/{name}-{count:05}?')

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        name = re.sub(r"^/F/\w+-\d+", "/F", target)
        return self.real(name, target) if name != target else None


class GrowingPaths(BlindSite):
    """Footers link without a scheme or slash, and the server answers to every path below a page."""

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.gruber-timber.test", 140, story, lambda n, s: f"/{TOPICS[n % 5]}/{s}/",
            lambda g, p: f"/{g}/" + (f"page-{p}/" if p > 1 else ""), TOPICS,
        )  # fmt: skip
        fixed = {f"/{name}/": Page(name.capitalize(), text_of(f"gruber {name}")) for name in ("contact", "imprint")}  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written() | fixed, frame=portal, menu=self.catalog.menu())  # fmt: skip

    def beside(self, target: str) -> str:
        return listed([
            ("contact/", "Contact"), ("imprint/", "Imprint"),
            ("www.brandl-web.test/privacy/", "Site by Brandl"),
        ])  # fmt: skip

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        if path in self.written:
            return None
        below = path
        while below.strip("/"):
            below = below.rstrip("/").rpartition("/")[0] + "/"
            last = path[len(below) - 1 :]
            if last in self.written:
                return self.real(last, target)
            if below in self.written and below != "/":
                return self.real(below, target)
        return self.real("/", target)


class RelatedSearches(BlindSite):
    """Recipes; a page of results proposes longer and other searches."""

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.saffron-table.test", 150, story, lambda n, s: f"/recipes/{n}/{s}",
            lambda g, p: paged(f"/recipes/{g}", p), ("soups", "bread", "salads", "fish", "sweets"),
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=modern, menu=self.catalog.menu())  # fmt: skip

    def beside(self, target: str) -> str:
        name = re.search(r"/recipes/\d+/([\w-]+)", target)
        words = name[1].split("-") if name else ["quick", "dinner", "oven", "summer"]
        return "<h4>Often searched</h4>" + self._searches(
            ["+".join(pair) for pair in pairwise(words)][:4]
        )

    def _searches(self, queries: list[str]) -> str:
        return listed((f"/search?q={query}", query.replace("+", " ")) for query in queries)

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        if path != "/search":
            return None
        words = asked.get("q", "").split()
        chance, writer = Random(target), Writer(target)
        found = chance.sample(range(1, 151), chance.randint(0, 8))
        other = [writer.title().lower().split() for _ in range(6)]
        queries = ["+".join([*words[-2:], title[1], title[2]][:4]) for title in other]
        shown = f"<p>{len(found)} recipes for {' '.join(words)}</p>" + self.catalog.teasers(found)
        return self.in_trap(
            f"Recipes for {' '.join(words)}", shown + "<h4>Related searches</h4>" + self._searches(queries), target
        )  # fmt: skip


class WikiHistory(BlindSite):
    """A wiki whose articles have histories, old versions, differences and special pages."""

    def __init__(self) -> None:
        self.catalog = Catalog(
            "wiki.quayside.test", 140, story, lambda _, s: f"/wiki/{s.replace('-', '_').capitalize()}",
            lambda g, p: paged(f"/wiki/Category:{g.capitalize()}", p, "pagefrom"), TOPICS, size=25,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=portal, menu=self.catalog.menu())  # fmt: skip

    def _title(self, target: str) -> str:
        match = re.search(r"(?:/wiki/Special:\w+/|/wiki/|title=)([^&?/]+)", target)
        return match[1] if match else ""

    def beside(self, target: str) -> str:
        title = self._title(target)
        if f"/wiki/{title}" not in self.written:
            return ""
        script = f"/index.php?title={title}"
        return listed([
            (f"{script}&action=edit", "Edit"), (f"{script}&action=history", "View history"),
            (f"/wiki/Special:WhatLinksHere/{title}", "What links here"),
            (f"/wiki/Special:RecentChangesLinked/{title}", "Related changes"),
            (f"{script}&printable=yes", "Printable version"), (f"{script}&action=info", "Page information"),
            (f"{script}&oldid={self._latest(title)}", "Permanent link"),
        ])  # fmt: skip

    def _latest(self, title: str) -> int:
        return int(digest(title)[:5], 16) % 90_000 * 50 + 49

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        title = self._title(target)
        page = self.written.get(f"/wiki/{title}")
        if page is None or not (path == "/index.php" or path.startswith("/wiki/Special:")):
            return None
        if "printable" in asked or asked.get("oldid") == str(self._latest(title)):
            return self.real(f"/wiki/{title}", target)
        name, main = self._special(title, page, path, asked)
        return self.in_trap(name, main, target)

    def _special(self, title: str, page: Page, path: str, asked: dict[str, str]) -> tuple[str, str]:
        latest, script = self._latest(title), f"/index.php?title={title}"
        if "oldid" in asked:
            version = int(asked["oldid"])
            around = [(f"{script}&oldid={version}&diff=prev", "diff"), (f"{script}&oldid={version - 1}", "Older revision"), (f"{script}&oldid={version + 1}", "Newer revision")]  # fmt: skip
            by = f"<p>Revision as of {version % 28 + 1} May 2021 by {Writer(str(version)).person()}</p>"
            if "diff" in asked:
                writer = Writer(f"{title} {version}")
                changed = table([("-", writer.sentence()), ("+", writer.sentence())])
                return f"{page.title}: Difference between revisions", by + changed + listed(around) + page.main  # fmt: skip
            return page.title, by + listed(around) + page.main[: -1 - version % 40 * 20]
        if asked.get("action") == "history":
            first = int(asked.get("offset", latest))
            lines = [
                f"<li>{anchor(f'{script}&oldid={v}', f'12:{v % 60:02}, {v % 28 + 1} May 2021')} {Writer(str(v)).person()} ({v % 900} bytes) {anchor(f'{script}&oldid={v}&diff=prev', 'prev')}</li>"
                for v in range(first, first - 20, -1)
            ]
            older = listed([(f"{script}&action=history&offset={first - 20}", "older 20"), (f"{script}&action=history&limit=500", "500")])  # fmt: skip
            return f"{page.title}: Revision history", f"<ul>{''.join(lines)}</ul>{older}"
        if asked.get("action") == "edit":
            return f"Editing {page.title}", f"<p>You are not logged in. Your IP address will be recorded.</p><textarea>{page.main}</textarea>"  # fmt: skip
        if asked.get("action") == "info":
            return f"Information for {page.title}", table([("Page length", str(len(page.main))), ("Page ID", str(latest)), ("Edits", str(latest % 60))])  # fmt: skip
        chance = Random(title + path)
        near = [self.catalog.link(n) for n in chance.sample(range(1, 141), chance.randint(0, 6))]
        around = [(f"/wiki/Special:WhatLinksHere/{url[6:]}", "links") for url, _ in near]
        counts = [(f"{path}?limit={n}", str(n)) for n in (20, 50, 100, 250, 500)]
        return path[6:].replace("_", " "), "<p>The following pages:</p>" + listed([*near, *around, *counts])  # fmt: skip


class LoginReturns(BlindSite):
    """Each page links to forms that return to it, and the forms have these links too."""

    FORMS = ("login", "register", "password")

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.selby-sailing.test", 145, story, lambda n, _: f"/node/{n}",
            lambda g, p: paged(f"/taxonomy/{g}", p), TOPICS,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=portal, menu=self.catalog.menu())  # fmt: skip

    def beside(self, target: str) -> str:
        back = (
            target.replace("%", "%25").replace("?", "%3F").replace("=", "%3D").replace("&", "%26")
        )
        return listed(
            (f"/user/{form}?destination={back}", form.capitalize()) for form in self.FORMS
        )

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        form = path.removeprefix("/user/")
        if form not in self.FORMS:
            return None
        fields = "<form><label>Name <input name=name></label><label>Password <input type=password></label><button>Send</button></form>"
        note = {"login": "Enter your name at this club.", "register": "Members only. A moderator admits new members.", "password": "Instructions are sent to your address."}  # fmt: skip
        return self.in_trap(f"User account: {form}", f"<p>{note[form]}</p>{fields}", target)


class CommentReplies(BlindSite):
    """A blog whose comments each have a link to the same page with another form, and its share links."""

    def __init__(self) -> None:
        self.catalog = Catalog(
            "blog.lanternpost.test", 125, self._post, lambda n, s: f"/20{18 + n % 8}/{n % 12 + 1:02}/{s}/",
            lambda g, p: f"/category/{g}/" + (f"page/{p}/" if p > 1 else ""), TOPICS,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=modern, menu=self.catalog.menu())  # fmt: skip

    @staticmethod
    def _post(seed: str) -> Item:
        item, writer = story(seed), Writer(f"{seed} comments")
        first = int(digest(seed)[:6], 16)
        comments = "".join(
            f'<li><b>{writer.person()}</b><p>{writer.paragraph(2)}</p><a class="reply" href="?replytocom={first + n}#respond">Reply</a></li>'
            for n in range(writer.random.randint(1, 9))
        )
        share = listed((f"?share={to}&nb=1", to) for to in ("facebook", "x", "telegram", "email"))
        return Item(item.title, item.teaser, f"{item.main}{share}<ol>{comments}</ol>")

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        page = self.written.get(path)
        if page is None or not {"replytocom", "share"} & asked.keys():
            return None
        head = f'<link rel="canonical" href="http://{self.host}{path}">'
        form = f"<h3>Leave a reply</h3>{anchor(path, 'Cancel reply')}<form><textarea></textarea></form>"
        return Answer(self.framed(Page(page.title, page.main + form, head), target), page=path)


class EndlessPages(BlindSite):
    """Lists whose pages always have a next one, which has no entries after the last."""

    def __init__(self) -> None:
        groups = ("council", "schools", "roads", "parks", "culture", "finance", "housing", "youth")
        self.catalog = Catalog(
            "minutes.kelby-county.test", 140, story, lambda n, s: f"/document/{n + 4400}-{s}",
            lambda g, p: paged(f"/documents?committee={g}", p), groups, size=6,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=old, menu=self.catalog.menu())  # fmt: skip

    def beside(self, target: str) -> str:
        match = re.fullmatch(r"/documents\?committee=(\w+)(?:&page=(\d+))?", target)
        if not match:
            return ""
        page = int(match[2] or 1)
        return listed((self.catalog.list_url(match[1], page + n), f"Page {page + n}") for n in (1, 2, 5))  # fmt: skip

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        group = asked.get("committee")
        if path != "/documents" or target in self.written or group not in self.catalog.groups:
            return None
        main = self.catalog.list_main(group, int(asked.get("page", 1)))
        return self.in_trap(f"{group.capitalize()}, page {asked.get('page')}", main, target)


class NestedLanguages(BlindSite):
    """Pages in two languages; the switch puts a language before the path, whatever the path has."""

    LANGUAGES = ("en", "de", "fr", "it", "nl", "pl")

    def __init__(self) -> None:
        self.catalogs = [
            Catalog(
                "www.belkin-cableway.test", 65, lambda seed, tongue=tongue: story(f"{seed} {tongue}"),
                lambda n, s, tongue=tongue: f"/{tongue}/{s}", lambda g, p, tongue=tongue: paged(f"/{tongue}/{g}", p),
                ("summer", "winter", "tickets"), size=12,
            )
            for tongue in ("en", "de")
        ]  # fmt: skip
        english, german = (catalog.written() for catalog in self.catalogs)
        homes = {"/en": english.pop("/"), "/de": german.pop("/")}
        start = {"/": Page("Welcome", listed([("/en", "English"), ("/de", "Deutsch")]))}
        super().__init__(self.catalogs[0].host, start | homes | english | german, frame=modern)

    def beside(self, target: str) -> str:
        own = self.catalogs[target.startswith("/de")].menu()
        here = target if target != "/" else ""
        return listed([*own, *((f"/{tongue}{here}", tongue.upper()) for tongue in self.LANGUAGES)])

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        name = target
        while name not in self.written:
            tongue, _, rest = name[1:].partition("/")
            if tongue not in self.LANGUAGES:
                return None
            name = f"/{rest}" if rest else "/en"
            if f"/en{name}" in self.written:
                name = f"/en{name}"
        return self.real(name, target) if name != target else None
