"""
More hosts without a trap, of kinds that the rules were not made for.

`harmless_kinds` may be looked at; `scored_harmless_kinds` is only scored. A page is real if it has
content that no other page of the host has, however little.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from bench.traps.harmless_sites import Content, FiniteSite
from bench.traps.site import Site, list_of
from bench.traps.writer import Writer, slug

Contents = dict[str, Callable[[], Content]]


def mailing_list() -> FiniteSite:
    """Messages by month, each of which quotes the one it replies to and adds a sentence or two."""
    host, months, each = "lists.abbots.test", 14, 30

    def said(number: int) -> str:
        return Writer(f"{host} {number}").paragraph(1 + number % 2)

    def message(number: int) -> Content:
        quoted = "".join(
            f"<blockquote>{said(n)}</blockquote>" for n in range(number // 6 * 6, number)
        )
        month, near = number // each, (number - 1, number + 1)
        links = [(f"/2025-{n // each:02}/msg{n:05}.html", "Next or previous") for n in near
                 if 0 <= n < months * each]  # fmt: skip
        links.append((f"/2025-{month:02}/threads.html", "By thread"))
        return f"Re: {number // 6}", f"<p>{said(number)}</p>{quoted}", links

    def index(month: int) -> Content:
        numbers = range(month * each, month * each + each)
        shown = [(f"/2025-{month:02}/msg{n:05}.html", f"Re: {n // 6}") for n in numbers]
        return f"Month {month}", list_of(shown), [("/", "All months")]

    contents: Contents = {
        "/": lambda: ("List", Writer(host).paragraph(2),
                      [(f"/2025-{m:02}/threads.html", f"{m}") for m in range(months)]),
    }  # fmt: skip
    for month in range(months):
        contents[f"/2025-{month:02}/threads.html"] = lambda m=month: index(m)
        for number in range(month * each, month * each + each):
            contents[f"/2025-{month:02}/msg{number:05}.html"] = lambda n=number: message(n)
    return FiniteSite(host, contents)


def class_reference() -> FiniteSite:
    """A library reference with one page per class. Much of the text is the same on all pages."""
    host = "api.burford.test"
    packages = [Writer(f"{host} {n}").word() for n in range(12)]
    names = {
        p: sorted({Writer(f"{p} {n}").word().capitalize() for n in range(25)}) for p in packages
    }
    inherited = "".join(
        f"<li>{name}() {Writer(name).sentence()}</li>"
        for name in ("clone", "equals", "hash", "wait")
    )

    def one(package: str, name: str) -> Content:
        writer = Writer(f"{host} {package} {name}")
        methods = "".join(f"<li>{writer.word()}() {writer.sentence()}</li>" for _ in range(2))
        main = f"<p>{writer.sentence()}</p><ul>{methods}</ul><h2>Inherited</h2><ul>{inherited}</ul>"
        other = writer.random.choice(packages)
        links = [(f"/{other}/{n}.html", n) for n in names[other][:3]]
        return name, main, [*links, (f"/{package}/package-summary.html", package)]

    def summary(package: str) -> Content:
        links = [(f"/{package}/{n}.html", n) for n in names[package]]
        return package, list_of(links), [("/", "Overview")]

    contents: Contents = {
        "/": lambda: ("Overview", "<p>All packages</p>",
                      [(f"/{p}/package-summary.html", p) for p in packages]),
    }  # fmt: skip
    for package in packages:
        contents[f"/{package}/package-summary.html"] = lambda p=package: summary(p)
        for name in names[package]:
            contents[f"/{package}/{name}.html"] = lambda p=package, n=name: one(p, n)
    return FiniteSite(host, contents)


def shop_with_kinds() -> FiniteSite:
    """160 products in a query, each with two variants that have their own text and price."""
    host, count = "www.clevedon-tea.test", 160
    kinds = ("", "loose", "bags")

    def product(number: int, kind: str) -> Content:
        writer = Writer(f"{host} {number} {kind}")
        main = f"<p>EUR {writer.random.randint(3, 40)}.50</p><p>{writer.paragraph(2)}</p>"
        links = [
            (f"/index.php?id={number}" + (f"&kind={k}" if k else ""), k or "tin") for k in kinds
        ]
        return f"Tea {number} {kind}", main, links

    def listing(page: int) -> Content:
        numbers = range(page * 16, page * 16 + 16)
        more = [(f"/index.php?page={page + 1}", "Next")] if page < 9 else []
        return f"Teas {page}", list_of([(f"/index.php?id={n}", f"Tea {n}") for n in numbers]), more

    contents: Contents = {
        "/": lambda: ("Tea", Writer(host).paragraphs(1, 1), [("/index.php?page=0", "All teas")])
    }
    for page in range(10):
        contents[f"/index.php?page={page}"] = lambda p=page: listing(p)
    for number in range(count):
        for kind in kinds:
            target = f"/index.php?id={number}" + (f"&kind={kind}" if kind else "")
            contents[target] = lambda n=number, k=kind: product(n, k)
    return FiniteSite(host, contents)


def diary() -> FiniteSite:
    """
    A diary read backward: the home page links only to the last day, and each day to the previous
    one.
    """
    host, first, count = "diary.dawlish.test", date(2024, 1, 1), 300

    def one(number: int) -> Content:
        day = first + timedelta(days=number)
        back = [(f"/{day - timedelta(1):%Y/%m/%d}/", "The day before")] if number else []
        return f"{day:%d %B %Y}", f"<p>{Writer(f'{host} {day}').paragraph(3)}</p>", back

    contents: Contents = {
        "/": lambda: ("Diary", Writer(host).paragraph(2),
                      [(f"/{first + timedelta(count - 1):%Y/%m/%d}/", "Yesterday")]),
    }  # fmt: skip
    for number in range(count):
        contents[f"/{first + timedelta(number):%Y/%m/%d}/"] = lambda n=number: one(n)
    return FiniteSite(host, contents)


def collection() -> FiniteSite:
    """Museum objects with long ids: a title, a year and a size, rarely a sentence."""
    host, count = "collection.exmouth.test", 400
    ids = [f"{Writer(f'{host} {n}').random.getrandbits(64):016x}" for n in range(count)]

    def thing(number: int) -> Content:
        writer = Writer(f"{host} object {number}")
        random = writer.random
        main = (
            f"<dl><dt>Made by</dt><dd>{writer.person()}</dd><dt>In</dt><dd>{random.randint(1500, 1950)}</dd>"
            f"<dt>Measures</dt><dd>{random.randint(2, 300)} x {random.randint(2, 300)} mm</dd></dl>"
        )
        if number % 5 == 0:
            main += f"<p>{writer.sentence()}</p>"
        return writer.title(), main, [(f"/room/{number // 40}", "The room")]

    def room(number: int) -> Content:
        numbers = range(number * 40, number * 40 + 40)
        links = [(f"/object/{ids[n]}", Writer(f"{host} object {n}").title()) for n in numbers]
        return f"Room {number}", list_of(links), [("/", "All rooms")]

    contents: Contents = {
        "/": lambda: ("Rooms", Writer(host).paragraph(2),
                      [(f"/room/{n}", f"Room {n}") for n in range(count // 40)]),
    }  # fmt: skip
    for number in range(count // 40):
        contents[f"/room/{number}"] = lambda n=number: room(n)
    for number in range(count):
        contents[f"/object/{ids[number]}"] = lambda n=number: thing(n)
    return FiniteSite(host, contents)


def languages() -> FiniteSite:
    """60 pages in five languages, each with its own words."""
    host, codes = "www.falmer.test", ("en", "de", "fr", "it", "nl")
    topics = sorted({Writer(f"{host} {n}").word() for n in range(60)})

    def page(code: str, topic: str) -> Content:
        text = Writer(f"{host} {topic} {code}").paragraphs(1, 3)
        if code != "en":
            text = " ".join(f"{word}{code}" if word.isalpha() else word for word in text.split(" "))
        links = [(f"/{other}/{topic}", other) for other in codes]
        return topic, text, [*links, (f"/{code}/", "Contents")]

    def index(code: str) -> Content:
        return code, list_of([(f"/{code}/{t}", t) for t in topics]), [(f"/{c}/", c) for c in codes]

    contents: Contents = {
        "/": lambda: ("Welcome", Writer(host).paragraph(2), [(f"/{c}/", c) for c in codes])
    }
    for code in codes:
        contents[f"/{code}/"] = lambda c=code: index(c)
        for topic in topics:
            contents[f"/{code}/{topic}"] = lambda c=code, t=topic: page(c, t)
    return FiniteSite(host, contents)


def encyclopedia() -> FiniteSite:
    """400 articles linked only from other articles, each of which links to five."""
    host, count = "wiki.gosport.test", 400
    titles = sorted({slug(Writer(f"{host} {n}").title()) for n in range(count)})

    def article(number: int) -> Content:
        writer = Writer(f"{host} {titles[number]}")
        near = {(number * 2 + 1) % len(titles), (number * 2 + 2) % len(titles)}
        near |= {writer.random.randrange(len(titles)) for _ in range(3)}
        links = "".join(f'<a href="/wiki/{titles[n]}">{titles[n]}</a> ' for n in sorted(near))
        return titles[number], f"{writer.paragraphs(1, 3)}<p>See {links}</p>", []

    contents: Contents = {
        "/": lambda: ("Wiki", Writer(host).paragraph(2), [(f"/wiki/{titles[0]}", "First article")])
    }
    for number in range(len(titles)):
        contents[f"/wiki/{titles[number]}"] = lambda n=number: article(n)
    return FiniteSite(host, contents)


def results() -> FiniteSite:
    """League tables with season, round and match as numbers in the query, with few words."""
    host = "league.hythe.test"
    clubs = [Writer(f"{host} {n}").word().capitalize() for n in range(12)]

    def match(season: int, number: int, game: int) -> Content:
        random = Writer(f"{host} {season} {number} {game}").random
        home, guest = random.sample(clubs, 2)
        goals = "".join(
            f"<li>{random.randint(1, 90)}' {random.choice(clubs)}</li>" for _ in range(3)
        )
        main = (
            f"<p>{home} {random.randint(0, 5)}:{random.randint(0, 5)} {guest}</p><ul>{goals}</ul>"
        )
        return f"{home} and {guest}", main, [(f"/round?season={season}&round={number}", "Round")]

    def day(season: int, number: int) -> Content:
        links = [(f"/match?season={season}&round={number}&game={g}", f"{g}") for g in range(6)]
        return f"Round {number}", list_of(links), [(f"/season?season={season}", "Season")]

    contents: Contents = {
        "/": lambda: ("League", Writer(host).paragraph(2),
                      [(f"/season?season={s}", f"{s}") for s in range(2020, 2024)]),
    }  # fmt: skip
    for season in range(2020, 2024):
        contents[f"/season?season={season}"] = lambda s=season: (
            f"Season {s}",
            list_of([(f"/round?season={s}&round={n}", f"Round {n}") for n in range(1, 15)]),
            [],
        )
        for number in range(1, 15):
            contents["/round?" + "&".join(sorted((f"season={season}", f"round={number}")))] = (
                lambda s=season, n=number: day(s, n)
            )
            for game in range(6):
                asked = sorted((f"season={season}", f"round={number}", f"game={game}"))
                contents["/match?" + "&".join(asked)] = lambda s=season, n=number, g=game: match(
                    s, n, g
                )
    return FiniteSite(host, contents)


def harmless_kinds() -> list[Site]:
    """Hosts that may be looked at."""
    return [mailing_list(), shop_with_kinds(), collection(), encyclopedia()]


def scored_harmless_kinds() -> list[Site]:
    """Hosts that are only scored."""
    return [class_reference(), diary(), languages(), results()]
