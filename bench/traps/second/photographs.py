"""An archive of photographs with tags and a map."""

from __future__ import annotations

import re

from bench.traps.second.base import Base, a, e, num, pager_window, sha, ul
from bench.traps.second.words import slug

CAP = str.capitalize


class Photos(Base):
    host = "www.ashgrove-archive.test"
    TAGS = (
        "harbour",
        "boats",
        "street",
        "market",
        "children",
        "portrait",
        "tram",
        "railway",
        "church",
        "bridge",
        "river",
        "winter",
        "flood",
        "school",
        "wedding",
        "parade",
        "factory",
        "mill",
        "horse",
        "shop",
        "fishing",
        "beach",
        "farm",
        "harvest",
        "mountain",
        "forest",
        "hospital",
        "fire",
        "soldiers",
        "band",
        "theatre",
        "football",
        "bicycle",
        "car",
        "bakery",
        "brewery",
        "canal",
        "castle",
        "garden",
        "skyline",
    )

    def build(self):
        self.ph = []
        colls = [
            self.t(f"c{n}", 0).surname() + c
            for n, c in enumerate(
                (
                    " collection",
                    " family albums",
                    " studio",
                    " press archive",
                    " bequest",
                    " glass plates",
                    " postcards",
                    " slides",
                )
            )
        ]
        for n in range(430):
            t = self.t(f"ph{n}", 4)
            tags = t.r.sample(self.TAGS, t.num(2, 5))
            year = t.num(1865, 1979)
            title = t.pick(
                (
                    f"{CAP(tags[0])} in {t.place()}",
                    f"{CAP(tags[0])}, {year}",
                    f"{t.person()} with {tags[1]}",
                    f"View of {t.place()}",
                    f"Unknown {tags[1]}",
                    f"{CAP(tags[1])} at {t.surname()} street",
                )
            )
            self.ph.append(
                (f"/photo/AG-{n * 13 + 1007:05}", title, year, tags, num(f"coll{n}") % 8, t)
            )
            note = t.pick(("", "", f"<p>{t.sentence()}</p>", f"<p>{t.para(2)}</p>"))
            self.add(self.ph[-1][0], title, (lambda target, n=n, note=note: self.photo(n, note)))
        for i, c in enumerate(colls):
            mine = [n for n in range(430) if self.ph[n][4] == i]
            self.lists(
                c,
                lambda p, i=i: f"/collection/{i + 1}" + (f"/{p}" if p > 1 else ""),
                [self.thumb(n) for n in mine],
                15,
                pager_window,
                f"<p>{self.t(c).para(2)}</p>",
            )
        for tag in self.TAGS:
            mine = [n for n in range(430) if tag in self.ph[n][3]]
            self.add(
                f"/browse/{tag}", CAP(tag), "".join(self.thumb(n) for n in mine) + self.chips([tag])
            )
        ess = []
        for n in range(32):
            t = self.t(f"essay{n}", 20)
            title = t.title(3, 7)
            url = f"/stories/{slug(title)}"
            self.add(
                url,
                title,
                t.paras(6, 14) + "".join(self.thumb((n * 29 + k) % 430) for k in range(4)),
            )
            ess.append((url, title))
        self.add("/stories", "Stories from the archive", ul(ess))
        self.add("/about", "About the archive", self.t("about").paras(4, 4))
        self.add(
            "/",
            "Ashgrove Photographic Archive",
            self.t("h").paras(1, 1)
            + ul((f"/collection/{i + 1}", c) for i, c in enumerate(colls))
            + ul((f"/browse/{x}", x) for x in self.TAGS),
        )

    def thumb(self, n):
        return (
            f'<figure><img src="/thumbs/{n}.jpg" alt="">{a(self.ph[n][0], self.ph[n][1])}</figure>'
        )

    def at(self, n):
        return 55 + num(f"lat{n}") % 400 / 10000, 12 + num(f"lon{n}") % 400 / 10000

    def photo(self, n, note):
        url, title, year, tags, c, _ = self.ph[n]
        lat, lon = self.at(n)
        return (
            f'<img src="/img/{n}.jpg" alt="{e(title)}"><p>{year} | {url[7:]} | {a(f"/collection/{c + 1}", "Collection")}</p>{note}<p>Tags: '
            + ", ".join(a(f"/browse/{x}", x) for x in tags)
            + "</p>"
            + a(f"/map/15/{lat:.4f}/{lon:.4f}", "Show on map")
            + " "
            + a(f"/slideshow?set={sha(n, 8)}&i=1", "Start slideshow")
            + "<div>"
            + a(self.ph[(n + 1) % 430][0], "Next")
            + " "
            + a(self.ph[(n - 1) % 430][0], "Previous")
            + "</div>"
        )

    def chips(self, tags):
        have = set.intersection(
            *({x for n in range(430) if t in self.ph[n][3] for x in self.ph[n][3]} for t in tags)
        )
        return "<h4>Refine</h4>" + ul(
            (f"/browse/{'+'.join([*tags, x])}", f"+ {x}")
            for x in self.TAGS
            if x in have and x not in tags
        )

    def frame(self, title, main, target, head=""):
        return (
            f"<html lang=en><head><title>{e(title)} :: Ashgrove Archive</title>{head}</head><body><h5>{a('/', 'Ashgrove Archive')} {a('/stories', 'Stories')} {a('/about', 'About')}</h5>"
            f"<h1>{e(title)}</h1><div id=c>{main}</div><small>Images may be used for private purposes. For prints write to the archive, Mill lane 4, Ashgrove.</small></body></html>"
        )

    def route(self, path, q, d, target):
        if path.startswith("/browse/") and "+" in path.replace("%2B", "+").replace(" ", "+"):
            tags = path[8:].replace("%2B", "+").replace("%20", "+").split("+")
            if not set(tags) <= set(self.TAGS):
                return None
            mine = [n for n in range(430) if set(tags) <= set(self.ph[n][3])]
            return self.trap(
                "tags",
                " + ".join(tags),
                f"<p>{len(mine)} photographs</p>"
                + "".join(self.thumb(n) for n in mine)
                + self.chips(tags),
                target,
            )
        if path == "/slideshow":
            s, i = d.get("set", ""), int(d["i"]) if d.get("i", "").isdigit() else 1
            n = num(f"{s}{i % 40}") % 430
            nav = [
                (f"/slideshow?set={s}&i={i + 1}", "Next picture"),
                (f"/slideshow?set={sha(target, 8)}&i=1", "Shuffle"),
                (self.ph[n][0], "Details"),
            ]
            return self.trap(
                "slideshow",
                f"Slideshow: picture {i}",
                f'<img src="/img/{n}.jpg"><p>{e(self.ph[n][1])}, {self.ph[n][2]}</p>{ul(nav)}',
                target,
            )
        if m := re.fullmatch(r"/map/(\d+)/(-?[\d.]+)/(-?[\d.]+)", path):
            try:
                z, lat, lon = int(m[1]), float(m[2]), float(m[3])
            except ValueError:
                return None
            if not 3 <= z <= 19 or abs(lat) > 85 or abs(lon) > 180:
                return None
            s = 60 / 2**z
            mine = [
                n
                for n in range(430)
                if abs(self.at(n)[0] - lat) < s and abs(self.at(n)[1] - lon) < s
            ]
            nav = [
                (f"/map/{z}/{lat + y * s:.4f}/{lon + x * s:.4f}", t)
                for y, x, t in ((1, 0, "north"), (-1, 0, "south"), (0, 1, "east"), (0, -1, "west"))
            ] + [
                (f"/map/{z + k}/{lat:.4f}/{lon:.4f}", t)
                for k, t in ((1, "closer"), (-1, "farther"))
            ]
            return self.trap(
                "map",
                f"Map {lat:.4f}, {lon:.4f}",
                f"<p>{len(mine)} photographs in this view</p>"
                + "".join(self.thumb(n) for n in mine[:12])
                + ul(nav),
                target,
            )
        return None
