"""Paints in sizes and finishes."""

from __future__ import annotations

from bench.traps.second.base import Base, a, e, num, pager_window, table, ul
from bench.traps.second.words import slug

CAP = str.capitalize


class Paints(Base):
    """Paints: each color in sizes and finishes, every one with its own page and the same text."""

    host = "www.hallberg-paints.test"
    LINES = ("Wall paint", "Facade paint", "Radiator enamel", "Wood glaze", "Floor coating")

    def build(self):
        shades = []
        for n in range(52):
            t = self.t(f"c{n}", 0)
            shades.append(
                (
                    f"{t.num(1, 9)}{n:02}{t.num(0, 9)}",
                    t.pick(
                        (
                            f"{CAP(t.rare())} {t.pick(('white', 'grey', 'blue', 'green', 'red', 'yellow', 'brown'))}",
                            CAP(t.rare()),
                        )
                    ),
                )
            )
        for li, line in enumerate(self.LINES):
            text = f"<p>{self.t(line).para(2)}</p>"
            mine = []
            for n, (code, name) in enumerate(shades):
                if (n + li) % 5 == 0:
                    continue
                sizes = ((1, 2.5, 10), (5, 12), (0.4, 0.75), (0.75, 2.5, 5), (2.5, 10))[li]
                urls = [
                    (
                        f"/product.php?id={(li * 60 + n) * 10 + k + 3000}",
                        f"{line} {code} {name}, {s:g} l",
                    )
                    for k, s in enumerate(sizes)
                ]
                for k, (u, title) in enumerate(urls):
                    self.add(
                        u,
                        title,
                        f"<p class=price>{(8 + li * 3) * sizes[k] ** 0.8 + num(title) % 100 / 100:.2f}</p>{text}"
                        + table(
                            [
                                ("Shade", f"{code} {name}"),
                                ("Content", f"{sizes[k]:g} l"),
                                ("Covers", f"{sizes[k] * 7:g} m2"),
                                ("EAN", f"40{num(u) % 10**11:011}"),
                            ]
                        )
                        + "<h4>Other sizes</h4>"
                        + ul(x for x in urls if x[0] != u)
                        + a(f"/shade/{code}", f"All paints in {name}"),
                    )
                    mine.append(f"<li>{a(u, title)}</li>")
            self.lists(
                line,
                lambda p, li=li: f"/list.php?line={li + 1}" + (f"&page={p}" if p > 1 else ""),
                mine,
                24,
                pager_window,
                text,
            )
        by: dict[str, list] = {}
        for u, (title, *_) in list(self.made.items()):
            for code, _ in shades:
                if f" {code} " in title:
                    by.setdefault(code, []).append((u, title))
        for code, name in shades:
            r = num(code)
            self.add(
                f"/shade/{code}",
                f"{name} ({code})",
                f'<div style="background:#{r % 2**24:06x}"></div><p>Red {r % 256}, green {r // 256 % 256}, blue {r // 65536 % 256}</p>'
                + ul(by[code]),
            )
        self.add("/shades", "All shades", ul((f"/shade/{c}", f"{c} {n}") for c, n in shades))
        adv = []
        for n in range(24):
            t = self.t(f"adv{n}")
            title = "How to " + t.title(2, 4).lower()
            self.add(f"/advice/{slug(title)}", title, t.paras(3, 7))
            adv.append((f"/advice/{slug(title)}", title))
        self.add("/advice", "Advice", ul(adv))
        self.add(
            "/",
            "Hallberg Paints",
            self.t("home").paras(1, 1)
            + ul((f"/list.php?line={i + 1}", x) for i, x in enumerate(self.LINES)),
        )

    def frame(self, title, main, target, head=""):
        return (
            f"<!doctype html><html><head><title>{e(title)} - Hallberg</title></head><body><div class=cookie>This shop uses cookies. Accept / Settings</div><header>{a('/', 'Hallberg')} {a('/shades', 'Shades')} {a('/advice', 'Advice')}"
            + ul((f"/list.php?line={i + 1}", x) for i, x in enumerate(self.LINES))
            + f"</header><h1>{e(title)}</h1>{main}<footer>Delivery in 2 to 4 days. Prices with VAT, without shipping. Hallberg Paints, since 1921. Safety sheets on request. Right of withdrawal within 14 days.</footer></body></html>"
        )
