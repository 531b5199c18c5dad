"""
Crawl real pages on 250 loopback hosts with aragog and with programs that do the work of a Scrapy
spider, interleaved: Python around fast libraries, Go's colly (where scripts/setup found Go) and
Scrapy.

CPU is that of all processes together (aragog: redis-server, workers, beat, the client), from the
first URL until the last page is stored and its links are compacted into inlinks, without start-up.
The first round compares what each side stored for 100 pages: body, title, every link. The output
ends with a table of all sides.

    python -m bench.crawl [--rounds 5] [--set docs|news|large] [--side SIDE ...] [--tls]
                          [--markdown FILE]
    python -m bench.crawl --side aragog --whole     with Flower and the API, for the total memory
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from aragog.standalone.system import FRONTENDS
from bench.crawl import origin, page_sets, report, same_work
from bench.crawl.page_sets import PageSet
from bench.crawl.sides import SIDES, WARM_UP_HOSTS, Crawl, Side, installed, run_aragog
from bench.quick import add_quick

COMPARED = 100


def run(
    pages: PageSet, sides: dict[str, Side], rounds: int, certificates: Path | None, folder: Path
) -> dict[str, list[Crawl]]:
    """
    Crawl the set with each side in turn, `rounds` times. Exits if a side misses pages.

    What they store stays in `folder`.
    """
    crawls: dict[str, list[Crawl]] = {side: [] for side in sides}
    size = pages.mean_bytes() / 1000
    print(f"{pages.name}: {pages.count} URLs, {len(pages.paths)} pages of {size:.0f} KB")
    with origin.serve(pages.folder, certificates=certificates) as port:
        for number in range(rounds):
            for side, crawl_with in sides.items():
                stored = Path(tempfile.mkdtemp(dir=folder))
                crawl = crawl_with(pages, port, stored, COMPARED if number == 0 else 0)
                if crawl.pages != pages.count:
                    sys.exit(f"{side} stored {crawl.pages} of {pages.count} pages")
                crawls[side].append(crawl)
                report.print_crawl(side, crawl)
            if number == 0 and "aragog" in sides:
                _compare(
                    pages, {side: crawls_of_side[0] for side, crawls_of_side in crawls.items()}
                )
    return crawls


def _compare(pages: PageSet, crawls: dict[str, Crawl]) -> None:
    ours = crawls["aragog"].stored
    for side in crawls.keys() - {"aragog"}:
        differences = same_work.differences(pages, ours, crawls[side].stored, side)
        if differences:
            sys.exit(
                f"aragog and {side} stored different things:\n  " + "\n  ".join(differences[:40])
            )
    links = sum(len(page.links) for page in ours.values())
    print(f"  all stored the same of {len(ours)} pages with {links} links")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", choices=page_sets.ALL, help="only this one")
    parser.add_argument("--side", choices=SIDES, nargs="+", help="only these")
    parser.add_argument("--whole", action="store_true", help="aragog with Flower and the API")
    parser.add_argument("--tls", action="store_true", help="over HTTPS, a certificate a host")
    parser.add_argument("--markdown", type=Path, help="write the tables and the plot here")
    parser.add_argument("--pages", type=int, help="of each set; default: all")
    add_quick(parser, rounds=1, pages=COMPARED, set="docs")
    options = parser.parse_args()
    sides = {side: SIDES[side] for side in options.side or installed()}
    if options.whole:
        sides["aragog"] = partial(run_aragog, frontends=FRONTENDS)
    hosts = [*map(page_sets.host, range(page_sets.HOSTS)), *WARM_UP_HOSTS]
    results = {}
    with (
        tempfile.TemporaryDirectory(prefix="arb") as folder,
        origin.certificates(hosts) if options.tls else nullcontext() as certificates,
    ):
        for name, make in page_sets.ALL.items():
            if options.set in {None, name}:
                pages = make() if options.pages is None else make().first(options.pages)
                if options.tls:
                    pages = replace(pages, name=f"{name}, HTTPS", scheme="https")
                results[pages.name] = run(pages, sides, options.rounds, certificates, Path(folder))
    print("\n".join(["", *report.table(results)]))
    if options.markdown and "aragog" in sides:
        options.markdown.write_text(report.markdown(results))


if __name__ == "__main__":
    main()
