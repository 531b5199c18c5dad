"""
Measure what a crawl fetches from sites with traps and real pages, and from harmless sites.

    python -m bench.traps [--sites known|new|scored|blind|second | --module FILE.py] [--host NAME]
                          [--system [--qps 20] [--for-s 600]]

Every host is crawled from its home page: by the rules alone, or with `--system` by `aragog run` and
the servers it starts. Real pages are those that a reader could want, each counted once. Every other
page is in a trap, and so is a real page that is fetched again under another URL.

The sites are in three groups: those that were known when the rules were made, those that were
written before the rules were changed and may be looked at, and those that are only scored. Without
`--sites` these are crawled. `--sites blind` and `--sites second` crawl sites whose author had not
seen the rules, with several traps on each host in `second`, and `--module` those of a file outside
of the project: its `trapped_sites` and `harmless_sites`, lists of sites or functions that return
them (`bench.traps.site.Site`). Exits with 1 if a page of a harmless site is lost, if more than 1%
of the other real pages are lost, or if more than 5% of the requests for pages were in traps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.quick import add_quick
from bench.traps.blind_harmless import blind_harmless_sites
from bench.traps.blind_trapped import blind_trapped_sites
from bench.traps.harmless_kinds import harmless_kinds, scored_harmless_kinds
from bench.traps.harmless_sites import harmless_sites
from bench.traps.measure import Origin, crawl
from bench.traps.more_trapped_sites import more_trapped_sites
from bench.traps.outside import sites_of_file
from bench.traps.rules import crawl_by_rules
from bench.traps.scored_kinds import scored_kinds
from bench.traps.second import second_harmless_sites, second_trapped_sites
from bench.traps.site import Site
from bench.traps.trapped_kinds import trapped_kinds
from bench.traps.trapped_sites import trapped_sites

MIN_FETCHED, MAX_IN_TRAPS = 0.99, 0.05
QUICK_HOSTS = ("www.ardmore-town.test",)
PARTS = {
    "known": (lambda: trapped_sites() + more_trapped_sites(), harmless_sites),
    "new": (trapped_kinds, harmless_kinds),
    "scored": (scored_kinds, scored_harmless_kinds),
    "blind": (blind_trapped_sites, blind_harmless_sites),
    "second": (second_trapped_sites, second_harmless_sites),
}
WITHOUT_SITES = ("known", "new", "scored")


def _report(web: Origin, sites: Sequence[Site], title: str) -> tuple[int, int, int, int]:
    """
    Print the hosts of one kind. Returns real pages, fetched real pages, requests, and those in
    traps.
    """
    if not sites:
        return 0, 0, 0, 0
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


def _sites(options: argparse.Namespace) -> tuple[list[Site], list[Site]]:
    if options.module:
        return sites_of_file(options.module)
    parts = [PARTS[name] for name in ([options.sites] if options.sites else WITHOUT_SITES)]
    trapped = [site for trapped, _ in parts for site in trapped()]
    return trapped, [site for _, harmless in parts for site in harmless()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--sites", choices=PARTS)
    which.add_argument("--module", type=Path)
    parser.add_argument("--system", action="store_true")
    parser.add_argument("--host", action="append", default=[])
    parser.add_argument("--qps", type=float, default=20)
    parser.add_argument("--for-s", type=float, default=600)
    parser.add_argument("--max-per-host", type=int, default=2_000)
    add_quick(parser, host=list(QUICK_HOSTS), for_s=250, max_per_host=500)
    options = parser.parse_args()
    trapped, harmless = _sites(options)
    if options.host:
        trapped = [site for site in trapped if site.host in options.host]
        harmless = [site for site in harmless if site.host in options.host]
    sites, most = [*trapped, *harmless], options.max_per_host
    if options.system:
        web = crawl(sites, qps=options.qps, for_s=options.for_s)
    else:
        web = crawl_by_rules(sites, max_of_host=most)
    pages, fetched, requests, in_trap = _report(web, trapped, "hosts with a trap")
    harmless_pages, harmless_fetched, _, _ = _report(web, harmless, "harmless hosts")
    is_lost = harmless_fetched < harmless_pages or fetched < MIN_FETCHED * pages
    # On one small host, the cost of learning a trap is a larger share than on all.
    is_trapped = in_trap > MAX_IN_TRAPS * requests and not options.quick
    if is_lost or is_trapped:
        sys.exit(1)


if __name__ == "__main__":
    main()
