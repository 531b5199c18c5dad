"""
The pages of the demo sites, as host -> path -> response, generated from word lists. No I/O.

The hosts have reserved names under `.test` (RFC 2606). The settings map them to loopback.

    www.shop.test       products, JSON-LD with prices; canonical without tracking parameters
    kitchen.test        recipes, microdata
    news.test           articles, Open Graph; m.news.test is its mobile alias
    travel.test         places and a movie theater, RDFa and JSON-LD
    apps.test           app pages with App Links
    old.test            redirects, permanent and temporary, and a chain
    private.test        robots.txt that disallows /members/
    busy.test           429 with Retry-After, twice, then a page
    odd.test            binary, empty, wrong charset, 404, 500, incomplete
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class DemoPage:
    """A response from the demo server."""

    body: bytes = b""
    status: int = 200
    content_type: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    declared_length: int | None = None
    """A wrong Content-Length, which makes the body incomplete."""
    busy_times: int = 0


NOT_PAGES = frozenset({"/robots.txt", "/sitemap.xml", "/sitemaps/places.xml"})

Web = dict[str, dict[str, DemoPage]]

PRODUCTS = (
    ("walnut-desk", "Walnut standing desk", "649.00", "EUR", "Oak & Iron", 4.6, 212),
    ("linen-sofa", "Three-seat linen sofa", "1249.50", "EUR", "Nordhem", 4.2, 87),
    ("brass-lamp", "Brass reading lamp", "89.90", "EUR", "Lumen", 4.8, 534),
    ("wool-rug", "Hand-woven wool rug", "329.00", "EUR", "Atlas", 4.4, 61),
    ("oak-shelf", "Oak wall shelf", "119.00", "EUR", "Oak & Iron", 4.1, 145),
    ("clay-vase", "Terracotta clay vase", "39.00", "EUR", "Casa", 4.9, 308),
    ("felt-chair", "Felt lounge chair", "459.00", "EUR", "Nordhem", 4.0, 29),
    ("cork-stool", "Cork stool", "74.50", "EUR", "Casa", 4.5, 118),
)
RECIPES = (
    ("lentil-soup", "Red lentil soup", "PT15M", "PT30M", 4, "red lentils|carrots|cumin|lemon"),
    ("shakshuka", "Shakshuka", "PT10M", "PT25M", 2, "eggs|tomatoes|peppers|paprika"),
    ("apple-tart", "Apple tart", "PT30M", "PT45M", 8, "apples|butter|flour|sugar"),
    ("miso-ramen", "Miso ramen", "PT20M", "PT1H10M", 4, "miso|noodles|stock|spring onion"),
    ("focaccia", "Rosemary focaccia", "PT25M", "PT20M", 6, "flour|yeast|olive oil|rosemary"),
    ("dal-tadka", "Dal tadka", "PT10M", "PT40M", 4, "yellow lentils|ghee|garlic|cumin seeds"),
)
ARTICLES = (
    ("city-bees", "The bees that moved to the city", "Mara Lindt", "2026-03-04T08:00:00+01:00"),
    ("night-trains", "Night trains are back", "Jonas Ferrer", "2026-04-18T06:30:00+02:00"),
    ("paper-maps", "Why paper maps still sell", "Mara Lindt", "2026-05-02T12:00:00+02:00"),
    ("cold-water", "A winter of cold water", "Ines Okafor", "2026-02-11T07:45:00+01:00"),
    ("repair-cafes", "Inside the repair cafés", "Jonas Ferrer", "2026-06-21T09:15:00+02:00"),
    ("quiet-streets", "Quieter streets, slower cars", "Ines Okafor", "2026-07-09T10:00:00+02:00"),
)
PLACES = (
    ("harbour-baths", "Harbour Baths", "Kai 4", "Aarhus", "DK", 56.1629, 10.2177),
    ("glass-house", "The Glass House", "Parkweg 12", "Graz", "AT", 47.0707, 15.4395),
    ("tin-mine", "Old Tin Mine", "Mine Road 1", "St Just", "GB", 50.1247, -5.6798),
)
APPS = (
    ("trail-notes", "Trail Notes", "310633997", "test.trailnotes", "Travel"),
    ("bread-timer", "Bread Timer", "310633998", "test.breadtimer", "Food"),
)
FILLER = (
    "Everything on this page was made by hand and is shown here in full. "
    "Measurements are given to the nearest centimetre, times to the nearest minute. "
    "Readers have asked for more detail, and more detail there is. "
)


def web() -> Web:
    """Return all demo sites."""
    return {
        "www.shop.test": _shop_pages(),
        "kitchen.test": _kitchen_pages(),
        "news.test": _news_pages(),
        "m.news.test": _mobile_news_pages(),
        "travel.test": _travel_pages(),
        "apps.test": _app_pages(),
        "old.test": _old_pages(),
        "private.test": _private_pages(),
        "busy.test": _busy_pages(),
        "odd.test": _odd_pages(),
    }


def seeds() -> list[str]:
    """Return the URLs of the first run: every page, some variants of URLs, and failing URLs."""
    urls = [
        f"http://{host}{path}"
        for host, pages in web().items()
        for path in pages
        if path not in NOT_PAGES
    ]
    return [
        *urls,
        "HTTP://WWW.Shop.Test:80/p/walnut-desk?utm_source=letter",
        "http://www.shop.test/p/brass-lamp?sessionid=8f14e45fceea167a5a36dedd4bea2543",
        "http://kitchen.test/./r/../r/shakshuka#comments",
        "http://odd.test/nothing-here",
        "http://nobody-lives-here.test.invalid/",
    ]


def _html(title: str, head: str, body: str, links: str = "", lang: str = "en") -> DemoPage:
    return DemoPage(
        f"""<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{title}: made by hand, shown in full.">
{head}</head>
<body><nav>{links}</nav><main><h1>{title}</h1>
{body}
<p>{FILLER * 6}</p></main><footer><a href="/about" rel="nofollow">About</a></footer></body></html>
""".encode()
    )


def _json_ld(data: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>\n'


def _open_graph(**tags: str) -> str:
    return "".join(
        f'<meta property="{name.replace("_", ":")}" content="{value}">\n'
        for name, value in tags.items()
    )


def _index(title: str, paths: list[tuple[str, str]]) -> DemoPage:
    links = "\n".join(f'<a href="{path}">{text}</a>' for path, text in paths)
    return _html(title, _open_graph(og_type="website", og_title=title), f"<p>{FILLER}</p>", links)


def _shop_pages() -> dict[str, DemoPage]:
    pages = {"/": _index("The Shop", [(f"/p/{p[0]}", p[1]) for p in PRODUCTS])}
    for slug, name, price, currency, brand, rating, count in PRODUCTS:
        url = f"http://www.shop.test/p/{slug}"
        data = {
            "@context": "https://schema.org",
            "@type": "Product",
            "name": name,
            "brand": {"@type": "Brand", "name": brand},
            "image": [f"http://www.shop.test/img/{slug}-large.jpg"],
            "offers": {
                "@type": "Offer",
                "price": price,
                "priceCurrency": currency,
                "availability": "https://schema.org/InStock",
            },
            "aggregateRating": {
                "@type": "AggregateRating",
                "ratingValue": rating,
                "reviewCount": count,
            },
        }
        head = f'<link rel="canonical" href="{url}">\n' + _json_ld(data)
        links = "".join(f'<a href="/p/{p[0]}?ref=also">{p[1]}</a> ' for p in PRODUCTS)
        pages[f"/p/{slug}"] = _html(name, head, f"<p>{FILLER * 10}</p>", links)
        pages[f"/p/{slug}?colour=oak"] = pages[f"/p/{slug}"]
    return pages


def _kitchen_pages() -> dict[str, DemoPage]:
    pages = {"/": _index("The Kitchen", [(f"/r/{r[0]}", r[1]) for r in RECIPES])}
    for slug, name, prep, cook, serves, ingredients in RECIPES:
        items = "".join(
            f'<li itemprop="recipeIngredient">{100 + 20 * n} g {ingredient}</li>'
            for n, ingredient in enumerate(ingredients.split("|"))
        )
        body = f"""<div itemscope itemtype="https://schema.org/Recipe">
<h2 itemprop="name">{name}</h2><img itemprop="image" src="/img/{slug}.jpg" alt="">
<time itemprop="prepTime" datetime="{prep}"></time>
<time itemprop="cookTime" datetime="{cook}"></time>
<span itemprop="recipeYield">{serves} servings</span><ul>{items}</ul>
<ol itemprop="recipeInstructions">
<li>Chop everything.</li><li>Cook it slowly.</li><li>Eat.</li></ol>
</div>"""
        head = _open_graph(
            og_type="article", og_title=name, og_image=f"http://kitchen.test/img/{slug}.jpg"
        )
        pages[f"/r/{slug}"] = _html(name, head, body, '<a href="/">All recipes</a>')
    return pages


def _news_pages() -> dict[str, DemoPage]:
    pages = {"/": _index("The News", [(f"/{a[0]}", a[1]) for a in ARTICLES])}
    for slug, title, author, published in ARTICLES:
        url = f"http://news.test/{slug}"
        head = _open_graph(
            og_type="article",
            og_title=title,
            og_url=url,
            og_site_name="The News",
            og_image=f"http://news.test/img/{slug}.jpg",
            article_published_time=published,
            article_author=author,
        )
        head += f'<link rel="canonical" href="{url}">\n<link rel="amphtml" href="{url}/amp">\n'
        links = "".join(f'<a href="/{a[0]}">{a[1]}</a> ' for a in ARTICLES)
        pages[f"/{slug}"] = _html(title, head, f"<p>{FILLER * 12}</p>", links)
    return pages


def _mobile_news_pages() -> dict[str, DemoPage]:
    return {path: page for path, page in _news_pages().items() if path != "/"}


def _travel_pages() -> dict[str, DemoPage]:
    pages = {"/": _index("Travel", [(f"/{p[0]}", p[1]) for p in PLACES])}
    pages["/sitemap.xml"] = _sitemap("sitemapindex", "sitemap", ["/sitemaps/places.xml"])
    pages["/sitemaps/places.xml"] = _sitemap("urlset", "url", [f"/{p[0]}" for p in PLACES])
    for slug, name, street, city, country, lat, lon in PLACES:
        data = {
            "@context": "http://schema.org",
            "@graph": [
                {
                    "@type": "TouristAttraction",
                    "name": name,
                    "address": {
                        "@type": "PostalAddress",
                        "streetAddress": street,
                        "addressLocality": city,
                        "addressCountry": country,
                    },
                    "geo": {"@type": "GeoCoordinates", "latitude": lat, "longitude": lon},
                }
            ],
        }
        pages[f"/{slug}"] = _html(name, _json_ld(data), f"<p>{FILLER * 4}</p>")
    movie = {
        "@context": "https://schema.org",
        "@type": "Movie",
        "name": "The Long Harbour",
        "director": {"@type": "Person", "name": "Signe Holm"},
        "duration": "PT1H52M",
        "dateCreated": "2025-09-12",
    }
    pages["/cinema/the-long-harbour"] = _html(
        "The Long Harbour", _json_ld(movie), f"<p>{FILLER}</p>"
    )
    return pages


def _sitemap(root: str, entry: str, paths: list[str]) -> DemoPage:
    entries = "".join(f"<{entry}><loc>http://travel.test{p}</loc></{entry}>" for p in paths)
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    text = f'<?xml version="1.0" encoding="UTF-8"?><{root} {space}>{entries}</{root}>'
    return DemoPage(text.encode(), content_type="application/xml")


def _app_pages() -> dict[str, DemoPage]:
    pages = {"/": _index("Apps", [(f"/{a[0]}", a[1]) for a in APPS])}
    for slug, name, ios, package, category in APPS:
        head = _open_graph(
            og_title=name,
            al_ios_app_name=name,
            al_ios_app_store_id=ios,
            al_android_package=package,
            al_android_app_name=name,
        )
        data = {
            "@context": "https://schema.org",
            "@type": "MobileApplication",
            "name": name,
            "applicationCategory": category,
            "operatingSystem": "iOS, Android",
            "offers": {"@type": "Offer", "price": "0", "priceCurrency": "USD"},
        }
        pages[f"/{slug}"] = _html(name, head + _json_ld(data), f"<p>{FILLER}</p>")
    return pages


def _redirect(to: str, status: int = 301) -> DemoPage:
    return DemoPage(b"moved", status, "text/plain", {"Location": to})


def _old_pages() -> dict[str, DemoPage]:
    redirects = {f"/{a[0]}.html": _redirect(f"http://news.test/{a[0]}") for a in ARTICLES}
    return {
        **redirects,
        "/today": _redirect("http://news.test/night-trains", 302),
        "/chain/1": _redirect("/chain/2"),
        "/chain/2": _redirect("http://old.test/chain/3", 308),
        "/chain/3": _redirect("http://kitchen.test/r/focaccia"),
        "/loop/1": _redirect("/loop/2"),
        "/loop/2": _redirect("/loop/1"),
    }


def _private_pages() -> dict[str, DemoPage]:
    robots = b"User-agent: *\nDisallow: /members/\nAllow: /members/join$\nCrawl-delay: 0.5\n"
    return {
        "/robots.txt": DemoPage(robots, content_type="text/plain"),
        "/": _html("The Club", "", '<a href="/members/list">Members</a>'),
        "/members/join": _html("Join the Club", "", f"<p>{FILLER}</p>"),
        "/members/list": _html("Members", "", "<p>Not for everybody.</p>"),
        "/members/minutes": _html("Minutes", "", "<p>Not for everybody.</p>"),
    }


def _busy_pages() -> dict[str, DemoPage]:
    page = _html("Worth the wait", "", f"<p>{FILLER}</p>")
    return {"/worth-the-wait": DemoPage(page.body, busy_times=2)}


def _odd_pages() -> dict[str, DemoPage]:
    latin = "<!doctype html><title>Grüße aus Köln</title><p>Ein Gruß".encode("latin-1")
    return {
        "/binary": DemoPage(bytes(range(256)) * 8, content_type="application/octet-stream"),
        "/empty": DemoPage(b""),
        "/latin": DemoPage(latin, content_type="text/html"),
        "/broken": DemoPage(b"<p>an error", 500),
        "/gone": DemoPage(b"<p>gone", 410),
        "/half": DemoPage(b"<title>Half a page</title><p>and then", declared_length=5000),
    }
