"""Title, authors and publication date of a page whose sources disagree."""

from __future__ import annotations

from datetime import date

import orjson
import pytest

from richpins.extraction import extract
from richpins.page_facts.publication import date_in_url, person_names
from richpins.rich_pins import RichPin

URL = "https://www.example.org/a/1"


def pin(head: str = "", body: str = "", *, url: str = URL, **item: object) -> RichPin:
    block = orjson.dumps({"@context": "https://schema.org", **item}).decode() if item else ""
    script = f'<script type="application/ld+json">{block}</script>' if item else ""
    return extract(f"<html><head>{head}{script}</head><body>{body}</body></html>".encode(), url)


def test_headline_found_nowhere_on_the_page_loses_to_the_name():
    rich_pin = pin(
        "<title>Lake Erie - The Encyclopedia</title>",
        "<h1>Lake Erie</h1>",
        **{"@type": "Article", "name": "Lake Erie", "headline": "short text on a body of water"},
    )
    assert rich_pin.title == "Lake Erie"
    assert rich_pin.provenance["page.title"].position == "json-ld[0].name"


def test_headline_is_kept_if_title_and_heading_disagree_too():
    rich_pin = pin(
        "<title>Index</title>", "<h1>Welcome</h1>", **{"@type": "Article", "headline": "A Storm"}
    )
    assert rich_pin.title == "A Storm"


def test_headline_that_matches_the_url_is_kept():
    rich_pin = pin(
        "<title>Rain, rain, rain</title>",
        "<h1>Rain, rain, rain</h1>",
        url="https://example.org/storm-hits-the-northern-coast",
        **{"@type": "Article", "headline": "Storm hits the northern coast"},
    )
    assert rich_pin.title == "Storm hits the northern coast"


@pytest.mark.parametrize("tag", ["Lyft extends rides", "Lyft extends rides | Example"])
def test_h1_with_the_site_name_is_not_the_title(tag):
    assert pin(f"<title>{tag}</title>", "<h1>Example</h1>").title == "Lyft extends rides"


def test_h1_contained_in_the_title_is_chosen_among_several():
    body = "<h1>Daily deals</h1><h1>Lyft extends free rides</h1>"
    assert pin("<title>Lyft extends free rides: details</title>", body).title == (
        "Lyft extends free rides"
    )


def test_section_after_the_title_is_cut_if_the_heading_lacks_it():
    head = (
        "<title>Kyiv - National | Example</title><meta property=og:title content='Kyiv - National'>"
    )
    assert pin(head, "<h1>Kyiv</h1>").title == "Kyiv"


@pytest.mark.parametrize(
    ("tag", "title"),
    [
        ("지역 축제가 다음 주에 열린다-문화ㅣExample", "지역 축제가 다음 주에 열린다"),
        ("这座城市的新图书馆下周开放_文化_好日报", "这座城市的新图书馆下周开放"),
        ("首页_文化_好日报", "首页_文化_好日报"),
        ("The new library_opens_tomorrow", "The new library_opens_tomorrow"),
    ],
)
def test_section_between_the_title_and_the_site_is_cut(tag, title):
    assert pin(f"<title>{tag}</title>").title == title


def test_soft_hyphen_is_not_a_space():
    assert pin("<title>Heli&shy;kopter&#8203;platz</title>").title == "Helikopterplatz"


def test_person_is_preferred_to_a_publisher_as_author():
    names = (
        "<meta name=author content='Big Press'><meta property=article:author content='Ann Baker'>"
    )
    assert pin(names).authors == ("Ann Baker",)


def test_byline_is_preferred_to_the_site_as_author():
    rich_pin = pin(
        "<meta property=og:site_name content='The Pot'>",
        "<h1>Soup</h1><p class=byline>By Ann Baker</p>",
        **{
            "@type": "Article",
            "headline": "Soup",
            "author": {"@type": "Person", "name": "The Pot"},
        },
    )
    assert rich_pin.authors == ("Ann Baker",)


def test_site_is_the_author_if_nobody_else_is_named():
    rich_pin = pin(
        "<meta property=og:site_name content='The Pot'><meta name=author content='The Pot'>"
    )
    assert rich_pin.authors == ("The Pot",)


def test_author_named_twice_is_preferred_to_one_named_once():
    rich_pin = pin(
        "<meta property=article:author content='Ann Baker'><meta name=author content='Ann Baker'>",
        **{"@type": "Article", "headline": "x", "author": "Web Team"},
    )
    assert rich_pin.authors == ("Ann Baker",)


def test_byline_with_all_authors_is_preferred_to_a_marked_first_author():
    body = (
        '<div class="author">Ann Lee</div><h1>Storm</h1><p>By <b>Ann Lee, Bo Kim and Cy Fox</b></p>'
        "<p>The storm has reached the coast.</p>"
    )
    assert pin("<title>Storm</title>", body).authors == ("Ann Lee", "Bo Kim", "Cy Fox")


def test_byline_after_the_heading_is_preferred_to_a_box_above():
    body = "<a class=author>Bob Other</a><h1>Soup</h1><span class=author>Ann Baker</span>"
    assert pin("<title>Soup</title>", body).authors == ("Ann Baker",)


def test_byline_words_in_adjacent_elements_stay_separate():
    body = "<h1>x</h1><p class=byline><b>By</b><a>Ann Baker</a></p>"
    assert pin(body=body).authors == ("Ann Baker",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Felix Braun und Ada Lang, dpa", ("Felix Braun", "Ada Lang", "dpa")),
        ("Ann Baker and Bob Other", ("Ann Baker", "Bob Other")),
        ("Elena Muster (obe)", ("Elena Muster",)),
        ("Ministry of Health and Family Welfare", ("Ministry of Health and Family Welfare",)),
        ("Rock and Roll", ("Rock and Roll",)),
        ("Baker, Ann", ("Baker, Ann",)),
        ("신현주 기자", ("신현주",)),
    ],
)
def test_several_people_in_one_text_are_several_names(text, names):
    assert person_names(text) == names


def test_date_confirmed_by_most_sources_and_the_url_is_the_publication_date():
    rich_pin = pin(
        "<meta property=article:published_time content=2024-03-05T10:00:00Z>",
        url="https://example.org/2024/03/05/storm",
        **{"@type": "Article", "headline": "Storm", "datePublished": "2022-08-09"},
    )
    assert str(rich_pin.published_at) == "2024-03-05 10:00:00+00:00"


def test_first_date_is_kept_if_none_is_confirmed():
    rich_pin = pin(
        "<meta property=article:published_time content=2024-03-06>",
        **{"@type": "Article", "headline": "Storm", "datePublished": "2024-03-05"},
    )
    assert rich_pin.published_at == date(2024, 3, 5)


@pytest.mark.parametrize("path", ["2016/12/14/x", "news/20161214-x.html"])
def test_date_in_the_url_path_is_found(path):
    assert date_in_url(f"https://a.test/{path}") == date(2016, 12, 14)


@pytest.mark.parametrize("path", ["2016/12/x", "2016/13/40/x", "x?d=2016/12/14", "p/120161214"])
def test_url_without_a_date_in_its_path_has_no_date(path):
    assert date_in_url(f"https://a.test/{path}") is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("OriginalPublicationDate", "2016/12/14"), ("parsely-pub-date", "2016-12-14"),
     ("publish-date", "14 December 2016")],
)  # fmt: skip
def test_date_is_read_from_meta_elements_with_many_names(name, content):
    assert pin(f"<meta name={name} content='{content}'>").published_at == date(2016, 12, 14)


def test_japanese_date_is_parsed():
    assert pin(body="<time>2019年3月4日 10時05分</time>").published_at.isoformat() == (
        "2019-03-04T10:05:00"
    )


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("<p><a rel=author>Ann Baker</a>, <a rel=author>Bob Other</a></p>",
         ("Ann Baker", "Bob Other")),
        ("<div><a rel=author>Ann Baker</a></div><div><a rel=author>Bob Other</a></div>",
         ("Ann Baker",)),
        (f"<div class=byline><i>By</i><b>Ann Baker</b><p>{'Text of a box. ' * 9}</p></div>",
         ("Ann Baker",)),
        ("<p>By <a href=/author/ann>Ann Baker</a></p>", ("Ann Baker",)),
        ("<p class=author>谢若含</p>", ("谢若含",)),
        ("<div class=byline><a>Ann Baker</a> / TNN / <span>Updated: Oct 9</span></div>",
         ("Ann Baker",)),
        ("<p class=author><a href=/author/paul/>Paul</a></p>", ("Paul",)),
        ("<div>By <span>Ann Baker</span></div>", ("Ann Baker",)),
        ("<b>By</b><i>by ANN BAKER, BO LEE and CY MOON</i>", ("ANN BAKER", "BO LEE", "CY MOON")),
        ("<p>Cooked by steam</p>", ()),
    ],
)  # fmt: skip
def test_names_are_found_in_many_kinds_of_bylines(body, names):
    assert pin("<title>Soup</title>", f"<h1>Soup</h1>{body}").authors == names


def test_heading_similar_to_the_title_is_preferred_to_og_title():
    head = "<title>Pot burns soup | The Pot</title><meta property=og:title content='It burned!'>"
    assert pin(head, "<h1>Pot burns the soup again</h1>").title == "Pot burns the soup again"


def test_unrelated_heading_is_not_preferred_to_og_title():
    head = "<title>Pot burns soup</title><meta property=og:title content='Pot burns soup'>"
    assert pin(head, "<h1>Kitchen weekly</h1>").title == "Pot burns soup"


def test_author_in_a_site_specific_meta_element_is_found():
    assert pin("<meta name=pot_authors content='Ann Baker'>").authors == ("Ann Baker",)


def test_number_is_not_an_author():
    assert pin("<meta name=has_author content=1>").authors == ()


def test_publisher_is_removed_from_a_list_of_people():
    head = "<meta property=og:site_name content='The Pot'>"
    authors = [{"name": "The Pot"}, {"name": "Ann Baker"}]
    rich_pin = pin(head, **{"@type": "Article", "headline": "Soup", "author": authors})
    assert rich_pin.authors == ("Ann Baker",)


def test_authors_marked_outside_any_item_belong_to_the_page():
    person = "<span itemprop=author itemscope itemtype=https://schema.org/Person><b itemprop=name>"
    body = f"<h1>Soup</h1>{person}Ann Baker</b></span>{person}Bo Lee</b></span>"
    rich_pin = pin("", body)
    assert (rich_pin.title, rich_pin.types, rich_pin.authors) == (
        "Soup",
        (),
        ("Ann Baker", "Bo Lee"),
    )


@pytest.mark.parametrize(
    "text", ["2019年3月4日", "2019.03.04", "March 4, 2019", "4 Mar 2019 10:05"]
)
def test_date_alone_after_the_heading_is_the_publication_date(text):
    published_at = pin("<title>Soup</title>", f"<h1>Soup</h1><p>{text}</p>").published_at
    assert published_at.isoformat()[:10] == "2019-03-04"


def with_product_at(address):
    article = {"@type": "NewsArticle", "headline": "Acme shows new watches", "url": URL}
    offers = {"@type": "Offer", "price": "217.37", "priceCurrency": "EUR"}
    offer = {"@type": "Product", "name": "Acme Watch 5", "url": address, "offers": offers}
    return pin("<title>Acme shows new watches</title>", **{"@graph": [article, offer]})


def test_offer_of_another_shop_is_not_the_subject_of_an_article():
    rich_pin = with_product_at("https://shop.test/watch-5")
    assert (rich_pin.type, rich_pin.title) == ("article", "Acme shows new watches")


def test_product_of_the_same_site_is_the_subject():
    assert with_product_at("https://shop.example.org/watch-5").type == "product"


def test_names_and_dates_on_a_product_page_belong_to_its_reviews():
    body = "<h1>Mug</h1><p><a rel=author>Ann Baker</a> <time datetime=2024-05-01>May</time></p>"
    rich_pin = pin("<title>Mug</title>", body, **{"@type": "Product", "name": "Mug"})
    assert (rich_pin.authors, rich_pin.published_at) == ((), None)


PARSELY = {
    "title": "A Storm",
    "link": "https://www.example.org/a/1",
    "pub_date": "2016-12-14T10:00:00Z",
    "section": "Weather",
    "authors": ["Ann Lee", "Bo Oh"],
    "tags": ["rain", "wind"],
    "image_url": "https://www.example.org/storm.jpg",
}


@pytest.mark.parametrize("one_element", [True, False])
def test_both_forms_of_parsely_are_parsed(one_element):
    """Each field in its own element, or all in one as JSON."""
    fields = [
        (name, value)
        for name, values in PARSELY.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    names = {"pub_date": "pub-date", "image_url": "image-url", "authors": "author"}
    head = (
        f"<meta name=parsely-page content='{orjson.dumps(PARSELY).decode()}'>"
        if one_element
        else "".join(f"<meta name='parsely-{names.get(n, n)}' content='{v}'>" for n, v in fields)
    )

    rich_pin = pin("<meta property=og:type content=article>" + head)

    assert rich_pin.title == "A Storm"
    assert rich_pin.authors == ("Ann Lee", "Bo Oh")
    assert rich_pin.published_at.isoformat() == "2016-12-14T10:00:00+00:00"
    assert rich_pin.article.section == "Weather"
    assert rich_pin.keywords == ("rain", "wind")
    assert rich_pin.image.url == "https://www.example.org/storm.jpg"


@pytest.mark.parametrize(
    "content", ["{", "[1]", '"x"', '{"title": 5, "authors": {"a": 1}}', "null"]
)
def test_invalid_parsely_object_is_ignored(content):
    rich_pin = pin(f"<title>A page</title><meta name=parsely-page content='{content}'>")

    assert (rich_pin.title, rich_pin.authors, rich_pin.published_at) == ("A page", (), None)


@pytest.mark.parametrize(
    ("address", "authors"),
    [
        ("https://www.example.org/authors/ann-lee/", ("Ann Lee",)),
        ("https://example.org/about/editors/ann-von-lee", ("Ann Von Lee",)),
        ("https://other.example.com/authors/ann-lee", ()),
        ("https://www.facebook.com/ann-lee", ()),
        ("https://www.example.org/authors/", ()),
        ("https://www.example.org/authors/news-of-the-day-desk", ()),
    ],
)
def test_url_of_an_author_page_gives_the_name_as_a_last_resort(address, authors):
    assert pin(f"<meta property=article:author content='{address}'>").authors == authors


def test_named_author_is_preferred_to_the_url_of_an_author_page():
    head = "<meta property=article:author content='https://example.org/authors/ann-lee'>"

    assert pin(head + "<meta name=author content='Bo Oh'>").authors == ("Bo Oh",)


def test_ambiguous_time_zone_is_dropped():
    head = "<meta property=article:published_time content='Mon Aug 03 12:45:00 EDT 2015'>"

    assert pin(head).published_at.isoformat() == "2015-08-03T12:45:00"


def recipe(name: str) -> dict[str, object]:
    return {
        "@type": "Recipe",
        "name": name,
        "recipeIngredient": [f"1 {name} base", "2 eggs"],
        "recipeInstructions": [f"Cook the {name}."],
    }


@pytest.mark.parametrize("order", [("Leek Soup", "Garlic Bread"), ("Garlic Bread", "Leek Soup")])
@pytest.mark.parametrize("syntax", ["json-ld", "microdata"])
def test_recipe_named_by_the_page_title_is_chosen_of_two(order, syntax):
    """A recipe for a side dish may come first."""
    head = "<title>Leek Soup | The Pot</title>"
    if syntax == "json-ld":
        rich_pin = pin(head, "<h1>Leek Soup</h1>", **{"@graph": [recipe(name) for name in order]})
    else:
        items = "".join(
            f"<div itemscope itemtype=https://schema.org/Recipe><h2 itemprop=name>{name}</h2>"
            f"<li itemprop=recipeIngredient>1 {name} base</li><li itemprop=recipeIngredient>2 eggs"
            f"</li><p itemprop=recipeInstructions>Cook the {name}.</div>"
            for name in order
        )
        rich_pin = pin(head, "<h1>Leek Soup</h1>" + items)

    assert rich_pin.title == "Leek Soup"
    assert rich_pin.recipe.ingredients == ("1 Leek Soup base", "2 eggs")


@pytest.mark.parametrize(
    "name", ["authors", "DC.Creator.PersonalName", "citation_authors", "eprints.creators_name"]
)
def test_author_in_a_rarer_meta_element_is_found(name):
    page = f'<meta property="og:type" content="article"><meta name="{name}" content="Ann Lee">'

    assert extract(page.encode(), "https://a.test/x", "text/html").authors == ("Ann Lee",)


@pytest.mark.parametrize(
    "card",
    [
        '<a class="p-author h-card" href=/w><img src=/w.jpg alt=""> Ann Writer</a>',
        '<a class="p-author h-card" href=/w><img src=/w.jpg alt="Ann Writer"></a>',
        '<span class="author vcard"><img src=/w.jpg alt="Ann Writer"></span>',
    ],
)
def test_name_of_a_card_is_its_text_or_the_alt_text_of_its_picture(card):
    page = f'<meta property="og:type" content="article"><h1>A note</h1>{card}'

    names = extract(page.encode(), "https://a.test/x", "text/html").authors
    assert names == ("Ann Writer",) or "vcard" in card


def test_alt_text_of_another_picture_is_not_an_author():
    page = '<meta property="og:type" content="article"><h1>A</h1><a rel=author><img alt="Ann Lee">'

    assert extract(page.encode(), "https://a.test/x", "text/html").authors == ()
