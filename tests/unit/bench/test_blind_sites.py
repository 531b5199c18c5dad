"""The sites for blind scoring: properties that their scoring relies on."""

from collections import deque

import pytest

from bench.traps.blind_harmless import blind_harmless_sites
from bench.traps.blind_trapped import blind_trapped_sites
from richpins import document, links

TRAPPED, HARMLESS = blind_trapped_sites(), blind_harmless_sites()
MAX_OF_TRAP = 150


def links_of(site, target, body):
    page = document.parse(
        body.encode(), url=f"http://{site.host}{target}", content_type="text/html; charset=utf-8"
    )
    return [
        link.url.removeprefix(f"http://{site.host}")
        for link in links.extract(page)
        if link.url.startswith(f"http://{site.host}/")
    ]


def reached_outside_traps(site):
    """Real pages found breadth-first by links of real pages, and other targets of those links."""
    queue, found, others = deque(["/"]), set(), []
    asked = {"/"}
    while queue:
        target = queue.popleft()
        answer = site.answer(target)
        if answer.in_trap or answer.page in found:
            others.append(target)
        elif answer.status == 200:
            found.add(answer.page)
            new = [url for url in links_of(site, target, answer.body) if url not in asked]
            asked.update(new)
            queue.extend(new)
    return found, others


@pytest.mark.parametrize("site", HARMLESS, ids=lambda site: site.host)
def test_harmless_site_has_every_page_once_and_nothing_else(site):
    found, others = reached_outside_traps(site)

    assert found == site.pages
    assert not others


@pytest.mark.parametrize("site", TRAPPED, ids=lambda site: site.host)
def test_all_real_pages_are_reached_by_links_outside_the_trap(site):
    found, others = reached_outside_traps(site)

    assert found == site.pages
    assert others


@pytest.mark.parametrize("site", TRAPPED, ids=lambda site: site.host)
def test_trap_has_more_urls_than_the_site_has_pages(site):
    _, others = reached_outside_traps(site)
    queue, asked = deque(others), set(others)
    while queue and len(asked) < MAX_OF_TRAP + len(site.pages):
        target = queue.popleft()
        new = [url for url in links_of(site, target, site.answer(target).body) if url not in asked]
        asked.update(url for url in new if site.answer(url).status == 200)
        queue.extend(url for url in new if url in asked)

    assert len(asked) > len(site.pages)
