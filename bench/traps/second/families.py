"""The tree of families."""

from __future__ import annotations

from random import Random

from bench.traps.second.base import Base, a, e, num, pager_next, table, ul
from bench.traps.second.words import FIRST, slug


class Family(Base):
    """Genealogy: persons with names and dates only, families, and surnames."""

    host = "www.osterby-families.test"

    def build(self):
        persons, families = [], []
        r = Random("families")
        t = self.t("names", 0)
        sur = [t.surname() for _ in range(26)]
        gen = [(n, 1700 + r.randint(0, 25)) for n in range(44)]
        for n, y in gen:
            persons.append([t.pick(FIRST), sur[n % 26], y, None, [], t.place()])
        front = [n for n, _ in gen]
        while len(persons) < 700:
            new = []
            r.shuffle(front)
            for x, y in zip(front[::2], front[1::2], strict=False):
                f = len(families)
                families.append((x, y, []))
                persons[x][4].append(f)
                persons[y][4].append(f)
                for _ in range(r.choice((0, 1, 2, 2, 3, 4, 6))):
                    if len(persons) < 700:
                        persons.append(
                            [
                                t.pick(FIRST),
                                persons[x][1],
                                max(persons[x][2], persons[y][2]) + r.randint(20, 38),
                                f,
                                [],
                                t.place(),
                            ]
                        )
                        families[f][2].append(len(persons) - 1)
                        new.append(len(persons) - 1)
            front = new if len(new) > 9 else [*new, *r.sample(range(len(persons)), 10)]
        u = lambda n: f"/person/I{n + 1:04}.htm"  # noqa: E731
        nm = lambda n: f"{persons[n][0]} {persons[n][1]}"  # noqa: E731
        for n, (first, last, born, par, fams, place) in enumerate(persons):
            rows = [("Born", f"{num(f'b{n}') % 28 + 1}.{num(f'm{n}') % 12 + 1}.{born}, {place}")]
            if n % 4:
                rows.append(("Died", f"{born + num(f'd{n}') % 85}"))
            if n % 7 == 0:
                rows.append(
                    (
                        "Occupation",
                        t.pick(
                            (
                                "farmer",
                                "smith",
                                "servant",
                                "sailor",
                                "weaver",
                                "priest",
                                "miller",
                                "tailor",
                            )
                        ),
                    )
                )
            if par is not None:
                rows += [
                    ("Father", a(u(families[par][0]), nm(families[par][0]))),
                    ("Mother", a(u(families[par][1]), nm(families[par][1]))),
                ]
            for f in fams:
                o = families[f][0] if families[f][1] == n else families[f][1]
                rows.append(
                    (
                        "Family",
                        a(f"/family/F{f + 1:04}.htm", f"with {nm(o)}")
                        + " "
                        + ", ".join(a(u(c), persons[c][0]) for c in families[f][2]),
                    )
                )
            self.add(u(n), f"{first} {last}", table(rows))
        for f, (x, y, ch) in enumerate(families):
            self.add(
                f"/family/F{f + 1:04}.htm",
                f"{persons[x][1]} - {persons[y][1]}",
                f"<p>{a(u(x), nm(x))} and {a(u(y), nm(y))}, married {max(persons[x][2], persons[y][2]) + 21}</p>"
                + ul((u(c), f"{nm(c)} ({persons[c][2]})") for c in ch),
            )
        for s in dict.fromkeys(p[1] for p in persons):
            mine = [n for n in range(700) if persons[n][1] == s]
            self.lists(
                f"Surname {s}",
                lambda p, s=s: f"/surname/{slug(s)}" + (f"_{p}" if p > 1 else "") + ".htm",
                [f"<li>{a(u(n), nm(n))} * {persons[n][2]}</li>" for n in mine],
                40,
                pager_next,
            )
        self.add(
            "/",
            "Families of Osterby",
            "<p>Collected from the church books by the society for local history.</p>"
            + ul((f"/surname/{slug(s)}.htm", s) for s in dict.fromkeys(p[1] for p in persons)),
        )

    def frame(self, title, main, target, head=""):
        return f"<html><head><title>{e(title)}</title></head><body bgcolor=#fffff0><center>{a('/', 'Families of Osterby')}</center><hr><h2>{e(title)}</h2>{main}<hr><i>Written by a genealogy program. Updated 12 March 2019.</i></body></html>"
