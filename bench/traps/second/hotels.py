"""Hotels with rates by date and links out."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import urlencode

from bench.traps.second.base import Base, a, day, e, num, pager_all, sha, split, table, ul
from bench.traps.second.words import slug

D = timedelta(days=1)
CAP = str.capitalize


class Hotels(Base):
    host = "en.castellane-hotels.test"

    def build(self):
        self.cities = [self.t(f"ci{n}", 0).place() for n in range(26)]
        self.h, by = [], {}
        for n in range(250):
            t = self.t(f"h{n}", 8)
            city = self.cities[num(f"c{n}") % 26]
            name = t.pick(
                (
                    f"Hotel {t.surname()}",
                    f"{t.surname()} Inn",
                    f"The {CAP(t.rare())}",
                    f"{city} Palace {t.rare().capitalize()}",
                    f"Pension {t.surname()}",
                    f"Apartments {t.surname()}",
                )
            )
            url = f"/hotel/{slug(city)}/{slug(name)}.html"
            while url in {x[0] for x in self.h}:
                url = url[:-5] + f"-{n}.html"
            self.h.append((url, name, city, t.num(1, 5), t.num(40, 300)))
            by.setdefault(city, []).append(n)
            fac = ", ".join(
                t.r.sample(
                    (
                        "free parking",
                        "lift",
                        "sauna",
                        "bar",
                        "breakfast",
                        "pets allowed",
                        "bicycle rental",
                        "pool",
                        "family rooms",
                        "air conditioning",
                    ),
                    t.num(2, 7),
                )
            )
            txt = (
                t.paras(1, 3)
                + f"<p>Facilities: {fac}.</p><p>{t.surname()} street {t.num(1, 120)}, {city}. {t.num(4, 140)} rooms, {'*' * self.h[-1][3]}.</p>"
                + "".join(
                    f"<blockquote>{t.para(t.num(1, 2))} <cite>{t.person()}</cite></blockquote>"
                    for _ in range(t.num(0, 4))
                )
            )
            self.add(url, name, (lambda target, n=n, txt=txt: txt + self.offers(n, target)))
        for c, mine in by.items():
            self.lists(
                f"Hotels in {c}",
                lambda p, c=c: f"/city/{slug(c)}" + (f"/p{p}" if p > 1 else ""),
                [
                    f"<div>{a(self.h[n][0], self.h[n][1])} {'*' * self.h[n][3]} from {self.h[n][4]}.00</div>"
                    for n in mine
                ],
                10,
                pager_all,
                f"<p>{self.t(c).para(3)}</p>",
            )
        guide = []
        for n in range(48):
            t = self.t(f"g{n}")
            title = t.title(3, 6)
            self.add(
                f"/guide/{slug(title)}",
                title,
                t.paras(4, 9) + a(f"/city/{slug(self.cities[n % 26])}", self.cities[n % 26]),
            )
            guide.append((f"/guide/{slug(title)}", title))
        self.add("/guide", "Travel guide", ul(guide))
        self.add("/", "Hotels of the Castellane coast", ul((f"/city/{slug(c)}", c) for c in by))

    def offers(self, n, target):
        _, q = split(target)
        d = dict(q)
        ci = day(d.get("checkin", "2026-12-01")) or date(2026, 12, 1)
        nights = max(1, min(30, ((day(d.get("checkout", "")) or ci + D) - ci).days))
        ad, cur = d.get("adults", "2"), d.get("cur", "EUR")
        url = self.h[n][0]

        def u(c, k, ad, cur):
            return f"{url}?" + urlencode(
                {"checkin": str(c), "checkout": str(c + k * D), "adults": ad, "cur": cur}
            )

        rows = (
            [
                (x, f"{self.h[n][4] * k // 2 * nights} {cur}")
                for x, k in (("Single", 2), ("Double", 3), ("Suite", 5))
            ]
            if d
            else []
        )
        links = [
            (u(ci + D, nights, ad, cur), "next day"),
            (u(ci, nights + 1, ad, cur), "one night more"),
            (u(ci + 7 * D, nights, ad, cur), "a week later"),
        ]
        links += [(u(ci, nights, x, cur), f"{x} adults") for x in "1234" if x != ad] + [
            (u(ci, nights, ad, x), x) for x in ("EUR", "USD", "GBP", "CHF") if x != cur
        ]
        return (
            "<h3>Rooms and rates</h3>"
            + table(rows)
            + ul(links)
            + "<p>"
            + a(f"/out/{sha('out' + target, 20)}", "Website of the hotel")
            + "</p>"
            + "<h3>Nearby</h3>"
            + ul(
                (self.h[m][0] + ("?" + urlencode(d) if d else ""), self.h[m][1])
                for m in ((n * 3 + k) % 250 for k in (1, 7))
            )
        )

    def frame(self, title, main, target, head=""):
        return (
            f"<!doctype html><html lang=en><head><title>{e(title)} - Castellane Hotels</title>{head}</head><body><div class=nav>{a('/', 'Castellane Hotels')} {a('/guide', 'Guide')} <span>Best price promise</span></div><article><h1>{e(title)}</h1>{main}</article>"
            "<footer><p>Castellane Hotels compares prices of more than 40 partners. Prices per night with taxes.</p><p>Terms - Privacy - Cookies - For hotel owners</p></footer></body></html>"
        )

    def route(self, path, q, d, target):
        if path.startswith("/out/"):
            return self.trap(
                "out",
                "You are leaving Castellane Hotels",
                "<p>You are being forwarded to the website of our partner. Please wait a moment.</p>"
                + ul(
                    [
                        (f"/out/{sha(target, 20)}", "Click here if nothing happens"),
                        ("/", "Back to start"),
                    ]
                ),
                target,
            )
        if set(d) & {"checkin", "checkout", "adults", "cur"} and (name := self.find(path, [])):
            return self.show(name, target, "dates")
        return None
