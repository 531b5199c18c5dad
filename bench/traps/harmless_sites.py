"""
Hosts without a trap whose pages look like one: many of a kind, dated, numbered, similar.

All of them are known to those who change the rules; `harmless_kinds` has hosts that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

from bench.traps.site import NOT_FOUND, Answer, Link, Site, layout, list_of
from bench.traps.writer import Writer, slug

Content = tuple[str, str, list[Link]]
"""Title, main part as HTML, and additional links."""


@dataclass
class FiniteSite:
    """A host whose pages are all real."""

    host: str
    contents: dict[str, Callable[[], Content]]
    pages: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.pages = frozenset(self.contents)

    def answer(self, target: str) -> Answer:
        path, mark, query = target.partition("?")
        target = path + mark + "&".join(sorted(query.split("&")))
        if target not in self.contents:
            return NOT_FOUND
        title, main, links = self.contents[target]()
        return Answer(layout(self.host, title, main, links), page=target)


def documentation() -> FiniteSite:
    """Three versions of 70 pages, most of which differ only in the version number."""
    host, versions = "docs.quill.test", ("1.8", "1.9", "2.0")
    topics = [
        f"{part}/{Writer(f'{part} {n}').word()}"
        for part in ("guide", "reference", "how-to")
        for n in range(23)
    ]
    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: ("Quill", Writer(host).paragraphs(1, 2), [(f"/en/{v}/", v) for v in versions])
    }
    for version in versions:
        contents[f"/en/{version}/"] = lambda v=version: (
            f"Quill {v}",
            "<p>Contents</p>" + list_of([(f"/en/{v}/{t}.html", t) for t in topics]),
            [(f"/en/{other}/", other) for other in versions],
        )
        for number, topic in enumerate(topics):

            def page(v: str = version, t: str = topic, n: int = number) -> Content:
                writer = Writer(f"quill {t}")
                main = f"<p>This is the documentation of Quill {v}.</p>{writer.paragraphs(3, 7)}"
                main += f"<pre>quill {t.split('/')[1]} --version {v}</pre>"
                if n % 6 == 0:
                    main += f"<h2>Changed in {v}</h2><p>{Writer(f'{t} {v}').paragraph(2)}</p>"
                return (
                    t.split("/")[1],
                    main,
                    [(f"/en/{other}/{t}.html", other) for other in versions],
                )

            contents[f"/en/{version}/{topic}.html"] = page
    return FiniteSite(host, contents)


def shop() -> FiniteSite:
    """500 products with short texts made from few sentences, in lists of 20."""
    host, count, kinds = (
        "www.wexley-parts.test",
        500,
        ("bolts", "nuts", "washers", "springs", "bearings"),
    )
    phrases = [Writer(f"phrase {n}").sentence() for n in range(12)]

    def product(number: int) -> Content:
        random = Writer(f"part {number}").random
        size = f"M{random.randint(2, 24)} x {random.randint(4, 200)}"
        main = (
            f"<p>Item {10000 + number}. EUR {random.randint(1, 40)}.{random.randint(10, 99)} for {random.choice((10, 50, 100))}.</p>"
            f"<p>{random.choice(phrases)} {random.choice(phrases)}</p><p>In stock. Delivery takes two days.</p>"
        )
        return f"{kinds[number % 5].capitalize()[:-1]} {size}", main, [(f"/{k}/", k) for k in kinds]

    def listing(kind: str, page: int) -> Content:
        numbers = [n for n in range(count) if kinds[n % 5] == kind][(page - 1) * 20 : page * 20]
        pager = [(f"/{kind}/?page={p}", str(p)) for p in range(2, 6)]
        return (
            f"{kind}, page {page}",
            list_of([(f"/item/{10000 + n}", f"Item {10000 + n}") for n in numbers]),
            pager,
        )

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: ("Parts", Writer(host).paragraphs(1, 1), [(f"/{k}/", k) for k in kinds])
    }
    for kind in kinds:
        for page in range(1, 6):
            contents[f"/{kind}/" + (f"?page={page}" if page > 1 else "")] = lambda k=kind, p=page: (
                listing(k, p)
            )
    for number in range(count):
        contents[f"/item/{10000 + number}"] = lambda n=number: product(n)
    return FiniteSite(host, contents)


def newspaper() -> FiniteSite:
    """An archive by date: years, months, days, and an article on two of three days in 14 months."""
    host, first = "archive.oakvale-times.test", date(2023, 11, 1)
    days = [first + timedelta(days=n) for n in range(420) if n % 3]
    contents: dict[str, Callable[[], Content]] = {}

    def link(day: date) -> str:
        return f"/{day:%Y/%m/%d}/{slug(Writer(f'{host} {day}').title())}.html"

    def index(prefix: str, length: int) -> Content:
        shown = sorted(
            {f"/{day:%Y/%m/%d}/"[:length] for day in days if f"/{day:%Y/%m/%d}/".startswith(prefix)}
        )
        return (
            f"Archive {prefix.strip('/')}",
            list_of([(p, p.strip("/")) for p in shown]),
            [("/", "All years")],
        )

    def article(day: date) -> Content:
        writer = Writer(f"{host} {day}")
        title = writer.title()
        return (
            title,
            f"<p>{day:%d %B %Y}</p>{writer.paragraphs(2, 5)}",
            [(f"/{day:%Y/%m/%d}/", "The day")],
        )

    contents["/"] = lambda: index("/", 6)
    for day in days:
        for prefix, length in ((f"/{day:%Y}/", 9), (f"/{day:%Y/%m}/", 12)):
            contents[prefix] = lambda p=prefix, n=length: index(p, n)
        contents[f"/{day:%Y/%m/%d}/"] = lambda d=day: (
            f"{d:%d %B %Y}",
            f"<p>Published on this day:</p>{list_of([(link(d), Writer(f'{host} {d}').title())])}",
            [(f"/{d:%Y/%m}/", "The month")],
        )
        contents[link(day)] = lambda d=day: article(d)
    return FiniteSite(host, contents)


def weather() -> FiniteSite:
    """A year of one station: one page per day, with the same words and different numbers."""
    host, first = "weather.tarn.test", date(2025, 1, 1)
    days = [first + timedelta(days=n) for n in range(365)]

    def month(start: date) -> Content:
        links = [(f"/daily/{d:%Y-%m-%d}", f"{d:%d}") for d in days if d.month == start.month]
        return f"{start:%B %Y}", list_of(links), [("/", "The year")]

    def one(day: date) -> Content:
        random = Writer(f"{host} {day}").random
        low = random.randint(-8, 14)
        rows = "".join(
            f"<tr><td>{hour}:00</td><td>{low + random.randint(0, 12)}.{random.randint(0, 9)}</td>"
            f"<td>{random.randint(960, 1040)}</td><td>{random.randint(20, 100)}</td></tr>"
            for hour in range(0, 24, 3)
        )
        main = f"<p>Rain {random.randint(0, 30)} mm, sun {random.randint(0, 14)} h.</p><table>{rows}</table>"
        near = [
            (f"/daily/{d:%Y-%m-%d}", f"{d:%d %b}")
            for d in (day - timedelta(1), day + timedelta(1))
            if d.year == 2025
        ]
        return f"Weather of {day:%d %B %Y}", main, near

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: (
            "Weather of 2025",
            list_of([(f"/monthly/2025-{m:02}", f"{m}") for m in range(1, 13)]),
            [],
        )
    }
    for number in range(1, 13):
        contents[f"/monthly/2025-{number:02}"] = lambda m=number: month(date(2025, m, 1))
    for day in days:
        contents[f"/daily/{day:%Y-%m-%d}"] = lambda d=day: one(d)
    return FiniteSite(host, contents)


def forum() -> FiniteSite:
    """Threads with a number in the query, some with several pages, in boards with several pages."""
    host, count = "board.yarrow.test", 240

    def thread(number: int, start: int) -> Content:
        writer = Writer(f"{host} {number} {start}")
        posts = "".join(
            f"<article><b>{writer.person()}</b><p>{writer.paragraph(2)}</p></article>"
            for _ in range(5)
        )
        more = [
            (f"/viewtopic.php?f={number % 4}&start={s}&t={number}", f"{s}")
            for s in starts(number)
            if s
        ]
        return (
            Writer(f"{host} {number}").title(),
            posts,
            [(f"/viewforum.php?f={number % 4}", "Board"), *more],
        )

    def starts(number: int) -> list[int]:
        return list(range(0, (number % 5) * 15 + 1, 15)) if number % 4 == 0 else [0]

    def target(number: int, start: int) -> str:
        return (
            f"/viewtopic.php?f={number % 4}" + (f"&start={start}" if start else "") + f"&t={number}"
        )

    def board(forum_id: int, start: int) -> Content:
        numbers = [n for n in range(count) if n % 4 == forum_id]
        shown = [(target(n, 0), Writer(f"{host} {n}").title()) for n in numbers[start : start + 25]]
        pager = [
            (f"/viewforum.php?f={forum_id}&start={s}", f"{s}") for s in range(25, len(numbers), 25)
        ]
        return f"Board {forum_id}", list_of(shown), pager

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: (
            "Boards",
            Writer(host).paragraphs(1, 1),
            [(f"/viewforum.php?f={f}", f"Board {f}") for f in range(4)],
        )
    }
    for forum_id in range(4):
        for start in range(0, 60, 25):
            contents[f"/viewforum.php?f={forum_id}" + (f"&start={start}" if start else "")] = (
                lambda f=forum_id, s=start: board(f, s)
            )
    for number in range(count):
        for start in starts(number):
            contents[target(number, start)] = lambda n=number, s=start: thread(n, s)
    return FiniteSite(host, contents)


def gallery() -> FiniteSite:
    """Albums of photos: one page per photo, with a short caption and previous and next links."""
    host, albums, photos = "photos.zennor.test", 6, 40

    def photo(album: int, number: int) -> Content:
        writer = Writer(f"{host} {album} {number}")
        main = (
            f'<img src="/files/{album}/IMG_{4000 + number}.jpg" alt=""><p>{writer.sentence()}</p>'
        )
        near = [
            (f"/album/{album}/photo/{n}", "Photo")
            for n in (number - 1, number + 1)
            if 1 <= n <= photos
        ]
        return f"IMG_{4000 + number}", main, near

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: (
            "Photos",
            Writer(host).paragraphs(1, 1),
            [(f"/album/{a}", f"Album {a}") for a in range(1, albums + 1)],
        )
    }
    for album in range(1, albums + 1):
        contents[f"/album/{album}"] = lambda a=album: (
            Writer(f"{host} {a}").title(),
            list_of([(f"/album/{a}/photo/{n}", f"{n}") for n in range(1, photos + 1)]),
            [("/", "All albums")],
        )
        for number in range(1, photos + 1):
            contents[f"/album/{album}/photo/{number}"] = lambda a=album, n=number: photo(a, n)
    return FiniteSite(host, contents)


def dictionary() -> FiniteSite:
    """One-sentence entries by letter. Each links to a few others."""
    host = "words.quayside.test"
    words = sorted({Writer(f"entry {n}").word() for n in range(450)})
    letters = sorted({word[0] for word in words})

    def entry(word: str) -> Content:
        writer = Writer(f"{host} {word}")
        see = [(f"/define/{other}", other) for other in writer.random.sample(words, 3)]
        return word, f"<p><i>n.</i> {writer.sentence()}</p>", see

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: (
            "Dictionary",
            "<p>By letter</p>",
            [(f"/browse/{letter}", letter) for letter in letters],
        )
    }
    for letter in letters:
        contents[f"/browse/{letter}"] = lambda x=letter: (
            x.upper(),
            list_of([(f"/define/{w}", w) for w in words if w[0] == x]),
            [("/", "All letters")],
        )
    for word in words:
        contents[f"/define/{word}"] = lambda w=word: entry(w)
    return FiniteSite(host, contents)


def registry() -> FiniteSite:
    """Packages with one page per version, whose readme changes little."""
    host = "pkg.redcar.test"
    names = sorted({Writer(f"package {n}").word() for n in range(60)})

    def page(name: str, version: int) -> Content:
        writer = Writer(f"{host} {name}")
        main = f"<pre>install {name}@1.{version}.0</pre>{writer.paragraphs(2, 3)}"
        main += f"<h2>Changes in 1.{version}.0</h2><p>{Writer(f'{name} {version}').sentence()}</p>"
        return name, main, [(f"/package/{name}/v/1.{v}.0", f"1.{v}.0") for v in range(6)]

    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: ("Packages", "<p>All packages</p>", [(f"/package/{n}", n) for n in names])
    }
    for name in names:
        contents[f"/package/{name}"] = lambda n=name: page(n, 5)
        for version in range(6):
            contents[f"/package/{name}/v/1.{version}.0"] = lambda n=name, v=version: page(n, v)
    return FiniteSite(host, contents)


def statutes() -> FiniteSite:
    """Laws by title, chapter and section. Many sections are one sentence, or repealed."""
    host = "law.selby.test"
    contents: dict[str, Callable[[], Content]] = {
        "/": lambda: ("Laws", "<p>Titles</p>", [(f"/title/{t}", f"Title {t}") for t in range(1, 7)])
    }

    def section(title: int, chapter: int, number: int) -> Content:
        writer = Writer(f"{host} {title} {chapter} {number}")
        repealed = writer.random.random() < 0.15
        main = (
            "<p>Repealed.</p>"
            if repealed
            else f"<p>{writer.paragraph(writer.random.randint(1, 4))}</p>"
        )
        return (
            f"Section {title}-{chapter}-{number}",
            main,
            [(f"/title/{title}/chapter/{chapter}", "Chapter")],
        )

    for title in range(1, 7):
        contents[f"/title/{title}"] = lambda t=title: (
            f"Title {t}",
            list_of([(f"/title/{t}/chapter/{c}", f"Chapter {c}") for c in range(1, 7)]),
            [],
        )
        for chapter in range(1, 7):
            contents[f"/title/{title}/chapter/{chapter}"] = lambda t=title, c=chapter: (
                f"Chapter {t}-{c}",
                list_of(
                    [(f"/title/{t}/chapter/{c}/section/{s}", f"Section {s}") for s in range(1, 11)]
                ),
                [(f"/title/{t}", "Title")],
            )
            for number in range(1, 11):
                contents[f"/title/{title}/chapter/{chapter}/section/{number}"] = (
                    lambda t=title, c=chapter, s=number: section(t, c, s)
                )
    return FiniteSite(host, contents)


def harmless_sites() -> list[Site]:
    """Return the hosts."""
    return [
        documentation(), shop(), newspaper(), forum(), gallery(),
        weather(), dictionary(), registry(), statutes(),
    ]  # fmt: skip
