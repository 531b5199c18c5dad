"""A library's reference in four versions."""

from __future__ import annotations

from bench.traps.second.base import Base, a, e, num, table, ul
from bench.traps.second.words import slug


class Reference(Base):
    """A library's reference, in four versions that differ little."""

    host = "docs.quillstream.test"
    VERSIONS = ("1.9", "2.0", "2.1", "main")

    def build(self):
        mods = []
        for m in range(9):
            t = self.t(f"m{m}", 0)
            mods.append(
                (
                    t.rare(),
                    list(
                        dict.fromkeys(
                            t.pick(("", "get_", "set_", "read_", "to_", "on_", "make_")) + t.rare()
                            for _ in range(t.num(10, 16))
                        )
                    ),
                )
            )
        guides = [self.t(f"g{n}", 3).title(1, 3) for n in range(9)]
        for i, v in enumerate(self.VERSIONS):
            menu = ul(
                [(f"/{v}/guide/{slug(g)}.html", g) for g in guides[: 7 + i // 2]]
                + [(f"/{v}/api/{m}/", m) for m, _ in mods]
            )
            self.add(
                f"/{v}/",
                f"Quillstream {v}",
                f"<p>Quillstream reads and writes streams of records. This is version {v}.</p>{menu}"
                + self.t(f"rel{v}").paras(1, 2),
            )
            for n, g in enumerate(guides[: 7 + i // 2]):
                body = self.t(f"guide{n}", 14).paras(4, 10)
                extra = (
                    f"<div class=note>Changed in {v}: {self.t(f'{v}{n}').sentence()}</div>"
                    if num(f"{v}{n}") % 3 == 0
                    else ""
                )
                self.add(
                    f"/{v}/guide/{slug(g)}.html",
                    g,
                    body
                    + extra
                    + menu
                    + self.others(f"guide/{slug(g)}.html", i, 0 if n < 7 else 2),
                )
            for m, fs in mods:
                self.add(
                    f"/{v}/api/{m}/",
                    m,
                    f"<p>{self.t(m).sentence()}</p>"
                    + table(
                        [
                            (a(f"/{v}/api/{m}/{f}.html", f), self.t(f"{m}{f}", 3).sentence())
                            for f in fs
                        ]
                    )
                    + menu
                    + self.others(f"api/{m}/", i, 0),
                )
                for f in fs:
                    t = self.t(f"{m}{f}", 3)
                    s = t.sentence()
                    args = [
                        (
                            t.word(),
                            t.pick(("int", "str", "bytes", "bool", "Record", "Stream")),
                            t.sentence(),
                        )
                        for _ in range(t.num(0, 4))
                    ]
                    sig = f"{m}.{f}({', '.join(f'{x}: {y}' for x, y, _ in args)}) -> {t.pick(('None', 'int', 'Record', 'Stream', 'str'))}"
                    more = (
                        f"<p>New in version {self.VERSIONS[i]}: {t.word()}.</p>"
                        if num(f"{v}{m}{f}") % 9 == 0
                        else ""
                    )
                    self.add(
                        f"/{v}/api/{m}/{f}.html",
                        f"{m}.{f}",
                        f"<pre>{e(sig)}</pre><p>{s}</p>"
                        + table(args)
                        + (f"<pre>>>> {m}.{f}({t.num()})\n{t.word()}</pre>" if t.num() % 2 else "")
                        + more
                        + self.others(f"api/{m}/{f}.html", i, 0),
                        f'<link rel="canonical" href="http://{self.host}/{v}/api/{m}/{f}.html">',
                    )
        self.add("/", "Quillstream", ul((f"/{v}/", f"Documentation of {v}") for v in self.VERSIONS))

    def others(self, rest, i, first):
        return (
            "<div class=versions>"
            + " ".join(
                a(f"/{v}/{rest}", v) for j, v in enumerate(self.VERSIONS) if j != i and j >= first
            )
            + "</div>"
        )

    def frame(self, title, main, target, head=""):
        return f"<!doctype html><html><head><title>{e(title)} - Quillstream</title>{head}</head><body><nav>{a('/', 'Quillstream')}</nav><main><h1>{e(title)}</h1>{main}</main><footer>Built with a static generator. Licensed under MIT. Edit this page.</footer></body></html>"
