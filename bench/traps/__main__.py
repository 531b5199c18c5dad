"""
What a crawl fetches of an origin with traps beside real pages, and of harmless sites.

    python -m bench.traps [--held-back | --all] [--host NAME] [--system [--qps 20] [--for-s 600]]

Every host is crawled from its home page: by the rules alone, or with `--system` by the standalone
system. Real pages are those that a reader could
want, each once; every other page is in a trap, and so is a real page that is fetched again under
another URL. `--held-back` uses the half of the sites that nobody looked at while the rules were
made. Exits with 1 if a page of a harmless site is lost (without `--held-back`), or more than 2 % of
the other real pages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.quick import add_quick
from bench.traps.harmless_sites import harmless_sites, held_back_harmless_sites
from bench.traps.held_back_sites import held_back_sites
from bench.traps.measure import Origin, crawl
from bench.traps.rules import crawl_by_rules
from bench.traps.site import Site
from bench.traps.trapped_sites import trapped_sites

LEAST_FETCHED = 0.98
QUICK_HOSTS = ("www.ardmore-town.test",)


def _report(web: Origin, sites: Sequence[Site], title: str) -> tuple[int, int, int, int]:
    """Print the hosts of one kind; real pages, those that were fetched, requests, in traps."""
    print(f"\n{title:32}{'real pages':>12}{'fetched':>10}{'requests':>10}{'in traps':>10}")
    sums = [0, 0, 0, 0]
    for site in sites:
        score = web.scores[site.host]
        values = (score.pages, len(score.fetched), score.requests, score.in_trap)
        print(
            f"{site.host:32}"
            + "".join(f"{v:{w}}" for v, w in zip(values, (12, 10, 10, 10), strict=True))
        )
        sums = [total + value for total, value in zip(sums, values, strict=True)]
    pages, fetched, requests, in_trap = sums
    if requests:
        share, lost = 100 * in_trap / requests, pages - fetched
        print(
            f"{'':32}{pages:12}{fetched:10}{requests:10}{in_trap:10}   {share:.1f} %, {lost} lost"
        )
    return pages, fetched, requests, in_trap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--system", action="store_true")
    parser.add_argument("--host", action="append", default=[])
    parser.add_argument("--qps", type=float, default=20)
    parser.add_argument("--for-s", type=float, default=600)
    parser.add_argument("--most-of-host", type=int, default=2_000)
    add_quick(parser, host=list(QUICK_HOSTS), for_s=250, most_of_host=500)
    options = parser.parse_args()
    trapped, harmless = trapped_sites(), harmless_sites()
    if options.held_back or options.all:
        trapped = held_back_sites() + (trapped if options.all else [])
        harmless = held_back_harmless_sites() + (harmless if options.all else [])
    if options.host:
        trapped = [site for site in trapped if site.host in options.host]
        harmless = [site for site in harmless if site.host in options.host]
    sites, most = [*trapped, *harmless], options.most_of_host
    if options.system:
        web = crawl(sites, qps=options.qps, for_s=options.for_s, most_of_host=most)
    else:
        web = crawl_by_rules(sites, most_of_host=most)
    pages, fetched, _, _ = _report(web, trapped, "hosts with a trap")
    harmless_pages, harmless_fetched, _, _ = _report(web, harmless, "harmless hosts")
    lost = harmless_fetched < harmless_pages and not (options.held_back or options.all)
    if lost or fetched < LEAST_FETCHED * pages:
        sys.exit(1)


if __name__ == "__main__":
    main()
