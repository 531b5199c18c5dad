import pytest

from aragog.crawl.traps.site_functions import function_of

SITE = "https://www.example.org"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("/index.php?title=Bridge&action=history", "action=history"),
        ("/wiki/Special:WhatLinksHere/Bridge", "whatlinkshere"),
        ("/kim/tool/src/blame/main/read.c", "blame"),
        ("/kim/tool/patch/?id=4f9ab2c1d0e8", "patch"),
        ("/2024/old-bridge/?replytocom=12", "replytocom"),
        ("/2024/05/old-bridge/feed/", "feed"),
        ("/list?filter%5Bcolor%5D=red", "filter"),
        ("/index.php?route=product/compare", "route=product/compare"),
        ("/search.php?author=3", "search"),
        ("/login?redirect=/", "redirect"),
        ("/kim/tool/src/commit/4f9ab2c1d0e8/read.c", "commit"),
        ("/kim/tool/commits/branch/main/read.c", "commits"),
        ("/kim/tool/tree/4f9ab2c1d0e8", "tree"),
        ("/tool/tree/read.c?id=4f9ab2c1d0e8", "tree"),
    ],
)
def test_urls_of_functions_are_recognized(url, word):
    assert function_of(SITE + url) == word


@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/history/the-old-bridge",
        "/print-shops/12",
        "/news/2024/05/",
        "/viewtopic.php?f=2&t=91&start=20",
        "/index.php?option=content&view=article&id=3",
        "/index.php?route=product/category&path=20",
        "/?q=node/12",
        "/wiki/Edit_war",
        "/kim/tool/commit/4f9ab2c1d0e8",
        "/tool/commit/?id=4f9ab2c1d0e8",
        "/kim/tool/commits/branch/main",
        "/kim/tool/src/main/read.c",
        "/tool/tree/read.c?h=main",
    ],
)
def test_urls_of_other_pages_are_not(url):
    assert not function_of(SITE + url)


def test_names_of_functions_are_found_in_escaped_urls():
    assert function_of(f"{SITE}/wiki/Special%3AWhatLinksHere/Bridge") == "whatlinkshere"
