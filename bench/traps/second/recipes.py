"""Recipes with a page for each step."""

from __future__ import annotations

from bench.traps.second.base import Base, a, e, pager_all, table, ul
from bench.traps.second.words import slug

CAP = str.capitalize


class Recipes(Base):
    """Recipes whose steps have a page each."""

    host = "www.copper-ladle.test"
    GROUPS = ("soups", "salads", "roasts", "cakes", "breads", "drinks", "preserves")

    def build(self):
        ing_names = list(dict.fromkeys(self.t(f"ing{n}", 0).rare() for n in range(70)))
        ing: dict[str, list] = {}
        gr: dict[str, list] = {g: [] for g in self.GROUPS}
        for n in range(118):
            t = self.t(f"r{n}", 8)
            mine = t.r.sample(ing_names, t.num(4, 9))
            title = f"{CAP(mine[0])} {t.pick(('with', 'and', 'on', 'in'))} {mine[1]}" + t.pick(
                ("", f" {t.word()}")
            )
            url = f"/r/{n + 1200}-{slug(title)}"
            g = self.GROUPS[n % 7]
            gr[g].append((url, title))
            for x in mine:
                ing.setdefault(x, []).append((url, title))
            k = t.num(2, 6)
            rows = [
                (
                    f"{t.num(1, 500)} {t.pick(('g', 'ml', 'tbsp', 'pinch', 'cups', ''))}",
                    a(f"/ingredient/{x}", x),
                )
                for x in mine
            ]
            self.add(
                url,
                title,
                f"<p>{t.para()}</p><p>{t.num(10, 150)} minutes, serves {t.num(1, 8)}</p>"
                + table(rows)
                + a(f"{url}/step-1", "Start cooking")
                + "<h3>Nutrition</h3>"
                + table(
                    [("kcal", t.num(90, 900)), ("Fat", t.num(1, 60)), ("Protein", t.num(1, 50))]
                )
                + "".join(
                    f"<p><i>{t.person()}: {t.sentence()}</i></p>" for _ in range(t.num(0, 3))
                ),
            )
            for s in range(1, k + 1):
                nav = ([(f"{url}/step-{s - 1}", "Back")] if s > 1 else []) + (
                    [(f"{url}/step-{s + 1}", "Next step")] if s < k else [(url, "Done")]
                )
                self.add(
                    f"{url}/step-{s}",
                    f"{title}: step {s} of {k}",
                    f"<p>{t.pick(('Stir', 'Cut', 'Boil', 'Bake', 'Mix', 'Peel', 'Fry', 'Whisk', 'Pour'))} the {t.pick(mine)} {t.pick(('', 'slowly ', 'well '))}with the {t.pick(mine)} for {t.num(1, 40)} minutes.{' ' + t.sentence() if s % 2 else ''}</p>"
                    + ul(nav),
                )
        for x, links in ing.items():
            self.add(
                f"/ingredient/{x}", CAP(x), f"<p>{self.t('i' + x, 3).sentence()}</p>" + ul(links)
            )
        for g in self.GROUPS:
            self.lists(
                CAP(g),
                lambda p, g=g: f"/{g}/" + (f"{p}/" if p > 1 else ""),
                [f"<div>{a(*x)}</div>" for x in gr[g]],
                8,
                pager_all,
            )
        self.add(
            "/",
            "The Copper Ladle",
            self.t("h").paras(1, 1) + ul((f"/{g}/", CAP(g)) for g in self.GROUPS),
        )

    def frame(self, title, main, target, head=""):
        return f"<!doctype html><html lang=en><head><title>{e(title)} - Copper Ladle</title></head><body><header>{a('/', 'Copper Ladle')}</header>{ul((f'/{g}/', CAP(g)) for g in self.GROUPS)}<main><h1>{e(title)}</h1>{main}</main><footer>Cook with us. Newsletter every Friday. Follow us. Imprint.</footer></body></html>"
