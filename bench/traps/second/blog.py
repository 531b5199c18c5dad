"""A blog with shared links, relative links and spun text."""

from __future__ import annotations

import re
from datetime import date, timedelta
from random import Random

from bench.traps.second.base import Base, a, e, num, ul
from bench.traps.second.words import Text, slug

CAP = str.capitalize


class Blog(Base):
    host = "blog.fennick-and-daughters.test"
    CATS = ("sewing", "quilts", "patterns", "kitchen", "garden-days", "travel", "family", "reviews")

    def build(self):
        self.posts, months, self.text = [], {}, []
        tags: dict[str, list] = {}
        names = [self.t(f"tag{n}", 0).rare() for n in range(44)]
        for n in range(310):
            t = self.t(f"po{n}")
            d = date(2026, 11, 20) - timedelta(days=n * 8 + num(f"x{n}") % 6)
            title = t.title(2, 7)
            url = f"/{d:%Y/%m/%d}/{slug(title)}/"
            cat = self.CATS[num(f"cat{n}") % 8]
            mine = t.r.sample(names, t.num(0, 4))
            ex = t.sentence()
            self.posts.append((url, title, cat, ex))
            for x in mine:
                tags.setdefault(x, []).append(n)
            months.setdefault(f"/{d:%Y/%m}/", []).append(n)
            body = t.paras(1, 8)
            if n < 25:
                self.text += re.sub("<[^>]+>", " ", body).split()
            com = "".join(
                f"<li><b>{t.person()}</b>: {t.para(t.num(1, 3))}</li>"
                for _ in range(int(6 * t.r.random() ** 2))
            )
            main = (
                f"<p>{d:%B %d, %Y}, in {a(f'/category/{cat}/', cat)}</p>{body}"
                + (f"<h3>Comments</h3><ol>{com}</ol>" if com else "")
                + "<p>"
                + ", ".join(a(f"/tag/{x}/", x) for x in mine)
                + "</p>"
            )
            self.add(
                url,
                title,
                main
                + "<p>"
                + (a(self.posts[n - 1][0], self.posts[n - 1][1]) if n else "")
                + "</p>",
                f'<link rel="canonical" href="http://{self.host}{url}">',
            )
        for c in self.CATS:
            mine = [n for n in range(310) if self.posts[n][2] == c]
            last = -(-len(mine) // 10)
            for p in range(1, last + 1):
                self.add(
                    self.curl(c, p),
                    CAP(c),
                    self.listing(mine[p * 10 - 10 : p * 10])
                    + (a(self.curl(c, p - 1), "Newer posts") if p > 1 else "")
                    + " "
                    + a(self.curl(c, p + 1), "Older posts"),
                )
        self.last = {c: -(-sum(x[2] == c for x in self.posts) // 10) for c in self.CATS}
        for x, mine in tags.items():
            self.add(f"/tag/{x}/", f"Tag: {x}", self.listing(mine))
        for m, mine in months.items():
            self.add(m, f"Archive {m[6:8]}/{m[1:5]}", self.listing(mine))
        self.months = list(months)
        for p in ("about-us", "contact", "shop-hours", "links"):
            self.add(f"/{p}/", p.replace("-", " ").capitalize(), self.t(p).paras(2, 4))
        self.add(
            "/",
            "Fennick & Daughters",
            self.listing(range(10)) + "<h3>Archive</h3>" + ul((m, m[1:-1]) for m in months),
        )
        nxt: dict[str, list] = {}
        for x, y in zip(self.text, self.text[1:], strict=False):
            nxt.setdefault(x, []).append(y)
        self.chain = nxt

    def curl(self, c, p):
        return f"/category/{c}/" + (f"page/{p}/" if p > 1 else "")

    def listing(self, ns):
        return "".join(
            f"<article><h2>{a(self.posts[n][0], self.posts[n][1])}</h2><p>{self.posts[n][3]} {a(self.posts[n][0], 'Read more')}</p></article>"
            for n in ns
        )

    def markov(self, r, n):
        w, out = r.choice(self.text), []
        for _ in range(n):
            out.append(w)
            w = r.choice(self.chain.get(w) or self.text)
        return " ".join(out)

    def frame(self, title, main, target, head=""):
        path = target.partition("?")[0]
        share = ""
        if path in self.made and path.count("/") >= 5:
            j = f"{target}&" if "?" in target else path + "?"
            share = "<h4>Share this</h4>" + ul(
                (f"{j}share={s}&nb={len(target) % 7}", s)
                for s in ("email", "pinterest", "facebook", "print")
            )
        return (
            f"<!DOCTYPE html><html lang=en-US><head><title>{e(title)} - Fennick &amp; Daughters</title>{head}</head><body class=post><header><h1>{a('/', 'Fennick & Daughters')}</h1><p>Thread, pots and everything between</p></header>"
            f"<div id=primary><h2>{e(title)}</h2>{main}{share}</div><div id=secondary><h3>Categories</h3>"
            + ul((f"/category/{c}/", c) for c in self.CATS)
            + "<h3>From the shop</h3>"
            + ul(
                [
                    ("about-us/", "About us"),
                    ("contact/", "Contact"),
                    ("category/sewing/", "Sewing corner"),
                ]
            )
            + ul([("/shop-hours/", "Shop hours"), ("/links/", "Links")])
            + "<h3>Recent</h3>"
            + ul(x[:2] for x in self.posts[:5])
            + '</div><footer>Proudly hand made. Subscribe by e-mail. <a href="/meadow/" style="display:none">meadow</a></footer></body></html>'
        )

    def route(self, path, q, d, target):
        if path.startswith("/meadow"):
            r = Random(target)
            t = Text(self.host, target, 0)
            links = [
                (
                    f"/meadow/{r.choice(self.text).strip('.,').lower()}/{r.choice(self.text).strip('.,').lower()}-{r.choice(self.text).strip('.,').lower()}/",
                    self.markov(r, 3),
                )
                for _ in range(9)
            ]
            del t
            return self.trap(
                "markov",
                CAP(self.markov(r, 4)),
                "".join(
                    f"<p>{e(self.markov(r, r.randint(40, 110)))}.</p>"
                    for _ in range(r.randint(2, 4))
                )
                + ul(links),
                target,
            )
        if m := re.fullmatch(r"/category/([\w-]+)/page/(\d+)/", path):
            c, p = m[1], int(m[2])
            if c in self.CATS and p > self.last[c]:
                mine = [n for n in range(310) if self.posts[n][2] == c]
                return self.trap(
                    "clamped",
                    CAP(c),
                    self.listing(mine[(self.last[c] - 1) * 10 :])
                    + a(self.curl(c, p - 1), "Newer posts")
                    + " "
                    + a(self.curl(c, p + 1), "Older posts"),
                    target,
                )
        if "share" in d or "nb" in d:
            name = self.find(path, [])
            return self.show(name, target, "share") if name else None
        if self.find(path, q) or q:
            return None
        # the server rewrites everything to index.php, which takes the longest ending that it knows
        parts = path.strip("/").split("/")
        if not path.endswith("/"):
            return None
        for i in range(1, len(parts)):
            if name := self.find("/" + "/".join(parts[i:]) + "/", []):
                return self.show(name, target, "relative")
        return None
