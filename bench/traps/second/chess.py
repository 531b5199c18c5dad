"""Games of a chess club."""

from __future__ import annotations

from random import Random

from bench.traps.second.base import Base, a, e, num, table, ul


class Chess(Base):
    """Games of a chess club: moves, players, tournaments, crosstables, openings."""

    host = "games.rookwell-chess.test"

    def build(self):
        pl = [self.t(f"p{n}", 0).person() for n in range(60)]
        r = Random("chess")
        games: dict[int, list] = {n: [] for n in range(60)}
        eco: dict[str, list] = {}
        ts = []
        gid = 50111
        for k in range(16):
            ps = r.sample(range(60), r.choice((6, 7, 8)))
            t = self.t(f"t{k}")
            name = f"{t.place()} {1988 + k * 2}"
            _rows, score = {p: [] for p in ps}, dict.fromkeys(ps, 0.0)
            lst = []
            for i, x in enumerate(ps):
                for y in ps[i + 1 :]:
                    gid += r.randint(1, 4)
                    res = r.choice(("1-0", "0-1", "1/2-1/2"))
                    code = f"{r.choice('ABCDE')}{r.randint(0, 99):02}"
                    mv = []
                    for m in range(1, r.randint(16, 60)):
                        mv.append(
                            f"{m}. "
                            + " ".join(
                                r.choice(("", "N", "B", "R", "Q", "K", ""))
                                + r.choice(("", "x", ""))
                                + r.choice("abcdefgh")
                                + str(r.randint(1, 8))
                                + r.choice(("", "", "", "+"))
                                for _ in "wb"
                            )
                        )
                    u = f"/game?id={gid}"
                    title = f"{pl[x]} - {pl[y]} {res}"
                    self.add(
                        u,
                        title,
                        f"<p>{a(f'/player/{x + 1}', pl[x])} vs {a(f'/player/{y + 1}', pl[y])}, {a(f'/tournament/{k + 1}', name)}, {a(f'/eco/{code[0]}{code[1]}', code)}</p><pre>{' '.join(mv)} {res}</pre>",
                    )
                    games[x].append((u, title))
                    games[y].append((u, title))
                    eco.setdefault(code[:2], []).append((u, title))
                    lst.append((u, title))
                    sx = {"1-0": 1, "0-1": 0}.get(res, 0.5)
                    score[x] += sx
                    score[y] += 1 - sx
            self.add(
                f"/tournament/{k + 1}",
                name,
                table(
                    [
                        (a(f"/player/{p + 1}", pl[p]), f"{score[p]:g}")
                        for p in sorted(ps, key=lambda p: -score[p])
                    ]
                )
                + ul(lst),
            )
            ts.append((f"/tournament/{k + 1}", name))
        for n, p in enumerate(pl):
            if games[n]:
                self.add(
                    f"/player/{n + 1}", p, f"<p>Rating {1500 + num(p) % 900}</p>" + ul(games[n])
                )
        for c, links in eco.items():
            self.add(f"/eco/{c}", f"Openings {c}0 to {c}9", ul(links))
        self.add("/eco", "Openings", ul((f"/eco/{c}", c) for c in sorted(eco)))
        self.add("/", "Games of Rookwell", ul(ts))

    def frame(self, title, main, target, head=""):
        return f"<html><head><title>{e(title)}</title></head><body><table><tr><td>{a('/', 'Tournaments')}<td>{a('/eco', 'Openings')}</table><h1>{e(title)}</h1>{main}<p><small>Rookwell chess club, games since 1988, entered by the members</small></body></html>"
