"""
Measure the cost of URLs: normalizing a list, links of a page, keys, domains; and w3lib's.

    .venv/bin/python -m bench.urls

Best of several passes, CPU time of this process, each pass over the same list. w3lib comes from
this environment, or from .venv-bench.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from bench.quick import add_quick

URLS = 20_000
PASSES = 7

WORDS = [
    "shoes",
    "blue",
    "red",
    "summer",
    "recipe",
    "garden",
    "news",
    "2024",
    "how-to",
    "paris",
    "chair",
    "lamp",
    "kids",
    "video",
    "about",
]
HOSTS = [
    f"{a}{b}.{c}"
    for a in ("www.", "", "shop.", "blog.")
    for b in WORDS
    for c in ("com", "co.uk", "de", "org")
]


def plain(rng: random.Random) -> str:
    path = "/".join(rng.choices(WORDS, k=rng.randint(1, 5)))
    return f"https://{rng.choice(HOSTS)}/{path}"


def with_query(rng: random.Random) -> str:
    query = "&".join(f"{rng.choice(WORDS)}={rng.randint(1, 999)}" for _ in range(rng.randint(1, 4)))
    return f"{plain(rng)}?{query}"


def with_tracking(rng: random.Random) -> str:
    return f"{with_query(rng)}&utm_source=mail&utm_medium=news&fbclid=IwAR{rng.randint(1, 10**9)}"


def escaped(rng: random.Random) -> str:
    return f"{plain(rng)}/%e3%82%ab%e3%83%86%7Egarden/%C3%BC?q=caf%C3%A9+noir"


def untidy(rng: random.Random) -> str:
    return f" HTTP://{rng.choice(HOSTS).upper()}:80/a/./b/../{rng.choice(WORDS)}?b=2&a=[1]#top"


def foreign(rng: random.Random) -> str:
    return f"http://bücher{rng.randint(1, 99)}.example/straße/{rng.choice(WORDS)}?ö=1"


MIX = ((plain, 40), (with_query, 27), (with_tracking, 10), (escaped, 10), (untidy, 8), (foreign, 5))


def mixed_list(count: int = URLS) -> list[str]:
    """Of a hundred URLs: 40 plain, 37 with a query, 10 escaped, 8 untidy, 5 outside ASCII."""
    rng = random.Random(5)
    kinds = rng.choices([kind for kind, _ in MIX], [share for _, share in MIX], k=count)
    return [kind(rng) for kind in kinds]


def cost_us(work, items) -> float:
    best = float("inf")
    for _ in range(PASSES):
        start = time.process_time()
        for item in items:
            work(item)
        best = min(best, time.process_time() - start)
    return best / len(items) * 1e6


def w3lib_function():
    """Return w3lib's function, or None if it is not installed."""
    bench_library = Path(__file__).resolve().parent.parent / ".venv-bench" / "lib"
    sys.path.extend(str(path) for path in bench_library.glob("python*/site-packages"))
    try:
        from w3lib.url import canonicalize_url
    except ImportError:
        return None
    return canonicalize_url


def main() -> None:
    from urlspelling import explain, normalize, resolve, url_key
    from urlspelling.domain import host, origin, registered_domain

    parser = argparse.ArgumentParser(description=__doc__)
    add_quick(parser)
    urls = mixed_list(500 if parser.parse_args().quick else URLS)
    normal = [normalize(url) for url in urls]
    links = ["/" + url.split("/", 3)[3] for url in normal[:200]]
    rows = [
        ("normalize, mixed list", cost_us(normalize, urls)),
        ("normalize, already normalized", cost_us(normalize, normal)),
        *((f"  {kind.__name__.replace('_', ' ')}", cost_us(normalize, [kind(random.Random(n)) for n in range(4_000)])) for kind, _ in MIX),
        ("links of a page, per link", cost_us(lambda base: [normalize(link, base) for link in links], normal[:50]) / len(links)),
        ("  the parser alone, mixed list", cost_us(resolve, urls)),
        ("url_key", cost_us(url_key, normal)),
        ("origin", cost_us(origin, normal)),
        ("host", cost_us(host, normal)),
        ("registered_domain", cost_us(registered_domain, normal)),
        ("explain", cost_us(explain, urls[:2_000])),
    ]  # fmt: skip
    w3lib_canonicalize = w3lib_function()
    if w3lib_canonicalize is not None:
        rows.insert(1, ("w3lib canonicalize_url, mixed list", cost_us(w3lib_canonicalize, urls)))
    for name, cost in rows:
        print(f"{name:<40}{cost:8.2f} µs")
    if w3lib_canonicalize is not None:
        print(f"w3lib costs {rows[1][1] / rows[0][1]:.1f} times as much and does less")


if __name__ == "__main__":
    main()
