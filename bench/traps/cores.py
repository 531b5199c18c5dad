"""The real pages of hosts with traps, with URLs like those of blogs, papers, shops and scripts."""

from __future__ import annotations

from bench.traps.site import Core


def path_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, _number, slug: f"/{section}/{slug}/",
        lambda section, page: f"/{section}/" + (f"page/{page}/" if page > 1 else ""),
    )


def dated_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda _section, number, slug: f"/{2019 + number % 7}/{number % 12 + 1:02}/{slug}.html",
        lambda section, page: f"/topics/{section}" + (f"?page={page}" if page > 1 else ""),
    )


def titled_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda _section, _number, slug: f"/wiki/{slug}",
        lambda section, page: f"/category/{section}" + (f"?from={page}" if page > 1 else ""),
    )


def script_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, number, _slug: f"/{section}/view.jsp?item={number}",
        lambda section, page: f"/{section}/list.jsp" + (f"?page={page}" if page > 1 else ""),
    )


def plain_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda section, _number, slug: f"/{section}/{slug}.html",
        lambda section, page: f"/{section}/" + (f"index{page}.html" if page > 1 else ""),
    )


def node_core(host: str, articles: int) -> Core:
    return Core(
        host,
        articles,
        lambda _section, number, _slug: f"/node/{number}",
        lambda section, page: f"/taxonomy/{section}" + (f"?page={page}" if page > 1 else ""),
    )
