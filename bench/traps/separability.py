"""
Measure how well two logistic regressions tell real pages from traps, on sets they have not seen.

    python -m bench.traps.separability [--sites known new scored blind second] [--module FILE.py ...]
                                       [--host NAME ...]

Crawls the hosts of each set with a larger allowance, so that traps are seen for longer, and records
what is known about links before they are followed, and about pages that arrived, together with
whether they are real. A regression is fitted to all sets but one and applied to that one. Prints,
for each set, the area under its ROC curve (the probability that a real page gets a higher chance
than a page in a trap), beside that of the chance that the budget estimates, and the weights.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log1p
from pathlib import Path
from random import Random
from typing import NamedTuple

from aragog.crawl.traps import host_budget
from aragog.crawl.traps.template_record import Flaw
from aragog.crawl.traps.templates import UrlTemplates, templates_of
from bench.traps.__main__ import PARTS
from bench.traps.measure import Origin
from bench.traps.outside import sites_of_file
from bench.traps.rules import ReadPage, RulesCrawl
from bench.traps.site import Answer, Site

TRIALS = 30.0
"""The allowance of each host in useless pages, instead of `FIRST_TRIALS`."""
MAX_REQUESTS, MAX_IN_TRAPS = 1_000, 150
MAX_OF_KIND, MAX_AT_ONCE, AT_THE_END = 2, 50, 2.0
"""
How many links of a template, and in all, are recorded at a time. Links that wait at the end of a
crawl have this weight.
"""
USUAL = {"news": 0.5, "numbers": 0.3, "ahead": 1.0, "back": 0.6, "copied": 0.05}
"""
Means of a template without pages: new word pairs in shares of what the host's pages usually have,
the share of pairs with numbers that are new, the number of new links to the own section, the share
of such links that were known, and the share of copies.
"""
GUESS, KEPT = 2.0, 0.85
"""How many pages this guess counts as, and the factor by which each page lowers earlier weights."""
MAX_NEWS, MAX_AHEAD, MIN_USUAL, MIN_NUMBERS = 2.0, 10, 4.0, 2.5
ROUNDS, RIDGE = 6, 20.0
MAX_EXPONENT = 30.0


class Row(NamedTuple):
    """What is known about a link or page, and whether it is real."""

    features: dict[str, float]
    is_real: bool
    template: str
    weight: float = 1.0


@dataclass
class Means:
    """Means over the last pages of a template."""

    known: int = 0
    pages: int = 0
    weight: float = 0.0
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(USUAL, 0.0))

    def add(self, values: dict[str, float]) -> None:
        self.pages += 1
        self.weight = self.weight * KEPT + 1
        self.sums = {name: self.sums[name] * KEPT + value for name, value in values.items()}

    def shrunk(self, name: str, usual: float) -> float:
        return (self.sums[name] + GUESS * usual) / (self.weight + GUESS)


NO_PAGES = Means()


class RecordedCrawl(RulesCrawl):
    """The crawl of one host, with what was known about its links and pages."""

    def __init__(self, web: Origin, site: Site) -> None:
        super().__init__(web, site, MAX_REQUESTS)
        self.links: list[Row] = []
        self.pages: list[Row] = []
        self.offers = self.sweeps = 0
        self.next_offer = self.next_sweep = 1
        self.means: dict[str, Means] = {}
        self.linked: set[int] = set()
        self.values: dict[str, float] = {}
        self.new: list[UrlTemplates] = []

    def read(self, url: str, answer: Answer) -> ReadPage:
        """Read a page as a worker does, and compare it with the host's other pages."""
        page, budget = super().read(url, answer), self.budget
        own = budget.plain(templates_of(url, budget.words))
        words = budget.pairs.news(page.traits.pairs)
        numbers = budget.pairs.news(page.traits.numbers)
        found = {to.own: to for to in self._targets(page) if to.own != own.own}
        new = {code: to for code, to in found.items() if code not in self.linked}
        inner = {code for code, to in found.items() if to.section == own.section}
        ahead = len(inner & new.keys())
        news = (words.new + numbers.new) / max(MIN_USUAL, budget.usual_news)
        self.values = {
            "news": min(MAX_NEWS, news),
            "numbers": numbers.new / max(MIN_NUMBERS, numbers.own),
            "ahead": min(MAX_AHEAD, ahead),
            "back": 1 - ahead / len(inner) if inner else 1.0,
        }
        self.new = list(new.values())
        return page

    def _targets(self, page: ReadPage) -> Iterator[UrlTemplates]:
        for link, _ in page.links:
            yield self.budget.plain(templates_of(link, self.budget.words))

    def features(self, own: UrlTemplates) -> dict[str, float]:
        """Return what is known about a URL before its page is fetched."""
        budget, section = self.budget, self.budget.known(own.section)
        names = [self.means[mark] for mark in own.marks if mark in self.means]
        copies = (one.shrunk("copied", USUAL["copied"]) for one in names)
        return {
            "chance": budget.expected(own),
            "known_of_name": log1p(max((one.known for one in names), default=0)),
            "pages_of_name": log1p(min((one.pages for one in names), default=0)),
            "copies_of_name": max(copies, default=USUAL["copied"]),
            "doubtful": budget.is_doubtful(own, section),
            "endless": section.is_endless,
            "function": budget.known(own.finest).is_function,
            "share_known": self.means.get(own.section, NO_PAGES).known / max(1, len(self.linked)),
            **{name: self._mean(own, name) for name in USUAL},
        }

    def _mean(self, own: UrlTemplates, name: str) -> float:
        usual = USUAL[name]
        for level in own.levels:
            usual = self.means.get(level, NO_PAGES).shrunk(name, usual)
        return usual

    def _offer_held(self, found: Iterable[str] = (), *, is_last: bool = False) -> None:
        """Record some held links at growing intervals."""
        urls = [url for url in {**self.held, **dict.fromkeys(found)} if url not in self.asked]
        if is_last:
            self.sweeps += 1
            if self.sweeps >= self.next_sweep:
                self.next_sweep = self.sweeps * 3 // 2 + 1
                self._record(urls, AT_THE_END)
        else:
            self.offers += 1
            if self.offers >= self.next_offer:
                self.next_offer *= 2
                self._record(urls, 1.0)
        super()._offer_held(found, is_last=is_last)

    def _record(self, urls: list[str], weight: float) -> None:
        known = self.web.scores[self.site.host].fetched
        counts, budget = Counter[str](), self.budget
        Random(len(urls)).shuffle(urls)
        for url in urls:
            plain = budget.plain(templates_of(url, budget.words))
            counts[plain.finest] += 1
            if counts[plain.finest] > MAX_OF_KIND:
                continue
            if counts.total() > MAX_AT_ONCE:
                break
            answer = self.site.answer(url.removeprefix(self.base))
            is_real = answer.page in self.site.pages and answer.page not in known
            if is_real or answer.in_trap or answer.page in known:
                features = self.features(plain)
                self.links.append(Row(features, is_real, plain.finest, weight))

    def _page(self, url: str) -> None:
        score, budget = self.web.scores[self.site.host], self.budget
        fetched, in_trap = len(score.fetched), score.in_trap
        own = budget.plain(templates_of(url, budget.words))
        names = {*own.levels, *(part.template for part in own.parts)}
        copies = self._copies(names)
        self.values, self.new = {"news": 0.0, "numbers": 0.0, "ahead": 0.0, "back": 1.0}, []
        super()._page(url)
        values = {**self.values, "copied": float(self._copies(names) > copies)}
        is_real = len(score.fetched) > fetched
        if is_real or score.in_trap > in_trap:
            of_page = {f"own_{name}": value for name, value in values.items()}
            self.pages.append(Row({**self.features(own), **of_page}, is_real, own.finest))
        self._note(own, values)
        if score.in_trap >= MAX_IN_TRAPS:
            self.left = 1  # the last request

    def _copies(self, names: Iterable[str]) -> int:
        records = self.budget.records
        return sum(records[name].flaws[Flaw.COPY] for name in names if name in records)

    def _note(self, own: UrlTemplates, values: dict[str, float]) -> None:
        """Add a page to the means of its templates, and count its new links."""
        for name in {*own.levels, *own.marks}:
            self.means.setdefault(name, Means()).add(values)
        for to in self.new:
            self.linked.add(to.own)
            for name in {*to.levels, *to.marks}:
                self.means.setdefault(name, Means()).known += 1


def rows_of(sites: Iterable[Site]) -> tuple[list[Row], list[Row]]:
    """Crawl each site. Returns the rows of links and those of pages."""
    links, pages = [], []
    for site in sites:
        crawl = RecordedCrawl(Origin.of([site]), site)
        crawl.run()
        links += _balanced(crawl.links)
        pages += _balanced(crawl.pages)
        print(f"{site.host:40}{len(crawl.links):7} links{len(crawl.pages):7} pages", flush=True)
    return links, pages


def _balanced(rows: Sequence[Row]) -> list[Row]:
    """Weight rows so that a template with many of them does not outweigh all others."""
    counts = Counter((row.template, row.is_real) for row in rows)
    return [
        row._replace(weight=row.weight / counts[row.template, row.is_real] ** 0.5) for row in rows
    ]


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """Return the weights of a logistic regression, by Newton's method with a ridge penalty."""
    names = [*rows[0].features]
    columns = [[row.features[name] for row in rows] for name in names]
    means = [sum(column) / len(rows) for column in columns]
    scales = [_deviation(column, mean) or 1.0 for column, mean in zip(columns, means, strict=True)]
    scaled = [
        [(float(row.features[n]) - m) / s for n, m, s in zip(names, means, scales, strict=True)]
        + [1.0]
        for row in rows
    ]
    found = [0.0] * (len(names) + 1)
    for _ in range(ROUNDS):
        found = _newton(found, scaled, rows)
    weights = {name: value / s for name, value, s in zip(names, found, scales, strict=False)}
    constant = found[-1] - sum(weights[n] * m for n, m in zip(names, means, strict=True))
    return {**weights, "": constant}


def _deviation(values: Sequence[float], mean: float) -> float:
    return float(sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5


def _newton(found: list[float], scaled: Sequence[list[float]], rows: Sequence[Row]) -> list[float]:
    """Return the weights after one step of Newton's method."""
    count = len(found)
    slope = [-RIDGE * value for value in found[:-1]] + [0.0]
    curve = [[RIDGE * (i == j and i < count - 1) for j in range(count)] for i in range(count)]
    for values, row in zip(scaled, rows, strict=True):
        chance = _chance(sum(map(float.__mul__, found, values)))
        error, bend = row.weight * (row.is_real - chance), row.weight * chance * (1 - chance)
        for i, value in enumerate(values):
            slope[i] += error * value
            part, line = bend * value, curve[i]
            for j in range(i + 1):
                line[j] += part * values[j]
    for i in range(count):
        for j in range(i):
            curve[j][i] = curve[i][j]
    return [value + step for value, step in zip(found, _solved(curve, slope), strict=True)]


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return x of `matrix` x = `right`, by elimination; the matrix is positive definite."""
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(lines):
        for line in lines[i + 1 :]:
            factor = line[i] / pivot[i]
            for j in range(i, len(pivot)):
                line[j] -= factor * pivot[j]
    found = [0.0] * len(right)
    for i in range(len(right) - 1, -1, -1):
        rest = sum(lines[i][j] * found[j] for j in range(i + 1, len(right)))
        found[i] = (lines[i][-1] - rest) / lines[i][i]
    return found


def _chance(exponent: float) -> float:
    return 1 / (1 + exp(-max(-MAX_EXPONENT, min(MAX_EXPONENT, exponent))))


def area(rows: Sequence[Row], score: Callable[[Row], float]) -> float:
    """Return the weighted area under the ROC curve; 0.5 if all rows are of one kind."""
    ranked = sorted((score(row), row.is_real, row.weight) for row in rows)
    below = area = 0.0
    at = 0
    while at < len(ranked):
        end, real, trap = at, 0.0, 0.0
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            real += ranked[end][2] * ranked[end][1]
            trap += ranked[end][2] * (not ranked[end][1])
            end += 1
        area += real * (below + trap / 2)
        below, at = below + trap, end
    total = sum(row.weight for row in rows if row.is_real) * below
    return area / total if total else 0.5


def _estimate(weights: dict[str, float], row: Row) -> float:
    return _chance(weights[""] + sum(weights[n] * value for n, value in row.features.items()))


def _report(title: str, sets: dict[str, list[Row]]) -> None:
    """Print how well each set is told apart by the weights of the others, and all weights."""
    print(f"\n{title:20}{'rows':>8}{'real':>8}{'fitted':>10}{'useful alone':>14}")
    for name, rows in sets.items():
        others = [row for other, some in sets.items() if other != name for row in some]
        if not others or not rows:
            continue
        weights = fit(others)
        fitted = area(rows, lambda row, weights=weights: _estimate(weights, row))  # type: ignore[misc]
        alone = area(rows, lambda row: row.features["chance"])
        real = sum(row.is_real for row in rows)
        print(f"{name:20}{len(rows):8}{real:8}{fitted:10.3f}{alone:14.3f}", flush=True)
    weights = fit([row for rows in sets.values() for row in rows])
    print({name: round(value, 3) for name, value in weights.items()})


def _sets(options: argparse.Namespace) -> Iterator[tuple[str, list[Site]]]:
    for name in options.sites:
        trapped, harmless = PARTS[name]
        yield name, [*trapped(), *harmless()]
    for path in options.module:
        of_file = sites_of_file(path)
        yield path.stem, [*of_file[0], *of_file[1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--module", nargs="*", type=Path, default=[])
    parser.add_argument("--host", nargs="*", help="only these hosts")
    options = parser.parse_args()
    host_budget.FIRST_TRIALS = TRIALS
    links: dict[str, list[Row]] = {}
    pages: dict[str, list[Row]] = {}
    for name, sites in _sets(options):
        some = [site for site in sites if not options.host or site.host in options.host]
        links[name], pages[name] = rows_of(some)
    _report("links", links)
    _report("pages", pages)


if __name__ == "__main__":
    main()
