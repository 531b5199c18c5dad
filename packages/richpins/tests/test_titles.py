"""Title, author and date of a page that are found only in its visible content."""

from __future__ import annotations

import pins as rich_pins
import pytest


def pin(markup: str, url: str = "https://www.longpot.test/x"):
    return rich_pins.pin(markup, url)


def test_logo_that_matches_the_host_gives_the_site_name():
    rich_pin = pin('<title>Soup</title><a href=/><img alt="Long Pot"></a><p>longpot</p>')

    assert rich_pin.site_name == "Long Pot"


def test_lowercase_host_is_not_a_site_name():
    assert pin("<title>Soup</title><a href=/>longpot</a>").site_name is None


def test_site_name_with_spaces_is_preferred_to_one_without():
    rich_pin = pin(
        '<meta property=og:site_name content="Long Pot">'
        '<script type="application/ld+json">{"@type":"WebSite","name":"Longpot"}</script>'
    )

    assert rich_pin.site_name == "Long Pot"


def test_domain_with_capital_letters_is_a_site_name():
    capitals = pin(
        '<meta property=og:site_name content="LongPot.test"><meta name=application-name content=Pot>'
    )
    small = pin(
        '<meta property=og:site_name content="longpot.test"><meta name=application-name content=Pot>'
    )

    assert (capitals.site_name, small.site_name) == ("LongPot.test", "Pot")


def test_host_before_an_absolute_url_is_removed():
    rich_pin = pin('<meta property=og:image content="https://longpot.testhttps://cdn.test/a.jpg">')

    assert rich_pin.image.url == "https://cdn.test/a.jpg"


def test_image_matching_the_title_is_used_if_none_is_declared():
    rich_pin = pin(
        '<h1>Green leek soup</h1><img src="/logo.png" alt="Green leek"><img src="/a.jpg" alt="A dog">'
        '<img data-src="/b.jpg" alt="leek soup in green">'
    )

    assert rich_pin.image.url == "https://www.longpot.test/b.jpg"
    assert rich_pin.provenance["page.image"].syntax == "html"


ICON = '<meta property=og:image content="/favicon-32x32.png">'
SMALL = (
    "<meta property=og:image content=/x.png><meta property=og:image:width content=32>"
    "<meta property=og:image:height content=32>"
)


@pytest.mark.parametrize("offered", [ICON, SMALL, "<meta name=twitter:image content=/icon.png>"])
def test_declared_icon_loses_to_a_picture_of_the_article(offered):
    picture = '<article><h1>Leek soup</h1><img src="/b.jpg" alt="Leek soup"></article>'

    assert pin(offered + picture).image.url == "https://www.longpot.test/b.jpg"
    assert pin(offered + "<h1>Leek soup</h1>").image is not None


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ("srcset='/s.jpg 300w, /l.jpg 900w'", "l.jpg"),
        ("srcset='/s.jpg, /l.jpg 2x' src='data:image/gif;base64,R0='", "l.jpg"),
        ("data-srcset='/w=8,h=4/a.jpg 8w,/w=9,h=5/a.jpg 900w'", "w=9,h=5/a.jpg"),
        ("srcset='data:image/gif;base64,R0= 1w, /l.jpg 900w'", "l.jpg"),
        ("srcset='/s.jpg 300w' src='/src.jpg'", "src.jpg"),
    ],
)
def test_picture_may_have_only_a_srcset(attributes, name):
    rich_pin = pin(f"<h1>Leek soup</h1><img alt='Leek soup' {attributes}>")

    assert rich_pin.image.url == f"https://www.longpot.test/{name}"


@pytest.mark.parametrize("srcset", ["", " , ", "data:image/gif;base64,R0= 1w", "," * 30_000])
def test_srcset_without_a_url_is_not_a_picture(srcset):
    assert pin(f"<h1>Leek soup</h1><img alt='Leek soup' srcset='{srcset}'>").image is None


@pytest.mark.parametrize("size", ["width=100%", "width='50%' height=auto", "width=20em"])
def test_relative_size_does_not_make_an_image_small(size):
    rich_pin = pin(f"<h1>Leek soup</h1><img alt='Leek soup' src=/soup.jpg {size}>")

    assert rich_pin.image.url.endswith("/soup.jpg")
    assert rich_pin.image.width is None


def test_large_image_is_used_if_none_matches_the_title():
    html = '<h1>Soup</h1><img src="/s.gif"><img src="/b.jpg" width=640 height=480>'
    assert pin(html).image.url == "https://www.longpot.test/b.jpg"


def test_recipe_without_an_author_uses_the_author_of_its_post():
    post = '{"@type":"BlogPosting","headline":"Soup","author":{"name":"Ann Lee"}}'
    recipe = '{"@type":"Recipe","name":"Soup","recipeIngredient":["x"]}'
    rich_pin = pin(f'<script type="application/ld+json">[{post},{recipe}]</script>')

    assert rich_pin.authors == ("Ann Lee",)


def test_date_is_read_from_an_element_with_a_date_class():
    rich_pin = pin("<h1>Soup</h1><p class=post-date>Published on May 26, 2016</p>")

    assert rich_pin.published_at.isoformat() == "2016-05-26"


@pytest.mark.parametrize(
    "shown",
    ["<span class=date>May 26, 2016</span>", "<time datetime=2016-05-26>May 26, 2016</time>"],
)
def test_comment_date_is_not_the_page_date(shown):
    rich_pin = pin(f"<ol class=comments><li>{shown}</li></ol>")

    assert rich_pin.published_at is None


def test_ambiguous_visible_date_is_ignored():
    assert pin("<p class=date>03/04/2016</p>").published_at is None


def test_publisher_of_a_book_is_not_the_site():
    book = '{"@type":"Book","name":"B","publisher":{"name":"Little Press"}}'

    assert pin(f'<script type="application/ld+json">{book}</script>').site_name is None


def test_time_of_another_property_is_not_the_publication_date():
    rich_pin = pin(
        "<div itemscope itemtype='https://schema.org/Store'><b itemprop=name>S</b>"
        "<p itemprop=openingHoursSpecification itemscope><time itemprop=validFrom "
        "datetime='2013-12-24'>24 December 2013</time></p></div>"
    )

    assert rich_pin.published_at is None


def test_review_date_is_not_the_product_date():
    rich_pin = pin(
        "<div vocab='https://schema.org/' typeof=Product><b property=name>P</b><div property=review "
        "typeof=Review><meta property=datePublished content='2011-04-01'></div></div>"
    )

    assert (rich_pin.type, rich_pin.published_at) == ("product", None)


def test_date_in_a_meta_element_belongs_to_the_page():
    assert (
        pin("<meta name=datePublished content='2011-04-01'>").published_at.isoformat()
        == "2011-04-01"
    )


BLOG = "<h1><a href='/'>My Blog</a></h1>"


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("Leek soup - My Blog", f"{BLOG}<h2>Popular posts</h2><h2>Leek soup</h2>", "Leek soup"),
        ("Leek soup - My Blog", f"{BLOG}<h2>Popular posts</h2><h3>Leek soup</h3>", "Leek soup"),
        ("Leek soup - My Blog", f"{BLOG}<h2>Popular posts</h2>", "Leek soup"),
        ("Leek soup - My Blog", f"{BLOG}<main><h2>Navigation</h2></main>", "Leek soup"),
        ("Leek soup - My Blog", f"{BLOG}<h2>My Blog</h2><h2>Soups</h2>", "Leek soup"),
        ("Leek soup | My Blog", f"{BLOG}<article><h2>Leek  soup!</h2>", "Leek soup!"),
        ("My Blog", f"{BLOG}<h2>Popular posts</h2>", "My Blog"),
        ("Leek soup - Recipes - My Blog", "<h1>Recipes</h1>", "Leek soup - Recipes"),
        ("Leek soup - Recipes - My Blog", "<h1>Leek soup</h1>", "Leek soup"),
    ],
)
def test_heading_is_the_title_only_if_repeated_elsewhere(head, body, title):
    site = "<meta property=og:site_name content='My Blog'>"

    assert pin(f"<title>{head}</title>{site}{body}").title == title


def test_heading_that_repeats_the_og_title_is_the_title():
    markup = "<title>My Blog</title><meta property=og:title content='Leek soup'>"

    page = pin(f"{markup}{BLOG}<h2>Popular posts</h2><h2>Leek Soup</h2>")
    assert page.title == "Leek Soup"


@pytest.mark.parametrize(
    "untitled",
    ["Untitled document", "Untitled Document", "untitled", "New Page 1", "{{title}}", "{{ page.title }}",
     "${title} {{site}}", "undefined", "Documento sin título", "Unbenanntes Dokument", "无标题文档"],
)  # fmt: skip
def test_placeholder_title_is_ignored(untitled):
    assert pin(f"<title>{untitled}</title><h1>Leeks in winter</h1>").title == "Leeks in winter"
    assert pin(f"<title>{untitled}</title><p>text").title is None
    og = f'<meta property=og:title content="{untitled}">'
    assert pin(f"{og}<title>Leeks in winter</title>").title == "Leeks in winter"


@pytest.mark.parametrize(
    "title", ["Untitled document of 1820", "How to write {{ title }} in a template", "New Page"]
)
def test_title_that_mentions_a_placeholder_is_kept(title):
    assert pin(f"<title>{title}</title><h1>{title}</h1>").title == title


def test_picture_named_untitled_keeps_its_name():
    assert pin("<title>Untitled - Museum</title><h1>Untitled</h1>").title == "Untitled"


@pytest.mark.parametrize(
    "title",
    [
        "__future__ — Future statements",
        "_thread — Threads of a low level",
        "Bytes and bytearrays_",
        "«Leeks» in winter~",
        "C:\\_files_ on a disk",
    ],
)
def test_mark_at_the_start_or_end_of_a_title_is_kept(title):
    page = pin(f"<title>{title} — The manual</title><h1>{title}</h1>")

    assert page.title == title
