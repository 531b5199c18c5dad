"""
Crawl real pages on 250 loopback hosts with aragog and with a Scrapy spider that has the same tasks,
interleaved.

CPU is that of all processes together (aragog: redis-server, workers, beat, the client), from the
first URL until the last page is stored and its links are compacted into inlinks, without start-up.
The first round compares what both sides stored of 100 pages: body, title, every link.

    python -m bench.crawl [--rounds 5] [--set docs|large] [--side aragog|scrapy] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.crawl import origin, page_sets, report, same_work
from bench.crawl.page_sets import PageSet
from bench.crawl.sides import SCRAPY, SIDES, Crawl
from bench.quick import add_quick

COMPARED = 100


def run(pages: PageSet, sides: list[str], rounds: int) -> dict[str, list[Crawl]]:
    """Crawl the set with each side in turn, `rounds` times; exits when a side leaves pages out."""
    crawls: dict[str, list[Crawl]] = {side: [] for side in sides}
    size = pages.mean_bytes() / 1000
    print(f"{pages.name}: {pages.count} URLs, {len(pages.paths)} pages of {size:.0f} KB")
    with origin.serve(pages.folder) as port:
        for number in range(rounds):
            for side in sides:
                crawl = SIDES[side](pages, port, COMPARED if number == 0 else 0)
                if crawl.pages != pages.count:
                    sys.exit(f"{side} stored {crawl.pages} of {pages.count} pages")
                crawls[side].append(crawl)
                report.print_crawl(side, crawl)
            if number == 0 and len(sides) == 2:
                _compare(pages, crawls)
    return crawls


def _compare(pages: PageSet, crawls: dict[str, list[Crawl]]) -> None:
    differences = same_work.differences(
        pages, crawls["aragog"][0].stored, crawls["scrapy"][0].stored
    )
    if differences:
        sys.exit("the sides stored different things:\n  " + "\n  ".join(differences[:40]))
    links = sum(len(page.links) for page in crawls["aragog"][0].stored.values())
    print(f"  both stored the same of {COMPARED} pages with {links} links")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", choices=page_sets.ALL, help="only this one")
    parser.add_argument("--side", choices=SIDES, help="only this one")
    parser.add_argument("--markdown", type=Path, help="write the tables and the plot here")
    parser.add_argument("--pages", type=int, help="of each set; default: all")
    add_quick(parser, rounds=1, pages=COMPARED, set="docs")
    options = parser.parse_args()
    sides = [options.side] if options.side else list(SIDES)
    if "scrapy" in sides and not SCRAPY.exists():
        sys.exit("Scrapy is missing: run `make bench`, or scripts/setup bench")
    results = {
        name: run(
            make() if options.pages is None else make().first(options.pages), sides, options.rounds
        )
        for name, make in page_sets.ALL.items()
        if options.set in (None, name)
    }
    for name, crawls in results.items():
        print(report.summary(name, crawls))
    if options.markdown and len(sides) == 2:
        options.markdown.write_text(report.markdown(results))


if __name__ == "__main__":
    main()
