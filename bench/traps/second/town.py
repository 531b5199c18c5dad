"""A town with events, news, services and council meetings."""

from __future__ import annotations

import re
from datetime import date, timedelta
from types import MappingProxyType

from bench.traps.second.base import Base, a, day, e, enc, num, pager_next, pager_window, table, ul
from bench.traps.second.words import slug

D = timedelta(days=1)


class City(Base):
    host = "www.nordhavn-city.test"
    DEPS = (
        "Citizens' office",
        "Roads and parks",
        "Schools",
        "Culture",
        "Fire brigade",
        "Planning",
        "Social affairs",
        "Environment",
        "Finance",
        "Sports",
        "Registry",
        "Public order",
        "Harbour",
        "Libraries",
        "Youth",
        "Housing",
    )
    REC = MappingProxyType(
        {
            0: "Consultation hour of the mayor",
            2: "Toddler reading in the library",
            5: "Weekly market, town square",
        }
    )

    def build(self):
        self.events: dict[date, list] = {}
        ev = []
        for n in range(78):
            t = self.t(f"ev{n}")
            d = date(2026, 1, 5) + timedelta(days=n * 53 % 350)
            title = t.title()
            url = f"/events/{4100 + n * 3}-{slug(title)}"
            place = t.pick(
                ("Town hall", "Old cinema", "Library", "Park stage", "Gymnasium", "Harbour square")
            )
            hour = t.num(9, 20)
            self.add(
                url,
                title,
                f"<dl><dt>Date</dt><dd>{d:%A, %d %B %Y}, {hour}:00</dd><dt>Place</dt><dd>{place}</dd></dl>"
                + t.paras(1, 3)
                + (
                    f"<p>Organised by {t.person()}. Tickets {t.num(3, 30)}.00 at the box office.</p>"
                    if n % 3
                    else "<p>Free entry.</p>"
                ),
            )
            self.events.setdefault(d, []).append((url, title))
            ev.append(
                (
                    d,
                    f'<div class="ev"><time>{d:%d.%m.%Y}</time> {a(url, title)} <span>{place}</span></div>',
                )
            )
        self.lists(
            "Events",
            lambda p: "/events" + (f"?page={p}" if p > 1 else ""),
            [x for _, x in sorted(ev)],
            20,
            pager_next,
        )
        news, self.latest = [], []
        for n in range(165):
            t = self.t(f"news{n}")
            d = date(2026, 11, 28) - timedelta(days=n * 6 + num(n) % 4)
            title = t.title(3, 7)
            url = f"/news/{d:%Y/%m}/{slug(title)}"
            dep = self.DEPS[num(f"d{n}") % 16]
            self.add(
                url,
                title,
                f"<p class=meta>{d:%d %B %Y} | {e(dep)}</p><p><b>{t.para(2)}</b></p>"
                + t.paras(1, 6)
                + f"<p>Press contact: {t.person()}, {a('/departments/' + slug(dep), dep)}</p>",
            )
            self.latest.append((url, title))
            news.append(
                f"<article><h3>{a(url, title)}</h3><p>{d:%d.%m.%Y} - {t.sentence()}</p></article>"
            )
        self.lists(
            "News", lambda p: "/news" + (f"?page={p}" if p > 1 else ""), news, 12, pager_window
        )
        services: dict[str, list] = {d: [] for d in self.DEPS}
        for n in range(100):
            t = self.t(f"s{n}", 6)
            dep = self.DEPS[n % 16]
            title = (
                t.pick(("Apply for", "Register", "Report", "Renew", "Request", "Permit for"))
                + " "
                + t.word()
                + " "
                + t.rare()
            )
            url = f"/services/{slug(title)}"
            services[dep].append((url, title))
            self.add(
                url,
                title,
                f"<p>{t.para(1 + n % 3)}</p>"
                + table(
                    [
                        ("Fee", f"{t.num(0, 80)}.00"),
                        ("Form", f"NH-{t.num(100, 999)}"),
                        ("Processing", f"{t.num(1, 8)} weeks"),
                        ("Room", t.num(1, 340)),
                    ]
                )
                + f"<p>Responsible: {a('/departments/' + slug(dep), dep)}</p>",
            )
        for n, dep in enumerate(self.DEPS):
            t = self.t(f"dep{n}")
            self.add(
                f"/departments/{slug(dep)}",
                dep,
                f"<p>Head: {t.person()}, phone {t.num(100, 999)}-{t.num(10, 99)}</p>"
                + t.paras(1, 2)
                + "<h3>Services</h3>"
                + ul(services[dep]),
            )
        self.add(
            "/departments", "Departments", ul((f"/departments/{slug(d)}", d) for d in self.DEPS)
        )
        ms = []
        for n in range(64):
            t = self.t(f"m{n}")
            d = date(2026, 11, 25) - timedelta(days=21 * n)
            body = t.pick(
                ("Council", "Building committee", "Finance committee", "School committee")
            )
            url = f"/council/meetings/{d}"
            rows = [
                (
                    f"{i}.",
                    e(t.title(3, 8)),
                    t.pick(("adopted", "rejected", "postponed", "noted")),
                    f"{t.num(0, 31)}:{t.num(0, 20)}",
                )
                for i in range(1, t.num(4, 16))
            ]
            self.add(
                url,
                f"{body}, {d:%d %B %Y}",
                f"<p>Chair: {t.person()}. Absent: {t.person()}.</p>"
                + table(rows, ("Item", "Subject", "Decision", "Vote")),
            )
            ms.append(f"<p>{a(url, f'{body} {d:%d.%m.%Y}')}</p>")
        self.lists(
            "Council meetings",
            lambda p: "/council/meetings" + (f"/page/{p}" if p > 1 else ""),
            ms,
            25,
            pager_next,
        )
        t = self.t("home")
        self.add(
            "/",
            "Welcome to Nordhavn",
            t.paras(2, 2)
            + ul(self.latest[:6])
            + ul(
                [
                    ("/events", "Events"),
                    ("/calendar", "Calendar of events"),
                    ("/register/documents", "Register of documents"),
                    ("/council/meetings", "Council meetings"),
                ]
            ),
        )

    def frame(self, title, main, target, head=""):
        j = "&" if "?" in target else "?"
        base = (
            re.sub(r"([?&])(?:textsize|contrast)=\w+", r"\1", target)
            .replace("?&", "?")
            .replace("&&", "&")
            .rstrip("?&")
        )
        j = "&" if "?" in base else "?"
        con = "contrast=high" in target
        size = re.search(r"textsize=(\w+)", target)
        keep = "&contrast=high" if con else ""
        tools = [
            (f"{base}{j}textsize={s}{keep}", f"A{p}")
            for s, p in (("m", ""), ("l", "+"), ("xl", "++"))
        ]
        tools.append(
            (
                f"{base}{j}"
                + ("textsize=" + size[1] if size else "")
                + ("" if con else ("&" if size else "") + "contrast=high"),
                "Contrast",
            )
        )
        return (
            f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{e(title)} - City of Nordhavn</title>{head}</head><body><div id=tools>"
            + ul(tools)
            + f"</div><header>{a('/', 'City of Nordhavn')}<nav>"
            + ul(
                [
                    ("/news", "News"),
                    ("/departments", "Departments"),
                    ("/events", "Events"),
                    ("/calendar", "Calendar"),
                    ("/council/meetings", "Council"),
                    ("/register/documents", "Documents"),
                ]
            )
            + f"</nav></header><div class=crumbs>{a('/', 'Home')} &gt; {e(title)}</div><main><h1>{e(title)}</h1>{main}</main><aside><h2>Latest news</h2>{ul(self.latest[:4])}"
            f"<p>Town hall, Market street 1. Opening hours: Monday to Friday 8 to 12, Thursday also 14 to 18.</p></aside><footer>"
            + a(f"/feedback?from={enc(target)}", "Was this page helpful?")
            + " <p>City of Nordhavn. All information without guarantee. Imprint, privacy, accessibility statement. Phone 555 1200.</p></footer></body></html>"
        )

    def route(self, path, q, d, target):
        if "textsize" in d or "contrast" in d:
            q = [(k, v) for k, v in q if k not in ("textsize", "contrast")]
            d = dict(q)
            if name := self.find(path, q):
                return self.show(name, target, "textsize")
        if path == "/calendar":
            return self.calendar(d, target)
        if path == "/feedback":
            return self.trap(
                "feedback",
                "Feedback",
                f"<p>Your message about the page {e(d.get('from', ''))}</p><form method=post><textarea></textarea><button>Send</button></form>",
                target,
            )
        if path == "/register/documents":
            return self.register(d, target)
        return None

    def calendar(self, d, target):
        at = day(d.get("date", "2026-11-30")) or date(2026, 11, 30)
        view = d.get("view", "month")
        n = {"day": 1, "week": 7}.get(view, 31)
        first = at.replace(day=1) if view == "month" else at
        if not 2 < first.year < 9990:
            return None
        rows, has = [], False
        for i in range(n):
            x = first + i * D
            if view == "month" and x.month != first.month:
                break
            mine = self.events.get(x, [])
            has |= bool(mine)
            rec = self.REC.get(x.weekday(), "")
            rows.append((a(f"/calendar?view=day&date={x}", x.day), ul(mine) if mine else "", rec))
        prev = first - D if view == "month" else first - n * D
        nxt = first + (32 if view == "month" else n) * D
        nav = [
            (
                f"/calendar?view={view}&date={prev.replace(day=1) if view == 'month' else prev}",
                "earlier",
            ),
            (
                f"/calendar?view={view}&date={nxt.replace(day=1) if view == 'month' else nxt}",
                "later",
            ),
        ]
        nav += [(f"/calendar?view={v}&date={at}", v) for v in ("day", "week", "month")]
        title = (
            f"Calendar: {first:%B %Y}"
            if view == "month"
            else f"Calendar: {view} of {first:%d %B %Y}"
        )
        main = table(rows, ("Day", "Events", "Every week")) + ul(nav)
        if has and view == "month":
            return self.neutral(title, main, target)
        return self.trap("calendar", title, main, target)

    def register(self, d, target):
        a1, b1 = day(d.get("from", "")), day(d.get("to", ""))
        if not d:
            m = [
                (f"/register/documents?from={x}&to={x + 29 * D}", f"{x:%B %Y}")
                for x in (date(2026, i, 1) for i in range(1, 12))
            ]
            return self.neutral("Register of documents", "<p>Choose a period.</p>" + ul(m), target)
        if not a1 or not b1 or not 1800 < a1.year < 2400:
            return None
        span = max(1, (b1 - a1).days + 1)
        docs = [
            u
            for u in self.made
            if u.startswith("/council/meetings/2") and a1 <= date.fromisoformat(u[-10:]) <= b1
        ]
        shown = (
            "".join(f"<p>{a(u, self.made[u][0])}</p>" for u in docs[:30])
            or "<p>No documents in this period.</p>"
        )
        nav = [
            (f"/register/documents?from={a1 - span * D}&to={a1 - D}", "Previous period"),
            (f"/register/documents?from={b1 + D}&to={b1 + span * D}", "Next period"),
            (f"/register/documents?from={a1 - 7 * D}&to={b1 + 7 * D}", "Widen"),
            (f"/register/documents?from={a1}&to={a1 + (span // 2) * D}", "First half"),
            (f"/register/documents?from={a1 + 10 * D}&to={b1 + 10 * D}", "10 days later"),
        ]
        return self.trap(
            "register",
            f"Documents from {a1} to {b1}",
            f"<p>{len(docs)} documents</p>{shown}{ul(nav)}",
            target,
        )
