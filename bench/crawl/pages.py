"""
Generate realistic pages: about 57 KB of HTML, 150-200 links, metadata in the head.

A seed makes every run crawl the same bytes. Words follow Zipf's law, so the text compresses about
as well as real prose (4-5x).
"""

from __future__ import annotations

import json
import random

HOSTS = 250
PAGES_PER_HOST = 2
TARGET_BYTES = 57_000

_SYLLABLES = [
    "an",
    "be",
    "co",
    "da",
    "el",
    "fi",
    "go",
    "ha",
    "in",
    "jo",
    "ka",
    "lu",
    "me",
    "no",
    "or",
    "pa",
    "qui",
    "ra",
    "se",
    "ti",
    "un",
    "va",
    "we",
    "xi",
    "yo",
    "ze",
]


def host(number: int) -> str:
    """Return the name of a host. Each is a separate registered domain."""
    return f"site{number:03d}.test"


def paths() -> list[tuple[str, str]]:
    """Return (host, path) of every page."""
    return [(host(h), f"/page/{p}") for h in range(HOSTS) for p in range(PAGES_PER_HOST)]


def page(host_name: str, path: str, port: int) -> bytes:
    """Return one page."""
    rng = random.Random(f"{host_name}{path}")
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(1500)]
    weights = [1 / (n + 3) for n in range(len(words))]

    def prose(count: int) -> str:
        return " ".join(rng.choices(words, weights, k=count)).capitalize()

    page_url = f"http://{host_name}:{port}{path}"
    title = prose(7)
    data = {
        "@context": "https://schema.org",
        "@type": "Article",
        "headline": title,
        "author": {"@type": "Person", "name": prose(2).title()},
        "datePublished": f"2026-05-0{rng.randint(1, 9)}T10:00:00+02:00",
        "image": f"http://{host_name}:{port}/img/{rng.randint(1, 999)}.jpg",
    }
    head = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{prose(25)}">
<link rel="canonical" href="{page_url}">
<meta property="og:title" content="{title}"><meta property="og:type" content="article">
<meta property="og:image" content="{data["image"]}"><meta property="og:url" content="{page_url}">
<script type="application/ld+json">{json.dumps(data)}</script>
<style>{"".join(f".c{n} {{ margin: {n}px; color: #{n:06x} }}" for n in range(60))}</style>
</head><body>"""
    # As on real sites, the menu is the same on every page of a host, and link targets repeat.
    menu = random.Random(host_name)
    links = [_link(menu, host_name, port, prose) for _ in range(60)]
    links += [_link(rng, host_name, port, prose) for _ in range(rng.randint(90, 140))]
    nav = "<ul class='menu'>" + "".join(f"<li>{link}</li>" for link in links[:60]) + "</ul>"
    parts = [head, nav, f"<main><h1>{title}</h1>"]
    rest = iter(links[60:])
    size = sum(map(len, parts))
    while size < TARGET_BYTES - 200:
        inline_links = "".join(f" {link} " for _, link in zip(range(3), rest, strict=False))
        text = prose(rng.randint(30, 90))
        part = f"<div class='c{rng.randint(0, 59)}'><p>{text}{inline_links}</p></div>\n"
        parts.append(part)
        size += len(part)
    parts += list(rest)
    return "".join([*parts, "</main></body></html>"]).encode()


def _link(rng: random.Random, host_name: str, port: int, prose) -> str:
    kind, number = rng.random(), rng.randint(1, 400)
    if kind < 0.6:
        href = f"/articles/{number}/{_slug(number)}"
    elif kind < 0.75:
        href = f"/search?q={_slug(number)}&amp;page={rng.randint(1, 9)}&amp;utm_source=nav"
    elif kind < 0.85:
        href = f"http://{host_name}:{port}/topics/{_slug(number)}#part{rng.randint(1, 9)}"
    else:
        href = f"http://{host(rng.randrange(HOSTS))}:{port}/page/{number % 2}"
    return f'<a class="link" href="{href}">{prose(rng.randint(1, 5))}</a>'


def _slug(number: int) -> str:
    rng = random.Random(number)
    return "-".join("".join(rng.choices(_SYLLABLES, k=3)) for _ in range(4))
