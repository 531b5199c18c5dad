"""The archive of a newspaper."""

from __future__ import annotations

from datetime import date, timedelta

from bench.traps.second.base import Base, a, e, num, ul
from bench.traps.second.words import slug

D = timedelta(days=1)


class Gazette(Base):
    """A newspaper: a page for every day, and its articles."""

    host = "archive.eastmoor-gazette.test"

    def build(self):
        years = (1998, 1999)
        first = date(1998, 1, 1)
        for i in range(730):
            d = first + i * D
            k = 0 if d.weekday() == 6 else 1 if num(f"k{d}") % 3 else 2
            links = []
            for n in range(k):
                t = self.t(f"{d}{n}")
                title = t.title(3, 8)
                url = f"/{d.year}/{d.month:02}/{d.day:02}/{slug(title)}"
                if i % 2 == 0 or n:
                    self.add(
                        url,
                        title,
                        f"<p>{d:%A, %B %d, %Y}</p>"
                        + t.paras(1, 5)
                        + a(f"/{d.year}/{d.month:02}/{d.day:02}/", "All of this day"),
                    )
                    links.append((url, title))
                else:
                    links.append(("", title))
            if d.weekday() == 6:
                continue
            t = self.t(f"front{d}")
            main = (
                "".join(
                    f"<p>{a(u, x) if u else f'<b>{e(x)}</b> {t.sentence()}'}</p>" for u, x in links
                )
                + f"<p>Weather: {t.num(-9, 31)} degrees, {t.pick(('rain', 'sun', 'fog', 'snow', 'clouds', 'storm'))}.</p>"
            )
            prev, nxt = (
                d - (2 if d.weekday() == 0 else 1) * D,
                d + (2 if d.weekday() == 5 else 1) * D,
            )
            nav = [
                (f"/{x.year}/{x.month:02}/{x.day:02}/", f"{x}")
                for x in (prev, nxt)
                if x.year in years
            ]
            self.add(f"/{d.year}/{d.month:02}/{d.day:02}/", f"{d:%A, %B %d, %Y}", main + ul(nav))
        for y in years:
            for m in range(1, 13):
                days = [date(y, m, 1) + n * D for n in range(31)]
                self.add(
                    f"/{y}/{m:02}/",
                    f"{date(y, m, 1):%B %Y}",
                    " ".join(
                        a(f"/{y}/{m:02}/{x.day:02}/", x.day) if x.weekday() != 6 else str(x.day)
                        for x in days
                        if x.month == m
                    ),
                )
            self.add(
                f"/{y}/", str(y), ul((f"/{y}/{m:02}/", f"{date(y, m, 1):%B}") for m in range(1, 13))
            )
        self.add(
            "/",
            "Archive of the Eastmoor Gazette",
            self.t("home").paras(2, 2) + ul((f"/{y}/", y) for y in years),
        )

    def frame(self, title, main, target, head=""):
        return f"<!DOCTYPE html><html><head><title>{e(title)} | Eastmoor Gazette Archive</title></head><body><header>{a('/', 'Eastmoor Gazette')} <i>since 1871, every morning except Sunday</i></header><h1>{e(title)}</h1>{main}<footer>Scanned and read by volunteers. Errors may be reported to the archive. All rights with the publisher.</footer></body></html>"
