"""A loopback copy of the markup of quotes.toscrape.com: pages of quotes, and one page per author."""

HOST = "quotes.toscrape.com"
PAGES, QUOTES, AUTHORS_A_PAGE = 10, 10, 5


def author(number: int) -> str:
    """Return the name of an author. Each is quoted on one page and named twice there."""
    return f"Author-{number}"


def authors() -> set[str]:
    """Return all authors."""
    return {author(number) for number in range(PAGES * AUTHORS_A_PAGE)}


def quotes() -> set[str]:
    """Return all quotes."""
    return {f"Quote {number}" for number in range(PAGES * QUOTES)}


def site() -> dict[str, str]:
    """Return the body of each path."""
    listed = {f"/page/{page}/": _page(page) for page in range(1, PAGES + 1)}
    people = {f"/author/{name}": _author(name) for name in authors()}
    return {"/": _page(1), **listed, **people, "/robots.txt": "User-agent: *\nDisallow: /login\n"}


def _page(page: int) -> str:
    shown = "".join(map(_quote, range((page - 1) * QUOTES, page * QUOTES)))
    next_link = (
        f'<li class="next"><a href="/page/{page + 1}/">Next</a></li>' if page < PAGES else ""
    )
    return (
        f'<title>Quotes</title>{shown}<a href="/login">Login</a><ul class="pager">{next_link}</ul>'
    )


def _quote(number: int) -> str:
    name = author(number * AUTHORS_A_PAGE // QUOTES)
    return f"""<div class="quote"><span class="text">Quote {number}</span>
<span>by <small class="author">{name}</small> <a href="/author/{name}">(about)</a></span>
<div class="tags">Tags: <a class="tag" href="/tag/odd/">odd</a></div></div>"""


def _author(name: str) -> str:
    return f"""<title>{name}</title><div class="author-details"><h3 class="author-title">{name}
</h3><p>Born: <span class="author-born-date">March 14, 1879</span></p></div>"""
