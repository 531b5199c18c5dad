"""Authors, dates and pictures of articles in visible text, and those that belong to something else."""

from __future__ import annotations

import pytest
from pins import pin

from richpins.rich_pins import RichPin

STORY = "<p>The council met, and decided to plant more leeks in the town's parks this year.</p>"
DAY = "<p>Published 6 May 2024</p>"


def article(body: str, head: str = "") -> RichPin:
    return pin(f"<meta property=og:type content=article>{head}{body}", url="http://paper.test/a/b")


@pytest.mark.parametrize(
    ("byline", "names"),
    [
        ("<address>By <a href=/p/7>Ann Lee</a></address>", ("Ann Lee",)),
        ("<address><a href=/p/7>Ann Lee</a></address>", ("Ann Lee",)),
        ("<p><b>Ann Lee</b></p><p>6 May 2024</p>", ("Ann Lee",)),
        (
            "<div><strong>Ann de la Lee</strong></div><time datetime=2024-05-06>6 May</time>",
            ("Ann de la Lee",),
        ),
        # A postal address, a subtitle, the site's address, and a bold line without a date.
        ("<address>12 High Street, Leek Town</address>", ()),
        ("<p><b>What the town decided</b></p><p>6 May 2024</p>", ()),
        ("<footer><address><a href=/>Ann Lee</a></address></footer>", ()),
        ("<p><b>Ann Lee</b></p><p>The mayor spoke.</p>", ()),
    ],
)
def test_author_is_found_in_an_address_or_in_bold_below_the_title(byline, names):
    assert article(f"<article><h1>Leeks</h1>{byline}{STORY}</article>").authors == names


@pytest.mark.parametrize(
    "text", ["Logout", "Sign out", "My Account", "Leek News", "Leek Town Times"]
)
def test_menu_item_or_publisher_is_not_an_author(text):
    assert article(f"<h1>Leeks</h1><span class=author>{text}</span>{STORY}").authors == ()


@pytest.mark.parametrize(
    "other",
    [
        "<aside><time datetime=2024-09-09>9 September</time></aside>",
        "<div class=teaser><time datetime=2024-09-09>9 September</time></div>",
        "<a href=/c><h3>Carrots</h3><time datetime=2024-09-09>9 September</time></a>",
        "<nav><span class=date>9 September 2024</span></nav>",
    ],
)
def test_date_of_another_article_is_a_last_resort(other):
    shown = article(f"{other}<h1>Leeks</h1>{DAY}{STORY}")
    alone = article(f"{other}<h1>Leeks</h1>{STORY}")

    assert (str(shown.published_at), str(alone.published_at)) == ("2024-05-06", "2024-09-09")


FIGURE = "<figure><img src=/leeks.jpg></figure>"


@pytest.mark.parametrize(
    ("body", "image"),
    [
        (f"<article><h1>Leeks</h1>{FIGURE}{STORY}</article>", "http://paper.test/leeks.jpg"),
        (f"<main><h1>Leeks</h1><div>{FIGURE}</div></main>", "http://paper.test/leeks.jpg"),
        (f"<article><h1>Leeks</h1>{FIGURE.replace('leeks', 'logo')}</article>", None),
        (f"<article><h1>Leeks</h1><img src=/leeks.gif>{STORY}</article>", None),
        (f"<h1>Leeks</h1><article>{FIGURE}</article><article>{FIGURE}</article>", None),
        (f"<h1>Leeks</h1>{FIGURE}", "http://paper.test/leeks.jpg"),
    ],
)
def test_first_figure_is_the_image_if_none_is_declared(body, image):
    page = article(body)

    assert (page.image.url if page.image else None) == image
    offered = article(body, "<meta property=og:image content=http://paper.test/o.jpg>").image
    assert offered is not None
    assert offered.url.endswith("/o.jpg")
