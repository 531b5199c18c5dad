"""Timetables of buses."""

from __future__ import annotations

from random import Random

from bench.traps.second.base import Base, a, e, num, pager_next, table, ul
from bench.traps.second.words import slug


class Buses(Base):
    """Timetables: lines, directions, days and stops; numbers and names of stops."""

    host = "www.vale-transit.test"

    def build(self):
        stops = list(
            dict.fromkeys(
                f"{t.place()}, {t.pick(('station', 'church', 'school', 'market', 'mill lane', 'hospital', 'centre'))}"
                for t in (self.t(f"s{n}", 0) for n in range(130))
            )
        )
        at: dict[str, list] = {s: [] for s in stops}
        lines = []
        for n in range(28):
            r = Random(f"line{n}")
            no = str(n + 1) if n < 12 else f"{r.choice('XNE')}{n}"
            route = r.sample(stops, r.randint(8, 18))
            lines.append((no, route))
            kinds = ("weekdays", "saturday", "sunday")
            for s in route:
                at[s].append(no)
            for dr in ("out", "back"):
                rt = route if dr == "out" else route[::-1]
                for k in kinds:
                    r = Random(f"{no}{dr}{k}")
                    starts = sorted(
                        r.sample(range(300, 1420), {"weekdays": 14, "saturday": 9, "sunday": 6}[k])
                    )
                    gaps = [0]
                    for _ in rt[1:]:
                        gaps.append(gaps[-1] + r.randint(1, 6))
                    rows = [
                        (
                            a(f"/stop/{slug(s)}", s),
                            *(f"{(x + g) // 60 % 24:02}:{(x + g) % 60:02}" for x in starts),
                        )
                        for s, g in zip(rt, gaps, strict=False)
                    ]
                    links = [
                        (
                            f"/timetable?day={k2}&dir={d2}&line={no}",
                            f"{k2}, {'to ' + (route[-1] if d2 == 'out' else route[0])}",
                        )
                        for k2 in kinds
                        for d2 in ("out", "back")
                    ]
                    self.add(
                        f"/timetable?day={k}&dir={dr}&line={no}",
                        f"Line {no} to {rt[-1]}, {k}",
                        table(rows) + ul(links),
                    )
            self.add(
                f"/line/{no}",
                f"Line {no}: {route[0]} - {route[-1]}",
                "<ol>"
                + "".join(f"<li>{a(f'/stop/{slug(s)}', s)}</li>" for s in route)
                + "</ol>"
                + ul(links),
            )
        for s in stops:
            self.add(
                f"/stop/{slug(s)}",
                s,
                f"<p>Zone {num(s) % 9 + 1}. {'Shelter. ' if num(s) % 2 else ''}{'Step-free. ' if num(s) % 3 else ''}</p>"
                + ul((f"/line/{x}", f"Line {x}") for x in at[s]),
            )
        self.add("/stops", "Stops", ul(sorted((f"/stop/{slug(s)}", s) for s in stops)))
        news = []
        for n in range(46):
            t = self.t(f"n{n}")
            title = t.pick(("Diversion: ", "Line changes: ", "", "Road works: ")) + t.title(2, 5)
            self.add(
                f"/service-news/{n + 310}",
                title,
                f"<p>Lines {', '.join(a(f'/line/{lines[(n * 5 + k) % 28][0]}', lines[(n * 5 + k) % 28][0]) for k in range(n % 3 + 1))}</p>"
                + t.paras(1, 2),
            )
            news.append(f"<li>{a(f'/service-news/{n + 310}', title)}</li>")
        self.lists(
            "Service news",
            lambda p: "/service-news" + (f"?p={p}" if p > 1 else ""),
            news,
            15,
            pager_next,
        )
        self.add(
            "/fares",
            "Fares",
            self.t("fares").paras(2, 2)
            + table(
                [
                    (f"Zone {z}", f"{1.9 + z * 0.8:.2f}", f"{4.8 + z * 1.9:.2f}")
                    for z in range(1, 10)
                ]
            ),
        )
        self.add(
            "/", "Vale Transit", ul((f"/line/{no}", f"{no} {r[0]} - {r[-1]}") for no, r in lines)
        )

    def frame(self, title, main, target, head=""):
        return f"<!doctype html><html><head><title>{e(title)} - Vale Transit</title></head><body><ul><li>{a('/', 'Lines')}<li>{a('/stops', 'Stops')}<li>{a('/fares', 'Fares')}<li>{a('/service-news', 'Service news')}</ul><h1>{e(title)}</h1>{main}<p>All times without guarantee. Customer centre: Monday to Friday 7 to 18, phone 555 7000. Valid until 12 December 2026.</p></body></html>"
