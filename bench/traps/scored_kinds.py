"""
Nine more hosts with a trap each, which are only scored: those who change the rules do not look at
what a crawl does on them, and do not change the rules because of their figures.

The traps are a code hosting site, empty profiles, paths after a script, pages for each town,
combined tags, a camera, generated puzzles, responses to every URL, and family relations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha1
from urllib.parse import parse_qsl

from bench.traps.cores import node_core, plain_core
from bench.traps.site import Answer, Core, Link, Site, TrappedSite, layout, list_of
from bench.traps.writer import PLACES, Writer


def _flat_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda _section, _number, slug: f"/{slug}",
        lambda section, page: f"/topic/{section}" + (f"/{page}" if page > 1 else ""),
    )


@dataclass
class Forge:
    """
    Programs with every file at every commit: its content, the author of each line, and
    its history.
    """

    files: tuple[str, ...] = ("main.c", "parse.c", "README", "lib/io.c", "lib/text.c", "test/run.c")
    commits: int = 400

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/git/", *(f"/git/tree/{name}" for name in self.files)})

    def links(self, target: str) -> list[Link]:
        return [("/git/", "Sources")]

    def _commit(self, number: int) -> str:
        return sha1(b"%d" % (number % self.commits)).hexdigest()

    def answer(self, target: str, core: Core) -> Answer | None:
        if target == "/git/":
            links = [(f"/git/tree/{name}", name) for name in self.files]
            body = layout(core.host, "Sources", list_of(links), self.links(target))
            return Answer(body, page=target)
        found = re.fullmatch(
            r"/git/(tree|blame|log|commit)/([\w./]+)(?:\?id=([0-9a-f]{40}))?", target
        )
        if not found or (found[2] not in self.files and found[1] != "commit"):
            return None
        kind, name, commit = found[1], found[2], found[3] or self._commit(0)
        number = int(commit[:6], 16)
        here = self._commit(number)
        if kind == "log":
            links = [
                (f"/git/commit/{name.split('/')[-1]}?id={self._commit(n)}", self._commit(n)[:8])
                for n in range(number, number + 20)
            ]
            main = list_of(links)
        else:
            writer = Writer(f"source {name}")
            main = f"<pre>{writer.paragraphs(3, 6)}</pre><p>{kind} at {commit[:8]}</p>"
            main += list_of(
                [(f"/git/{k}/{name}?id={here}", k) for k in ("tree", "blame", "log") if "." in name]
                + [(f"/git/tree/{other}?id={here}", other) for other in self.files]
            )
        real = target if target in self.pages else ""
        return Answer(
            layout(core.host, f"{name} {kind}", main, self.links(target)),
            page=real,
            in_trap=not real,
        )


@dataclass
class EmptyProfiles:
    """Members of a club, most of whom wrote nothing. Some wrote about themselves."""

    members: int = 6_000

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/members", *(f"/user/{n}" for n in range(1, 41))})

    def links(self, target: str) -> list[Link]:
        return [("/members", "Members")]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        if path == "/members":
            page = int(query[5:]) if re.fullmatch(r"page=\d{1,4}", query) else 0
            if page > self.members // 40 or (query and not page):
                return None
            numbers = range(page * 40 + 1, page * 40 + 41)
            links = [(f"/user/{n}", Writer(f"member {n}").person()) for n in numbers]
            main = list_of(links) + list_of([(f"/members?page={page + 1}", "Next")])
            return Answer(
                layout(core.host, "Members", main, []),
                page="" if query else target,
                in_trap=bool(query),
            )
        found = re.fullmatch(r"/user/(\d{1,5})(/posts|/friends)?", path)
        if not found or query or not 0 < int(found[1]) <= self.members:
            return None
        writer = Writer(f"member {found[1]}")
        name = writer.person()
        real = target if target in self.pages else ""
        text = writer.paragraphs(1, 2) if real else f"<p>{name} has not written anything yet.</p>"
        links = [(f"/user/{found[1]}/{kind}", kind) for kind in ("posts", "friends")]
        body = layout(core.host, name, text, links + self.links(target))
        return Answer(body, page=real, in_trap=not real)


@dataclass
class BehindScript:
    """A script that answers any path after its name, with relative links."""

    names: tuple[str, ...] = ("rooms.php", "prices.php", "arrival.php")

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/{name}" for name in self.names)

    def links(self, target: str) -> list[Link]:
        return [(f"/{name}", name[:-4]) for name in self.names]

    def answer(self, target: str, core: Core) -> Answer | None:
        first = target.split("/")[1]
        if first not in self.names:
            return None
        writer = Writer(f"{core.host} {first}")
        near = [(f"{first}/{word}", word) for word in ("overview", "summer", "winter")]
        links = [*near, (f"{first}/", "This page"), ("details/", "Details")]
        real = target if target in self.pages else ""
        body = layout(core.host, first[:-4], writer.paragraphs(2, 4), links)
        return Answer(body, page=real, in_trap=not real)


SERVICES = ("plumber", "roofer", "locksmith", "painter", "gardener", "electrician")


@dataclass
class EveryTown:
    """
    A page for each service in each quarter of each town, all with the same text and
    other names.
    """

    def links(self, target: str) -> list[Link]:
        return [(f"/find/{service}", service) for service in SERVICES[:3]]

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/find/{service}" for service in SERVICES)

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/find/(\w+)(?:/([\w-]+))?(?:/quarter-(\d+))?", target)
        if not found or found[1] not in SERVICES:
            return None
        service, town, quarter = found.groups()
        places = [place.lower().replace(" ", "-") for place in PLACES]
        if town and town not in places:
            return None
        where = f"{town or 'your town'} {quarter or ''}".strip()
        main = (
            f"<p>You look for a {service} in {where}? We know every {service} in {where}, and you "
            f"pay what a {service} in {where} costs. Call now, and your {service} is in {where} "
            "within an hour, by day and by night.</p>"
        )
        near = Writer(f"near {target}").random.sample(places, min(8, len(places)))
        links = [(f"/find/{service}/{place}", place) for place in near]
        links += [(f"/find/{other}" + (f"/{town}" if town else ""), other) for other in SERVICES]
        if town:
            first = int(quarter or 0)
            links += [
                (f"/find/{service}/{town}/quarter-{n}", f"{n}") for n in range(first + 1, first + 5)
            ]
        real = target if target in self.pages else ""
        body = layout(core.host, f"{service} in {where}", main, links)
        return Answer(body, page=real, in_trap=not real)


TAGS = (
    "river",
    "tram",
    "harbor",
    "market",
    "winter",
    "music",
    "school",
    "garden",
    "bridge",
    "fair",
)


@dataclass
class CombinedTags:
    """Tags combined with `+` in one part of the path, in any order."""

    @property
    def pages(self) -> frozenset[str]:
        return frozenset(f"/tag/{tag}" for tag in TAGS)

    def links(self, target: str) -> list[Link]:
        return [(f"/tag/{tag}", tag) for tag in TAGS]

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/tag/([a-z+]+)", target)
        chosen = found[1].split("+") if found else []
        if not chosen or set(chosen) - set(TAGS) or len(set(chosen)) < len(chosen):
            return None
        shown = [
            n
            for n in range(1, core.articles + 1)
            if set(chosen) <= set(Writer(f"tagged {n}").random.sample(TAGS, 4))
        ][:12]
        main = "".join(
            f'<article><h3><a href="{core.url(n)}">{core.title(n)}</a></h3>'
            f"<p>{Writer(f'{core.host} {n} text').sentence()}</p></article>"
            for n in shown
        )
        more = [
            (f"/tag/{'+'.join([*chosen, tag])}", f"and {tag}") for tag in TAGS if tag not in chosen
        ]
        real = target if target in self.pages else ""
        title = " and ".join(chosen)
        body = layout(
            core.host, title, (main or "<p>Nothing.</p>") + list_of(more), self.links(target)
        )
        return Answer(body, page=real, in_trap=not real)


@dataclass
class Camera:
    """
    A picture of the harbor every ten minutes since 2009, each on a page that links to its
    neighbors.
    """

    def links(self, target: str) -> list[Link]:
        return [("/camera/2026/11/29/1200.html", "Camera")]

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/camera/(\d{4})/(\d\d)/(\d\d)/(\d\d)(\d\d)\.html", target)
        if not found:
            return None
        try:
            at = datetime(*map(int, found.groups()))  # type: ignore[arg-type]  # noqa: DTZ001
        except ValueError:
            return None
        steps = (timedelta(minutes=10), timedelta(hours=1), timedelta(days=1), timedelta(days=365))
        links = [
            (f"/camera/{at + step * sign:%Y/%m/%d/%H%M}.html", f"{at + step * sign:%d %b %Y %H:%M}")
            for step in steps
            for sign in (-1, 1)
        ]
        random = Writer(target).random
        main = f'<img src="/cam/{at:%Y%m%d%H%M}.jpg" alt=""><p>{at:%A, %d %B %Y, %H:%M}</p>'
        main += f"<p>Water {random.randint(20, 180) / 10} °C, wind {random.randint(0, 90)} km/h</p>"
        return Answer(layout(core.host, "Camera", main, links), in_trap=True)


@dataclass
class Puzzles:
    """Puzzles generated from the random number in the URL."""

    def links(self, target: str) -> list[Link]:
        return [("/puzzle/81523", "Puzzle of the day")]

    def answer(self, target: str, core: Core) -> Answer | None:
        found = re.fullmatch(r"/puzzle/(\d{1,9})(/solution)?", target)
        if not found:
            return None
        random = Writer(f"puzzle {target}").random
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{random.choice('123456789   ')}</td>" for _ in range(9))
            + "</tr>"
            for _ in range(9)
        )
        links = [(f"/puzzle/{random.randint(1, 10**8)}", "Another one") for _ in range(4)]
        links.append((f"/puzzle/{found[1]}/solution", "Solution"))
        main = f"<table>{rows}</table>"
        return Answer(layout(core.host, f"Puzzle {found[1]}", main, links), in_trap=True)


@dataclass
class AnswersAll:
    """Any missing page is answered with 200 and a page of suggestions, with relative links."""

    def links(self, target: str) -> list[Link]:
        return [("service/hours", "Hours"), ("old/plan.htm", "Plan of 1998")]

    def answer(self, target: str, core: Core) -> Answer | None:
        if target in core.targets:
            return None
        random = Writer(f"suggested {target}").random
        numbers = random.sample(range(1, core.articles + 1), 4)
        main = "<p>This page has moved. Perhaps one of these is what you look for:</p>"
        main += list_of([(core.url(n), core.title(n)) for n in numbers])
        return Answer(layout(core.host, "Moved", main, self.links(target)), in_trap=True)


@dataclass
class Kinship:
    """People of a village, and how any two of them are related."""

    people: int = 80

    @property
    def pages(self) -> frozenset[str]:
        return frozenset({"/people", *(f"/person?id=I{n}" for n in range(1, self.people + 1))})

    def links(self, target: str) -> list[Link]:
        return [("/people", "People")]

    def answer(self, target: str, core: Core) -> Answer | None:
        path, _, query = target.partition("?")
        if target == "/people":
            links = [
                (f"/person?id=I{n}", Writer(f"p {n}").person()) for n in range(1, self.people + 1)
            ]
            return Answer(layout(core.host, "People", list_of(links), []), page=target)
        asked = {name: value.removeprefix("I") for name, value in parse_qsl(query)}
        if not all(v.isdecimal() and 0 < int(v) <= self.people for v in asked.values()):
            return None
        if path == "/person" and asked.keys() == {"id"}:
            number = int(asked["id"])
            writer = Writer(f"p {number}")
            main = f"<p>{writer.person()}</p>{writer.paragraphs(1, 2)}"
            main += list_of(self._pairs(number))
            return Answer(layout(core.host, f"I{number}", main, self.links(target)), page=target)
        if path not in {"/related", "/chart"} or not asked:
            return None
        numbers = [int(value) for value in asked.values()]
        names = [Writer(f"p {n}").person() for n in numbers]
        degree = sum(numbers) % 7 + 1
        main = f"<p>{' and '.join(names)} are related in degree {degree}.</p>"
        links = [link for n in numbers for link in self._pairs(n)]
        return Answer(layout(core.host, "Kinship", main + list_of(links), []), in_trap=True)

    def _pairs(self, number: int) -> list[Link]:
        others = [(number * 13 + step * 29) % self.people + 1 for step in range(1, 6)]
        links = [(f"/related?id1=I{number}&id2=I{other}", f"and I{other}") for other in others]
        return [*links, (f"/chart?root=I{number}&generations={number % 6 + 3}", "Chart")]


def scored_kinds() -> list[Site]:
    """Return the hosts, each with 110 to 200 real pages."""
    return [
        TrappedSite(plain_core("code.jarvis.test", 100), Forge()),
        TrappedSite(node_core("club.kirkby.test", 80), EmptyProfiles()),
        TrappedSite(plain_core("pension.langley.test", 100), BehindScript()),
        TrappedSite(_flat_core("www.morden-help.test", 100), EveryTown()),
        TrappedSite(_flat_core("magazine.naseby.test", 100), CombinedTags()),
        TrappedSite(plain_core("harbor.orford.test", 100), Camera()),
        TrappedSite(node_core("games.purley.test", 100), Puzzles()),
        TrappedSite(plain_core("old.quorn.test", 100), AnswersAll()),
        TrappedSite(node_core("village.romsey.test", 60), Kinship()),
    ]
