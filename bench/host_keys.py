"""
Simulate how a web's largest host loads one region, and how many blocks a site's pages fill.

    python -m bench.host_keys [--hosts 1000000] [--exponent 1.0] [--regions 256]

The number of pages per host follows Zipf's law: host number n has 1/n^exponent as many as the
first. Regions divide the keys evenly, as HBase's pre-split does. `whole URL`: keys are hashes of
URLs. `host first`: keys begin with the host's hash, so a host is in one region. `host, 16 places`:
ids of format 2 (docs/adr/0113), and nearly those of format 3 for hosts with many folders. `folder, 4
places`: ids of format 3 (docs/adr/0162) in the worst case, that each host has only one folder. A
region's load is that of a crawl without a rate limit, such as an import; the limiter bounds how
much a host adds to it. A block of 64 KB contains 32 nodes of 2 KB.
"""

from __future__ import annotations

import argparse
from hashlib import sha256

from bench.quick import add_quick

PLACES, PLACES_OF_FOLDER = 16, 4
NODES_PER_BLOCK = 32
SITES = (1, 20, 100, 1_000, 100_000)


def places_of(number: int, places: int) -> list[float]:
    """
    Return a host's positions in the key range (0 to 1): 1, those of its only folder, or all of
    them.
    """
    digest = sha256(b"host %d" % number).digest()
    rest, folder = int.from_bytes(digest[1:4]), digest[4]
    own = [(folder + PLACES // places * place) % PLACES for place in range(places)]
    return [(((digest[0] & 0xF0 | place) << 24) + rest) / 2**32 for place in own]


def loads(hosts: int, exponent: float, regions: int, places: int) -> list[float]:
    """Return the share of all pages in each region, with each host at `places` places."""
    weights = [1 / (n + 1) ** exponent for n in range(hosts)]
    total, shares = sum(weights), [0.0] * regions
    for number, weight in enumerate(weights):
        for position in places_of(number, places):
            shares[int(position * regions)] += weight / total / places
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--exponent", type=float, default=1.0)
    parser.add_argument("--regions", type=int, default=256)
    add_quick(parser, hosts=2_000)
    args = parser.parse_args()
    largest = 1 / sum(1 / (n + 1) ** args.exponent for n in range(args.hosts))
    print(f"the largest of {args.hosts:,} hosts has {largest:.1%} of the pages")
    for name, places in (
        ("host first", 1), ("host, 16 places", PLACES), ("folder, 4 places", PLACES_OF_FOLDER),
    ):  # fmt: skip
        hottest = max(loads(args.hosts, args.exponent, args.regions, places))
        print(
            f"{name:16} hottest of {args.regions} regions: {hottest:.1%} of the pages, "
            f"{hottest * args.regions:.1f} times the mean"
        )
    print("blocks with the pages of a site:")
    for pages in SITES:
        clustered = -(-pages // NODES_PER_BLOCK)
        spread, of_folder = [
            min(pages, places * -(-pages // (places * NODES_PER_BLOCK)))
            for places in (PLACES, PLACES_OF_FOLDER)
        ]
        print(
            f"{pages:>8,} pages: whole URL {pages:,}, host first {clustered:,}, "
            f"16 places {spread:,}, in one folder {of_folder:,}"
        )


if __name__ == "__main__":
    main()
