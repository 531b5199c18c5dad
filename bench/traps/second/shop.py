"""A shop of lamps with filters, comparisons and carts."""

from __future__ import annotations

import re
from random import Random
from types import MappingProxyType

from bench.traps.second.base import Base, a, e, enc, num, pager_all, split, table, ul
from bench.traps.second.words import slug

CAP = str.capitalize


class Lamps(Base):
    host = "shop.lumenfold.test"
    CATS = (
        "pendant-lamps",
        "wall-lamps",
        "table-lamps",
        "floor-lamps",
        "spots",
        "outdoor",
        "bulbs",
        "led-strips",
        "dimmers",
        "spare-shades",
        "ceiling-lamps",
        "desk-lamps",
    )
    FACETS = MappingProxyType(
        {
            "colour": ("black", "white", "brass", "copper", "chrome", "oak", "red", "green"),
            "socket": ("e14", "e27", "gu10", "g9", "led"),
            "material": ("metal", "glass", "paper", "wood", "textile"),
            "price": ("0-25", "25-50", "50-100", "100-250", "250-"),
            "stock": ("yes",),
        }
    )

    def build(self):
        self.items = []
        brands = [
            self.t(f"b{n}", 0).surname() + b
            for n, b in enumerate(
                (
                    "",
                    " Lys",
                    " & Sons",
                    "lux",
                    "",
                    " Studio",
                    "",
                    " Light",
                    "",
                    "",
                    " Form",
                    "",
                    "ly",
                    "",
                )
            )
        ]
        for n in range(640):
            t = self.t(f"p{n}", 5)
            c, b = self.CATS[n % 12], brands[num(f"b{n}") % 14]
            f = {k: t.pick(v) for k, v in self.FACETS.items()}
            price = t.num(9, 420)
            name = f"{b} {CAP(t.rare())} {t.pick(('S', 'M', 'L', '20', '30', '45', 'Mini', 'Duo', ''))}".strip()
            url = f"/{c}/{slug(name)}-{10200 + n * 7}.html"
            self.items.append((url, name, c, b, f, price))
            desc = t.pick(
                (
                    f"{name} gives a warm light and fits every room.",
                    f"Timeless {c[:-1].replace('-', ' ')} by {b}.",
                    t.para(1),
                    t.para(2),
                    "",
                )
            )
            specs = [
                ("Colour", f["colour"]),
                ("Socket", f["socket"].upper()),
                ("Material", f["material"]),
                ("Height", f"{t.num(8, 190)} cm"),
                ("Power", f"{t.num(3, 60)} W"),
                ("Article", 10200 + n * 7),
            ]
            self.add(
                url,
                name,
                (lambda target, n=n, desc=desc, specs=specs: self.product(n, desc, specs, target)),
                f'<link rel="canonical" href="http://{self.host}{url}">' if n % 2 else "",
            )
        for c in self.CATS:
            mine = [i for i in range(640) if self.items[i][2] == c]
            last = -(-len(mine) // 18)
            for p in range(1, last + 1):
                self.add(
                    f"/{c}" + (f"?page={p}" if p > 1 else ""),
                    c.replace("-", " ").title(),
                    (
                        lambda target, c=c, p=p, mine=mine, last=last: (
                            self.tiles(mine[(p - 1) * 18 : p * 18])
                            + pager_all(
                                p, last, lambda n: f"/{c}" + (f"?page={n}" if n > 1 else "")
                            )
                            + self.filters(c, {})
                        )
                    ),
                )
        for b in dict.fromkeys(brands):
            mine = [i for i in range(640) if self.items[i][3] == b]
            self.add(
                f"/brands/{slug(b)}",
                b,
                self.t(f"brand {b}").paras(1, 2)
                + ul((self.items[i][0], self.items[i][1]) for i in mine[:25]),
            )
        self.add("/brands", "Brands", ul((f"/brands/{slug(b)}", b) for b in dict.fromkeys(brands)))
        for n, s in enumerate(
            (
                "delivery",
                "returns",
                "about",
                "light-colours-explained",
                "which-socket",
                "energy-label",
            )
        ):
            self.add(f"/help/{s}", s.replace("-", " ").capitalize(), self.t(f"help{n}").paras(3, 6))
        self.add(
            "/",
            "Lamps and lights",
            "<p>More than 600 lamps from stock.</p>" + self.tiles(range(0, 640, 50)),
        )

    def tiles(self, ns) -> str:
        return (
            "<div class=grid>"
            + "".join(
                f"<div class=tile>{a(self.items[n][0], self.items[n][1])}<span>{self.items[n][5]}.90</span></div>"
                for n in ns
            )
            + "</div>"
        )

    def product(self, n, desc, specs, target):
        _url, _name, _c, b, _f, price = self.items[n]
        _, q = split(target)
        rv = dict(q).get("rv", "")
        seen = f"{rv}.{n}" if rv else str(n)
        near = [(n * 7 + s) % 640 for s in (12, 24, 131)]
        return (
            f"<p class=price>{price}.90 incl. VAT</p><p>{desc}</p>{table(specs)}<p>Brand: {a('/brands/' + slug(b), b)}</p>"
            + a(
                f"/cart/add/{10200 + n * 7}?back={enc(target)}",
                "Add to cart",
                'rel="nofollow"' if n % 3 else "",
            )
            + " "
            + a(f"/wishlist/add/{10200 + n * 7}", "Remember")
            + "<h3>Compare with</h3>"
            + ul((f"/compare/{10200 + n * 7}/{10200 + m * 7}", self.items[m][1]) for m in near)
            + "<h3>Customers also viewed</h3>"
            + ul(
                (f"{self.items[m][0]}?rv={seen}", self.items[m][1])
                for m in (near[0], near[2], (n + 5) % 640)
            )
        )

    def filters(self, c, chosen) -> str:
        out = []
        for k, vs in self.FACETS.items():
            links = []
            for v in vs:
                now = {x: list(y) for x, y in chosen.items()}
                if v in now.get(k, []):
                    now[k].remove(v)
                else:
                    now.setdefault(k, []).append(v)
                links.append((self.furl(c, now), v))
            out.append(f"<h4>{k}</h4>" + ul(links))
        for k, vs in (
            ("sort", ("price_asc", "price_desc", "name", "new", "popular")),
            ("limit", ("36", "72")),
            ("view", ("list", "grid")),
        ):
            out.append(ul((self.furl(c, {**chosen, k: [v]}), v) for v in vs))
        return "<div class=filter>" + "".join(out) + "</div>"

    def furl(self, c, now) -> str:
        s = "&".join(f"{k}={','.join(v)}" for k, v in now.items() if v)
        return f"/{c}" + (f"?{s}" if s else "")

    def frame(self, title, main, target, head=""):
        return (
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{e(title)} | Lumenfold</title>{head}</head><body><div class=bar>Free delivery from 50.00 - 30 days return</div><header>"
            + a("/", "Lumenfold")
            + "<form action=/search><input name=q></form><nav>"
            + ul((f"/{c}", c.replace("-", " ").capitalize()) for c in self.CATS)
            + "</nav></header>"
            f"<div class=crumb>{a('/', 'Home')} / {e(title)}</div><main><h1>{e(title)}</h1>{main}</main><footer>"
            + ul(
                [
                    ("/brands", "Brands"),
                    *(
                        (f"/help/{s}", s.replace("-", " "))
                        for s in (
                            "delivery",
                            "returns",
                            "about",
                            "light-colours-explained",
                            "which-socket",
                            "energy-label",
                        )
                    ),
                ]
            )
            + "<p>Lumenfold Ltd. Pay by invoice, card or transfer. Newsletter: get 5.00 for your first order.</p></footer></body></html>"
        )

    def route(self, path, q, d, target):
        c = path[1:]
        if c in self.CATS and set(d) & {*self.FACETS, "sort", "limit", "view"}:
            chosen = {k: d[k].split(",") for k in d if k != "page"}
            if any(k not in (*self.FACETS, "sort", "limit", "view") for k in chosen):
                return None
            mine = [
                i
                for i in range(640)
                if self.items[i][2] == c
                and all(self.items[i][4][k] in v for k, v in chosen.items() if k in self.FACETS)
            ]
            Random(str(chosen.get("sort"))).shuffle(mine)
            p, size = (
                int(d["page"]) if d.get("page", "").isdigit() else 1,
                int(chosen.get("limit", ["18"])[0]),
            )
            last = max(1, -(-len(mine) // size))
            url = self.furl(c, chosen)
            main = (
                f"<p>{len(mine)} products</p>"
                + (
                    self.tiles(mine[(p - 1) * size : p * size])
                    or "<p>No product matches your selection.</p>"
                )
                + pager_all(p, last, lambda n: url + (f"&page={n}" if n > 1 else ""))
                + self.filters(c, chosen)
            )
            n = sum(len(v) for v in chosen.values())
            title = c.replace("-", " ").title()
            return (
                self.neutral(title, main, target)
                if n == 1 and set(chosen) <= set(self.FACETS)
                else self.trap("facets", title, main, target)
            )
        if m := re.fullmatch(r"/compare((?:/\d+)+)", path):
            ids = [(int(x) - 10200) // 7 for x in m[1].split("/")[1:]]
            if any(not 0 <= i < 640 for i in ids) or len(ids) > 5:
                return None
            rows = [[k, *(e(str(self.items[i][4][k])) for i in ids)] for k in self.FACETS] + [
                ["Price", *(f"{self.items[i][5]}.90" for i in ids)]
            ]
            more = (
                [
                    (
                        f"{path}/{10200 + (ids[-1] * 3 + s) % 640 * 7}",
                        "Add " + self.items[(ids[-1] * 3 + s) % 640][1],
                    )
                    for s in (7, 19, 55)
                ]
                if len(ids) < 4
                else []
            )
            less = (
                [
                    (
                        "/compare" + "".join(f"/{10200 + i * 7}" for i in ids if i != x),
                        "Remove " + self.items[x][1],
                    )
                    for x in ids
                ]
                if len(ids) > 2
                else []
            )
            return self.trap(
                "compare",
                "Compare products",
                table(rows, ["", *(a(self.items[i][0], self.items[i][1]) for i in ids)])
                + ul(more + less),
                target,
                "<meta name=robots content=noindex>",
            )
        if m := re.fullmatch(r"/(cart|wishlist)/add/(\d+)", path):
            i = (int(m[2]) - 10200) // 7
            if 0 <= i < 640:
                return self.trap(
                    "cart",
                    "Shopping cart",
                    f"<p>{e(self.items[i][1])} has been added.</p>{table([(self.items[i][1], 1, f'{self.items[i][5]}.90')])}{a(d.get('back') or '/', 'Continue shopping')}"
                    + self.tiles([(i * 11 + s) % 640 for s in (1, 2, 3)]),
                    target,
                )
        if "rv" in d and (name := self.find(path, [])):
            return self.show(name, target, "rv")
        return None
