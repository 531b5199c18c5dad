"""A forum with sessions, profiles and a search."""

from __future__ import annotations

import re
from datetime import date, timedelta
from random import Random

from bench.traps.second.base import Base, a, e, enc, num, sha, table, ul
from bench.traps.second.words import Text


class Boards(Base):
    host = "boards.velomech.test"
    FORUMS = (
        "Announcements",
        "Frames",
        "Wheels",
        "Gears",
        "Brakes",
        "Electrics",
        "Touring",
        "Restoration",
        "Tools",
        "Marketplace",
        "Racing",
        "Off topic",
    )

    def build(self):
        users = [self.t(f"u{n}", 0) for n in range(160)]
        self.users = [
            t.pick(
                (
                    t.person().replace(" ", "_"),
                    t.rare() + str(t.num(1, 99)),
                    t.surname().lower(),
                    t.rare() + "_" + t.rare(),
                )
            )
            for t in users
        ]
        self.threads = []
        post = 9000
        for n in range(300):
            t = self.t(f"t{n}")
            f = num(f"f{n}") % 12 + 1
            title = t.pick(("", "Re: ", "Help! ", "")) + t.title(2, 6)
            count = 1 + int(24 * t.r.random() ** 3) + (n % 17 == 0) * 20
            posts = []
            for _ in range(count):
                post += t.num(1, 9)
                posts.append((post, t.num(0, 159), t.num(1, 6)))
            self.threads.append((f, 2000 + n * 3, title, posts))
            last = -(-count // 12)
            for p in range(last):
                self.add(self.turl(n, p), title, (lambda target, n=n, p=p: self.thread(n, p)))
        self.where = {
            str(x[0]): (n, i // 12)
            for n, th in enumerate(self.threads)
            for i, x in enumerate(th[3])
        }
        for f in range(1, 13):
            mine = [n for n, x in enumerate(self.threads) if x[0] == f]
            last = max(1, -(-len(mine) // 20))
            for p in range(last):
                rows = "".join(
                    f"<tr><td>{a(self.turl(n, 0), self.threads[n][2])}</td><td>{self.users[self.threads[n][3][0][1]]}</td><td>{len(self.threads[n][3]) - 1}</td></tr>"
                    for n in mine[p * 20 : p * 20 + 20]
                )
                pages = " ".join(
                    a(f"/viewforum.php?f={f}" + (f"&start={x * 20}" if x else ""), x + 1)
                    for x in range(last)
                    if x != p
                )
                self.add(
                    f"/viewforum.php?f={f}" + (f"&start={p * 20}" if p else ""),
                    self.FORUMS[f - 1],
                    f"<table>{rows}</table>{pages}",
                )
        self.add(
            "/",
            "Board index",
            "<table>"
            + "".join(
                f"<tr><td>{a(f'/viewforum.php?f={f}', x)}<br>{self.t(x).sentence()}</td></tr>"
                for f, x in enumerate(self.FORUMS, 1)
            )
            + "</table>",
        )
        self.add("/faq.php", "Frequently asked questions", self.t("faq").paras(8, 8))
        self.add("/rules.php", "Board rules", self.t("rules").paras(5, 5))

    def turl(self, n, p):
        f, tid, *_ = self.threads[n]
        return f"/viewtopic.php?f={f}&t={tid}" + (f"&start={p * 12}" if p else "")

    def thread(self, n, p):
        f, tid, title, posts = self.threads[n]
        out = []
        for pid, u, k in posts[p * 12 : p * 12 + 12]:
            t = self.t(f"post{pid}", 4)
            text = t.pick(
                (
                    "Thanks!",
                    "+1",
                    t.sentence(),
                    t.para(k),
                    t.para(k),
                    t.para(k),
                    f"<blockquote>{t.sentence()}</blockquote>{t.sentence()}",
                )
            )
            out.append(
                f'<div id=p{pid}><a href="/memberlist.php?mode=viewprofile&amp;u={u * 301 + 50}">{self.users[u]}</a> '
                f"{date(2021, 1, 1) + timedelta(days=pid - 9000):%a %b %d, %Y} {pid % 12 + 1}:{pid % 60:02} pm<p>{text}</p>"
                + a(f"/posting.php?mode=quote&f={f}&p={pid}", "Quote")
                + " "
                + a(f"/viewtopic.php?p={pid}#p{pid}", "#")
                + " "
                + a(f"/report.php?f={f}&p={pid}", "Report")
                + "</div>"
            )
        last = -(-len(posts) // 12)
        pages = " ".join(a(self.turl(n, x), x + 1) for x in range(last) if x != p)
        words = title.lower().split()[:3]
        return (
            "".join(out)
            + f"<div>Page {p + 1} of {last} {pages}</div>"
            + a(f"/posting.php?mode=reply&f={f}&t={tid}", "Post reply")
            + "<h4>Similar topics</h4>"
            + ul((f"/search.php?keywords={enc(w)}", w) for w in words)
        )

    def sid(self, target):
        m = re.search(r"[?&]sid=(\w{32})", target)
        return m[1] if m and num("sid" + target) % 7 else sha("sid" + target)

    def frame(self, title, main, target, head=""):
        sid = self.sid(target)
        body = (
            f"<!DOCTYPE html><html><head><title>{e(title)} - Velomech Boards</title>{head}</head><body><div class=headerbar>{a('/', 'Velomech Boards')}<p>The workshop talk of bicycle menders</p></div><div class=navbar>"
            + ul(
                [
                    ("/faq.php", "FAQ"),
                    ("/rules.php", "Rules"),
                    ("/memberlist.php", "Members"),
                    ("/search.php", "Search"),
                    ("/ucp.php?mode=login", "Login"),
                    ("/ucp.php?mode=register", "Register"),
                ]
            )
            + f"</div><h2>{e(title)}</h2>{main}<div class=copyright>Powered by a free forum software. All times are UTC. The team - Delete all board cookies. Users browsing this forum: no registered users and 3 guests.</div></body></html>"
        )
        return re.sub(
            r'href="(/[^"#]*)',
            lambda m: f'href="{m[1]}{"&amp;" if "?" in m[1] else "?"}sid={sid}',
            body,
        )

    def route(self, path, q, d, target):
        had = "sid" in d
        q = [x for x in q if x[0] != "sid"]
        d = dict(q)
        if path == "/memberlist.php":
            if d.get("mode") == "viewprofile":
                u = int(d.get("u", "0")) if d.get("u", "").isdigit() else -1
                if not 2 <= u <= 48300:
                    return None
                known = (u - 50) % 301 == 0
                name = (
                    self.users[(u - 50) // 301]
                    if known and (u - 50) // 301 < 160
                    else Text("", u, 0).rare() + str(u % 97)
                )
                rows = [
                    ("Username", name),
                    ("Rank", "Member" if known else "Newbie"),
                    ("Joined", date(2015, 1, 1) + timedelta(days=u // 13)),
                    ("Total posts", num(u) % 400 if known else 0),
                ]
                main = table(rows) + a(f"/search.php?author_id={u}", "Search user's posts")
                return (
                    self.neutral("Viewing profile", main, target)
                    if known
                    else self.trap("profiles", "Viewing profile", main, target)
                )
            s = int(d.get("start", "0")) if d.get("start", "0").isdigit() else 0
            if s > 48300:
                return None
            sk, sd = d.get("sk", ""), d.get("sd", "")
            more = f"&sk={sk}&sd={sd}" if sk else ""
            rows = [
                (
                    a(
                        f"/memberlist.php?mode=viewprofile&u={u}",
                        self.users[(u - 50) // 301]
                        if (u - 50) % 301 == 0 and (u - 50) // 301 < 160
                        else Text("", u, 0).rare() + str(u % 97),
                    ),
                    date(2015, 1, 1) + timedelta(days=u // 13),
                )
                for u in range(s + 2, s + 27)
            ]
            nav = [(f"/memberlist.php?sk={k}&sd={x}", f"{k} {x}") for k in "abcd" for x in "ad"] + [
                (f"/memberlist.php?start={x}{more}", "page")
                for x in (s + 25, s + 50, s + 75, 48275)
            ]
            return (
                self.trap("memberlist", "Members", table(rows) + ul(nav), target)
                if s or sk
                else self.neutral("Members", table(rows) + ul(nav), target)
            )
        if path in ("/posting.php", "/report.php", "/ucp.php"):
            return self.trap(
                "posting",
                "Login",
                "<p>You need to login in order to do this. The board requires you to be registered.</p><form method=post>Username <input> Password <input></form>",
                target,
            )
        if path == "/search.php":
            w = d.get("keywords", "")
            if not d:
                return self.neutral("Search", "<form><input name=keywords></form>", target)
            r = Random(str(q))
            hit = [n for n in range(300) if w and w in self.threads[n][2].lower().split()] or (
                r.sample(range(300), r.randint(0, 6)) if "author_id" in d else []
            )
            words = [x for n in hit for x in self.threads[n][2].lower().split()] + [
                Text(self.host, f"{w}{i}").word() for i in range(4)
            ]
            return self.trap(
                "search",
                f"Search found {len(hit)} matches",
                "".join(f"<p>{a(self.turl(n, 0), self.threads[n][2])}</p>" for n in hit[:15])
                + "<h4>Try also</h4>"
                + ul(
                    (
                        f"/search.php?keywords={enc(x)}"
                        + (f"+{enc(w)}" if w and len(w) < 40 else ""),
                        x,
                    )
                    for x in words[:6]
                ),
                target,
            )
        if path == "/viewtopic.php" and set(d) == {"p"}:
            at = self.where.get(d["p"])
            return self.show(self.turl(*at), target, "permalink") if at else None
        if had and (name := self.find(path, q)):
            return self.show(name, target, "sid")
        return None
