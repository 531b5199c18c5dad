"""A weather service with tide tables and a converter of units."""

from __future__ import annotations

import re
from datetime import date, timedelta
from random import Random

from bench.traps.second.base import Base, a, day, e, table, ul
from bench.traps.second.words import slug

D = timedelta(days=1)
CAP = str.capitalize


class Tides(Base):
    host = "www.brinemarsh-weather.test"

    def build(self):
        self.st = [self.t(f"st{n}", 0).place() for n in range(26)]
        for n, s in enumerate(self.st):
            t = self.t(f"sta{n}", 5)
            months = [
                (f"/stations/{slug(s)}/2025/{m:02}", f"{date(2025, m, 1):%B %Y}")
                for m in range(1, 13)
            ]
            self.add(
                f"/stations/{slug(s)}",
                s,
                f"<p>Height {t.num(0, 90)} m, since {t.num(1880, 2015)}. {t.para(2)}</p>"
                + ul(months)
                + a(f"/tides/{slug(s)}?day=2026-11-30", "Tides today")
                + ul(
                    (f"/stations/{slug(self.st[(n + k) % 26])}", self.st[(n + k) % 26])
                    for k in (1, 5, 9)
                ),
            )
            for m in range(1, 13):
                r = Random(f"{n} {m}")
                rows = [
                    (
                        i,
                        f"{r.gauss(9 + 6 * (6 - abs(m - 7)) / 3, 3):.1f}",
                        f"{max(0, r.gauss(1, 4)):.1f}",
                        r.randint(0, 12),
                        f"{r.gauss(1013, 9):.1f}",
                        r.choice(("N", "NE", "E", "SE", "S", "SW", "W", "NW")),
                    )
                    for i in range(1, 31)
                ]
                url = f"/stations/{slug(s)}/2025/{m:02}"
                self.add(
                    url,
                    f"{s}: {date(2025, m, 1):%B %Y}",
                    table(rows, ("Day", "Temperature", "Rain", "Sun", "Pressure", "Wind"))
                    + f"<p>Mean values of station {a(f'/stations/{slug(s)}', s)}.</p>",
                )
        arts = []
        for n in range(44):
            t = self.t(f"art{n}")
            title = t.title(2, 5)
            self.add(
                f"/climate/{n + 100}",
                title,
                t.paras(3, 9)
                + a(f"/tools/convert?from=kn&to=kmh&value={n + 3}", f"{n + 3} knots in km/h"),
            )
            arts.append((f"/climate/{n + 100}", title))
        gl = []
        for n in range(60):
            t = self.t(f"gl{n}", 3)
            w = t.rare()
            while f"/glossary/{w}" in self.made:
                w = t.rare()
            self.add(f"/glossary/{w}", CAP(w), f"<p>{t.sentence()}</p>")
            gl.append((f"/glossary/{w}", w))
        self.add("/glossary", "Glossary of weather words", ul(gl))
        self.add("/climate", "Climate", ul(arts))
        self.add(
            "/tools",
            "Tools",
            ul(
                [
                    ("/tools/convert?from=kn&to=kmh&value=10", "Convert wind speeds"),
                    (f"/tides/{slug(self.st[0])}?day=2026-11-30", "Tide tables"),
                ]
            ),
        )
        self.add("/stations", "Stations", ul((f"/stations/{slug(s)}", s) for s in self.st))
        self.add("/", "Weather of Brinemarsh", self.t("h").paras(2, 2))

    def frame(self, title, main, target, head=""):
        return (
            f"<!doctype html><html><head><title>{e(title)} - Brinemarsh Weather</title>{head}</head><body><nav>"
            + ul(
                [
                    ("/", "Start"),
                    ("/stations", "Stations"),
                    ("/climate", "Climate"),
                    ("/glossary", "Glossary"),
                    ("/tools", "Tools"),
                ]
            )
            + f"</nav><section><h1>{e(title)}</h1>{main}</section><footer>Data of the Brinemarsh observers' association, checked by hand, no liability.</footer></body></html>"
        )

    def route(self, path, q, d, target):
        if m := re.fullmatch(r"/tides/([\w-]+)", path):
            at = day(d.get("day", ""))
            if at is None or m[1] not in {slug(s) for s in self.st} or not 100 < at.year < 9900:
                return None
            r = Random(f"{m[1]} {at}")
            rows = [
                (
                    f"{(h * 6 + r.randint(0, 5)) % 24:02}:{r.randint(0, 59):02}",
                    f"{r.uniform(0.2, 4.8):.2f} m",
                    "high" if h % 2 else "low",
                )
                for h in range(4)
            ]
            nav = [
                (f"/tides/{m[1]}?day={at + k * D}", t)
                for k, t in (
                    (-1, "day before"),
                    (1, "day after"),
                    (-7, "week before"),
                    (7, "week after"),
                    (-365, "year before"),
                    (365, "year after"),
                )
            ]
            return self.trap(
                "tides",
                f"Tides on {at:%d %B %Y}",
                table(rows, ("Time", "Level", ""))
                + f"<p>Sunrise {r.randint(4, 8)}:{r.randint(10, 59)}, moon {r.randint(0, 100)} %</p>"
                + ul(nav),
                target,
            )
        if path == "/tools/convert":
            u = {"kn": 0.5144, "kmh": 0.2778, "mph": 0.447, "ms": 1.0, "fts": 0.3048}
            try:
                v, f, t = float(d["value"]), d["from"], d["to"]
                w = v * u[f] / u[t]
            except (KeyError, ValueError):
                return None
            if not 0 <= v < 1e7:
                return None
            nav = [
                (f"/tools/convert?from={f}&to={t}&value={x:g}", f"{x:g} {f}")
                for x in (v + 1, v + 0.5, v * 2, v + 10, max(v - 1, 0))
            ] + [
                (f"/tools/convert?from={t}&to={x}&value={w:.2f}", f"{w:.2f} {t} in {x}")
                for x in u
                if x != t
            ]
            return self.trap(
                "convert",
                f"{v:g} {f} in {t}",
                f"<p>{v:g} {f} are {w:.3f} {t}. To convert {f} to {t}, multiply by {u[f] / u[t]:.4f}.</p>"
                + ul(nav),
                target,
            )
        return None
