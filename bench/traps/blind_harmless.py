"""
Ten hosts without any trap, which were written without a look at the rules that recognize traps.

Their pages are as alike, as short and as many as real ones of their kind: numbers in tables, fields of
records, versions of one text. Every page is one that a reader may want.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import combinations
from random import Random

from bench.traps.blind_pages import (
    BlindSite,
    Catalog,
    Item,
    Page,
    anchor,
    listed,
    modern,
    old,
    paged,
    portal,
    shop,
    table,
    text_of,
)
from bench.traps.site import Link, Site
from bench.traps.writer import PLACES, Writer, slug


def blind_harmless_sites() -> list[Site]:
    return [
        documentation(), hardware_shop(), newspaper(), forum(), league(),
        dictionary(), library(), wiki(), museum(), statistics(),
    ]  # fmt: skip


def in_pages(
    pages: dict[str, Page],
    url: str,
    title: str,
    links: list[Link],
    *,
    size: int,
    name: str = "page",
) -> None:
    """Add the pages of a list."""
    last = max(1, -(-len(links) // size))
    for page in range(1, last + 1):
        pager = [(paged(url, p, name), str(p)) for p in range(1, last + 1) if p != page]
        shown = listed(links[(page - 1) * size : page * size])
        pages[paged(url, page, name)] = Page(title, shown + listed(pager))


class Documentation(BlindSite):
    """Has the chapters of a version in the sidebar, and the same page of the other versions."""

    VERSIONS = ("2.8", "3.0", "3.1")

    def beside(self, target: str) -> str:
        parts = target.split("/")
        version = parts[2] if len(parts) > 3 else self.VERSIONS[-1]
        own = [(url, page.title) for url, page in self.written.items() if url.startswith(f"/en/{version}/")]  # fmt: skip
        others = [(f"/en/{v}/{'/'.join(parts[3:])}", v) for v in self.VERSIONS if len(parts) > 3]
        return listed(others) + listed(own)


def documentation() -> Site:
    """Three versions of a manual whose pages differ in a paragraph, if at all in more."""
    host, pages = "docs.pumpctl.test", {}
    chapters = ("install", "tutorial", "topics", "reference", "howto", "releases")
    versions = Documentation.VERSIONS
    pages["/"] = Page(
        "pumpctl", text_of(host) + listed((f"/en/{v}/index.html", v) for v in versions)
    )
    for place, version in enumerate(versions):
        pages[f"/en/{version}/index.html"] = Page(f"pumpctl {version}", f"<p>This is pumpctl {version}.</p>" + text_of("pumpctl index"))  # fmt: skip
        for number in range(1, 50 + place * 4):
            writer = Writer(f"{host} {number}")
            name = f"{writer.word()}-{writer.word()}"
            code = "\n".join(f"{writer.word()} --{writer.word()} {n}" for n in range(writer.random.randint(2, 7)))  # fmt: skip
            news = f"<p>Changed in version {version}: {Writer(f'{host} {number} {version}').sentence()}</p>"
            pages[f"/en/{version}/{chapters[number % 6]}/{name}.html"] = Page(
                name.replace("-", " ").capitalize(),
                f"{writer.paragraphs(1, 4)}<pre>{code}</pre>{news}<p>pumpctl {version} documentation</p>",
            )
    return Documentation(host, pages, frame=modern)


def hardware_shop() -> Site:
    """Screws and bolts, which differ in a number, under one script each for lists and products."""
    host = "www.boltworks.test"
    kinds = ("Hex bolt", "Wood screw", "Threaded rod", "Washer", "Lock nut", "Wall plug")
    sizes = [f"M{d} x {length}" for d in (4, 5, 6, 8, 10, 12) for length in range(10, 130, 10)]
    finishes = ("zinc plated", "stainless A2", "stainless A4", "plain steel", "brass", "black")

    def bolt(seed: str) -> Item:
        number = int(seed.rpartition(" ")[2])
        kind, size, finish = (
            kinds[number % 6],
            sizes[number // 6 % 72],
            finishes[number * 7 // 6 % 6],
        )
        chance = Random(seed)
        price, pack = chance.randint(9, 990) / 100, chance.choice((10, 25, 50, 100, 200))
        rows = [("Size", size), ("Finish", finish), ("Pack", str(pack)), ("EAN", str(4_000_000_000_000 + number * 7919)), ("Stock", str(chance.randint(0, 900)))]  # fmt: skip
        return Item(
            f"{kind} {size} {finish}", f"<p>{price:.2f} EUR</p>",
            f"<p>{kind} {size}, {finish}, pack of {pack}.</p>{table(rows)}<p>{price:.2f} EUR plus shipping</p>"
            "<p>All prices include VAT. Orders before noon leave our warehouse on the same day.</p>",
        )  # fmt: skip

    catalog = Catalog(
        host, 420, bolt, lambda n, _: f"/product.php?id={n + 1000}",
        lambda g, p: paged(f"/category.php?cat={kinds.index(g) + 1}", p), kinds, size=24, related=4,
    )  # fmt: skip
    return BlindSite(host, catalog.written(), frame=shop, menu=catalog.menu())


def newspaper() -> Site:
    """Years, months and days of an archive, and short reports of each day."""
    host, pages = "archive.thornby-courier.test", {}
    days = [date(1998, 1, 5) + timedelta(days=9 * n) for n in range(62)]
    pages["/"] = Page("Archive", listed((f"/{year}/", str(year)) for year in sorted({d.year for d in days})))  # fmt: skip
    for year in {d.year for d in days}:
        months = sorted({d.month for d in days if d.year == year})
        pages[f"/{year}/"] = Page(str(year), listed((f"/{year}/{m:02}/", f"{year}-{m:02}") for m in months))  # fmt: skip
        for month in months:
            own = [d for d in days if (d.year, d.month) == (year, month)]
            pages[f"/{year}/{month:02}/"] = Page(f"{year}-{month:02}", listed((f"/{d:%Y/%m/%d}/", f"{d:%d %B %Y}") for d in own))  # fmt: skip
    for place, day in enumerate(days):
        links = []
        for number in range(1, Random(str(day)).randint(3, 6)):
            writer = Writer(f"{host} {day} {number}")
            title = writer.title()
            url = f"/{day:%Y/%m/%d}/{slug(title)}-{number}.html"
            text = (
                f"<p>{day:%A, %d %B %Y}</p><p>{writer.paragraph(writer.random.randint(1, 6))}</p>"
            )
            pages[url] = Page(title, text + anchor(f"/{day:%Y/%m/%d}/", "All of this day"))
            links.append((url, title))
        near = [(f"/{d:%Y/%m/%d}/", f"{d:%d %B}") for d in days[max(0, place - 1) : place + 2] if d != day]  # fmt: skip
        pages[f"/{day:%Y/%m/%d}/"] = Page(f"{day:%d %B %Y}", listed(links) + listed(near))
    return BlindSite(host, pages, frame=portal)


def forum() -> Site:
    """Threads of up to five pages, and members of whom little is known."""
    host, pages = "forum.beekeepers.test", {}
    members = [(f"/memberlist.php?mode=viewprofile&u={n}", Writer(f"{host} member {n}").person()) for n in range(2, 72)]  # fmt: skip
    boards: dict[int, list[Link]] = {board: [] for board in (2, 3, 5, 8, 9)}
    for thread in range(101, 196):
        writer = Writer(f"{host} thread {thread}")
        board = writer.random.choice(list(boards))
        base, title = f"/viewtopic.php?f={board}&t={thread}", writer.title()
        boards[board].append((base, title))
        posts = []
        for post in range(writer.random.choice((1, 2, 3, 5, 8, 14, 22, 37, 70))):
            by = writer.random.choice(members)
            text = writer.paragraph(writer.random.choice((1, 1, 2, 4)))
            posts.append(f'<div class=post id="p{thread}{post}"><p>by {anchor(*by)}</p><p>{text}</p></div>')  # fmt: skip
        starts = range(0, len(posts), 15)
        for start in starts:
            pager = [(_started(base, s), str(s // 15 + 1)) for s in starts if s != start]
            pages[_started(base, start)] = Page(title, "".join(posts[start : start + 15]) + listed(pager))  # fmt: skip
    for number, (url, name) in enumerate(members):
        place = Random(name).choice(PLACES)
        pages[url] = Page(f"Profile of {name}", table([("Username", name), ("Location", place), ("Joined", f"{2009 + number % 14}"), ("Posts", str(number * 13 % 97))]))  # fmt: skip
    for board, links in boards.items():
        for start in range(0, len(links), 12):
            pager = [(_started(f"/viewforum.php?f={board}", s), str(s // 12 + 1)) for s in range(0, len(links), 12) if s != start]  # fmt: skip
            pages[_started(f"/viewforum.php?f={board}", start)] = Page(f"Board {board}", listed(links[start : start + 12]) + listed(pager))  # fmt: skip
    pages["/"] = Page(
        "Board index", listed((f"/viewforum.php?f={b}", f"Board {b}") for b in boards)
    )
    for start in range(0, len(members), 25):
        pages[_started("/memberlist.php", start)] = Page("Members", listed(members[start : start + 25]) + listed([(_started("/memberlist.php", s), str(s)) for s in (0, 25, 50)]))  # fmt: skip
    return BlindSite(host, pages, frame=old, menu=[("/", "Index"), ("/memberlist.php", "Members")])


def _started(base: str, start: int) -> str:
    return paged(base, start, "start") if start > 1 else base


def league() -> Site:
    """Three seasons of a league: rounds, matches and teams, nearly all of it names and numbers."""
    host, pages = "www.valley-league.test", {}
    teams = [f"{place} {kind}" for place, kind in zip(PLACES, ("Rovers", "United", "Town") * 4, strict=False)][:10]  # fmt: skip
    seasons, match = ("2023-24", "2024-25", "2025-26"), 7000
    for season in seasons:
        chance = Random(season)
        games = [(h, a) for pair in combinations(teams, 2) for h, a in (pair, pair[::-1])]
        chance.shuffle(games)
        of_team: dict[str, list[Link]] = {team: [] for team in teams}
        for number in range(1, 19):
            links = []
            for home, away in games[(number - 1) * 5 : number * 5]:
                match += 1
                goals = (chance.randint(0, 4), chance.randint(0, 4))
                link = (f"/match/{match}", f"{home} {goals[0]}-{goals[1]} {away}")
                scorers = [(f"{chance.randint(1, 90)}'", Writer(f"{home} {chance.randint(1, 14)}").person()) for _ in range(sum(goals))]  # fmt: skip
                rows = [("Round", str(number)), ("Attendance", str(chance.randint(80, 2400))), ("Referee", Writer(f"referee {chance.randint(1, 20)}").person()), *scorers]  # fmt: skip
                around = [(f"/{season}/team/{slug(t)}", t) for t in (home, away)]
                pages[link[0]] = Page(link[1], table(rows) + listed([*around, (f"/{season}/round/{number}", f"Round {number}")]))  # fmt: skip
                links.append(link)
                of_team[home].append(link)
                of_team[away].append(link)
            near = [(f"/{season}/round/{n}", f"Round {n}") for n in (number - 1, number + 1) if 0 < n < 19]  # fmt: skip
            pages[f"/{season}/round/{number}"] = Page(f"Round {number}, {season}", listed(links + near))  # fmt: skip
        for team, links in of_team.items():
            pages[f"/{season}/team/{slug(team)}"] = Page(f"{team} {season}", listed(links))
        rows = [(anchor(f"/{season}/team/{slug(team)}", team), str(chance.randint(8, 50))) for team in teams]  # fmt: skip
        pages[f"/{season}/table"] = Page(f"Table {season}", table(rows) + listed([(f"/{season}/round/1", "Rounds")]))  # fmt: skip
    pages["/"] = Page("Valley League", text_of(host) + listed((f"/{s}/table", s) for s in seasons))
    return BlindSite(host, pages, frame=portal, menu=[(f"/{s}/table", s) for s in seasons])


def dictionary() -> Site:
    """Words with a short definition, by their first letter."""
    host, pages = "www.old-words.test", {}
    words = sorted({Writer(f"{host} {n}").word() for n in range(700)})[:480]
    letters: dict[str, list[Link]] = {}
    for place, word in enumerate(words):
        writer = Writer(f"{host} entry {word}")
        kind = writer.random.choice(("noun", "verb", "adjective", "adverb"))
        senses = "".join(f"<li>{writer.sentence()}</li>" for _ in range(writer.random.choice((1, 1, 1, 2, 3))))  # fmt: skip
        near = [words[(place + n) % len(words)] for n in (-2, -1, 1, 2)] + writer.random.sample(words, 2)  # fmt: skip
        pages[f"/word/{word}"] = Page(word, f"<p>/{'.'.join(word)}/ <i>{kind}</i></p><ol>{senses}</ol>" + listed((f"/word/{w}", w) for w in near))  # fmt: skip
        letters.setdefault(word[0], []).append((f"/word/{word}", word))
    for letter, links in letters.items():
        in_pages(pages, f"/browse/{letter}", f"Words with {letter.upper()}", links, size=20)
    menu = [(f"/browse/{letter}", letter.upper()) for letter in letters]
    pages["/"] = Page("Old words", text_of(host))
    return BlindSite(host, pages, frame=modern, menu=menu)


def library() -> Site:
    """Records of books: fields, of which several have a page that lists all books with it."""
    host, pages = "catalog.oakham-library.test", {}
    authors = [Writer(f"{host} author {n}").person() for n in range(90)]
    subjects = [Writer(f"{host} subject {n}").word().capitalize() for n in range(18)]
    by: dict[str, list[Link]] = {}
    for number in range(1, 261):
        writer = Writer(f"{host} {number}")
        title, author, subject = writer.title(), number * 31 % 90, writer.random.randrange(18)
        place, year = writer.random.choice(PLACES), writer.random.randint(1921, 2024)
        fields = [(f"/author?id={author}", authors[author]), (f"/subject?id={subject}", subjects[subject])]  # fmt: skip
        rows = [("Author", anchor(*fields[0])), ("Subject", anchor(*fields[1])), ("Published", f"{place}, {year}"), ("Extent", f"{writer.random.randint(40, 700)} p."), ("Shelf", f"{subject * 40 + 12}.{number}"), ("Status", writer.random.choice(("Available", "On loan", "Reading room")))]  # fmt: skip
        link = (f"/record?id=b{100_000 + number * 17}", title)
        pages[link[0]] = Page(title, table(rows) + "<p>Reserve this item at the desk or by telephone.</p>")  # fmt: skip
        for url, _ in fields:
            by.setdefault(url, []).append(link)
    for number, name in enumerate(authors):
        in_pages(pages, f"/author?id={number}", f"Author: {name}", by[f"/author?id={number}"], size=20)  # fmt: skip
    for number, name in enumerate(subjects):
        in_pages(pages, f"/subject?id={number}", f"Subject: {name}", by[f"/subject?id={number}"], size=10)  # fmt: skip
    pages["/"] = Page("Catalog", text_of(host))
    menu = [(f"/subject?id={number}", name) for number, name in enumerate(subjects)]
    return BlindSite(host, pages, frame=old, menu=menu)


def wiki() -> Site:
    """Articles and stubs with categories, and talk pages of a sentence or two."""
    host, pages = "wiki.lindale-rail.test", {}
    titles = sorted({Writer(f"{host} {n}").title().removeprefix("The ") for n in range(190)})
    names = {title: title.replace(" ", "_") for title in titles}
    groups = ("Stations", "Engines", "Tunnels", "Staff", "Bridges", "Signals", "Closed_lines")
    members: dict[str, list[Link]] = {group: [] for group in groups}
    for place, title in enumerate(titles):
        writer, url = Writer(f"{host} text {title}"), f"/wiki/{names[title]}"
        stub = place % 3 == 0
        text = f"<p>{writer.sentence()}</p><p>This article is a stub. You can help by expanding it.</p>" if stub else writer.paragraphs(2, 7)  # fmt: skip
        own = writer.random.sample(groups, writer.random.randint(1, 3))
        links = [(f"/wiki/{names[t]}", t) for t in writer.random.sample(titles, 4) if t != title]
        talk = []
        if place % 5 == 1:
            talk = [(f"/wiki/Talk:{names[title]}", "Discussion")]
            pages[talk[0][0]] = Page(f"Talk: {title}", f"<p>{writer.sentence()} {writer.person()}</p>" + anchor(url, title))  # fmt: skip
        pages[url] = Page(title, text + listed(links + talk) + listed((f"/wiki/Category:{g}", g) for g in own))  # fmt: skip
        for group in own:
            members[group].append((url, title))
    for group, links in members.items():
        in_pages(pages, f"/wiki/Category:{group}", f"Category: {group}", links, size=30, name="pagefrom")  # fmt: skip
    pages["/"] = Page(
        "Main page", text_of(host) + listed((f"/wiki/Category:{g}", g) for g in groups)
    )
    return BlindSite(host, pages, frame=portal)


def museum() -> Site:
    """Objects of which often little more than a number and a material is known."""
    host = "collection.redcar-museum.test"
    materials = ("wood", "iron", "glass", "paper", "linen", "silver", "stoneware")
    things = ("Jug", "Plate", "Button", "Photograph", "Print", "Knife", "Coin", "Fragment")

    def piece(seed: str) -> Item:
        chance, writer = Random(seed), Writer(seed)
        number = f"{chance.randint(1890, 2005)}.{seed.rpartition(' ')[2]}.{chance.randint(1, 40)}"
        rows = [("Object number", number), ("Material", chance.choice(materials)), ("Height", f"{chance.randint(5, 900) / 10} cm")]  # fmt: skip
        if chance.random() < 0.5:
            rows.append(("Date", f"about {chance.randint(160, 195)}0"))
        if chance.random() < 0.3:
            rows.append(("Place", chance.choice(PLACES)))
        note = f"<p>{writer.sentence()}</p>" if chance.random() < 0.35 else ""
        return Item(
            chance.choice(things), f"<p>{number}</p>",
            f"<p>No image available</p>{table(rows)}{note}<p>Not on view. The record may be incomplete.</p>",
        )  # fmt: skip

    departments = ("ceramics", "textiles", "prints", "coins", "tools")
    catalog = Catalog(
        host, 380, piece, lambda n, _: f"/object/{n * 3 + 20_000}",
        lambda g, p: paged(f"/department/{departments.index(g) + 1}", p), departments, size=20, related=2,
    )  # fmt: skip
    return BlindSite(host, catalog.written(), frame=modern, menu=catalog.menu())


def statistics() -> Site:
    """Four tables of numbers of each municipality, under the same sentences."""
    host, pages = "www.county-figures.test", {}
    subjects = {"population": ("Men", "Women", "Households"), "housing": ("Owned", "Rented", "Vacant"), "work": ("Employed", "Farms", "Shops")}  # fmt: skip
    towns = [(f"{n * 7 + 103:04}", Writer(f"{host} {n}").word().capitalize() + "ham") for n in range(95)]  # fmt: skip
    for code, town in towns:
        base, chance = f"/municipality/{code}", Random(code)
        parts = [(base, town), *((f"{base}/{subject}", subject.capitalize()) for subject in subjects)]  # fmt: skip
        total = chance.randint(900, 90_000)
        pages[base] = Page(town, table([("Code", code), ("Inhabitants", str(total)), ("Area", f"{chance.randint(4, 300)} km2")]) + listed(parts[1:]))  # fmt: skip
        for subject, names in subjects.items():
            rows = [("Year", *names)] + [(str(year), *(str(chance.randint(50, total)) for _ in names)) for year in range(2019, 2026)]  # fmt: skip
            pages[f"{base}/{subject}"] = Page(f"{subject.capitalize()} of {town}", "<p>Figures of 1 January. Revised figures are marked.</p>" + table(rows) + listed(parts))  # fmt: skip
    districts = range(1, 6)
    for district in districts:
        own = [(f"/municipality/{code}", town) for code, town in towns[district - 1 :: 5]]
        pages[f"/district/{district}"] = Page(f"District {district}", listed(own))
    pages["/"] = Page("Figures", text_of(host) + listed((f"/district/{d}", f"District {d}") for d in districts))  # fmt: skip
    return BlindSite(host, pages, frame=portal)
