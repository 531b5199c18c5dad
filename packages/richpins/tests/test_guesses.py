"""Item rules guessed from example pages: lists, single-item pages, and what is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.document import parse
from richpins.guesses import guess_rules
from richpins.guesses._guess import url_pattern
from richpins.guesses._names import is_authored
from richpins.items import find, kind_of

SHOP = "https://shop.example"


def card(number, wrapper="card"):
    return f"""<li class="col-4 css-1q{number}w3e"><div class="{wrapper} css-9x{number}7z">
      <a href="/p/{number}"><img class="thumb" src="/i/{number}.jpg"></a>
      <h3><a href="/p/{number}">Lamp {number}</a></h3>
      <p class="price_color">€ {number + 10},50</p>
      <time datetime="2026-03-0{number}">March</time></div></li>"""


def listing(numbers=range(1, 7), wrapper="card"):
    menu = "".join(f'<li class="entry"><a href="/c/{n}">Kind {n}</a>' for n in range(9))
    cards = "".join(card(n, wrapper) for n in numbers)
    return (
        f'<header><nav><ul class="menu">{menu}</ul></nav></header><ol class="row">{cards}</ol>'
        '<ul class="pager"><li class="next"><a href="?page=2">weiter</a></li></ul>'
    )


def product(number, extra=""):
    return f"""<nav><a class="title" href="/">Shop</a></nav><header><h2>Shop</h2></header>
      <article class="product_page"><header><h1>Lamp {number}</h1></header>
      <p class="price css-1a{number}b2c">€ {number}.95</p><p class="stock">In stock</p>
      <p class="slogan">The best lamps</p><div id="gallery"><img src="/i/{number}.jpg"></div>
      <table><tr><th>UPC</th><td>u-{number}</td></tr><tr><th>Tax</th><td>0</td></tr></table>
      <div id="cookie-dialog"><p class="dialog-title">Cookies {number}</p></div>{extra}</article>"""


def page(body, path="/"):
    return parse(f"<html><body>{body}</body></html>".encode(), url=f"{SHOP}{path}")


def test_list_gives_its_repeated_element_and_typed_fields():
    (kind,) = guess_rules([page(listing(), "/c/lamps")]).kinds

    assert (kind.name, kind.items, kind.is_page) == ("card", 6, False)
    assert kind.table == {
        "pages": "*",
        "each": "css:.card",
        "fields": {
            "url": {"select": "css:a::link", "type": "url"},
            "image": {"select": "css:.thumb::link", "type": "url"},
            "title": "css:h3",
            "price": {"select": "css:.price_color", "type": "decimal", "clean": ["number"]},
            "date": {"select": "css:time::attr(datetime)", "type": "date"},
        },
        "required": ["title"],
        "key": "url",
        "follow": "css:.next > a",
    }


def test_guessed_rules_work_on_other_pages_of_the_site():
    (kind,) = guess_rules([page(listing())]).kinds

    found = find(kind_of(kind.name, kind.table), page(listing(range(1, 9)), "/c/chairs"))

    assert len(found.items) == 8
    assert found.items[7].values["price"] == "18.50"
    assert found.follow == (f"{SHOP}/c/chairs?page=2",)


def test_generated_classes_are_not_used_in_selectors():
    (kind,) = guess_rules([page(listing(wrapper="Card_root__x7YzQ"))]).kinds

    assert kind.table["each"] == "css:.row > li"
    assert "css-" not in str(kind.table)
    assert "x7YzQ" not in str(kind.table)


@pytest.mark.parametrize(
    "name",
    "price_color product-title productTitle h1 col2 heading1 userID productBtn imgWrapper "
    "star-rating c-byline teaser__title pDate block-about__image fig-content-metas__pub-date".split(),
)
def test_handwritten_class_names_are_recognized(name):
    assert is_authored(name)


@pytest.mark.parametrize(
    "name",
    "css-1q2w3e sc-bdVaJa iwvBff SummaryItemWrapper-iwvBff Card_title__x7YzQ x ogpYq post-12345 "
    "ingredients_heading__RdSek b_nsdqfKEjgd _3fXyz active is-open jsx-123456 item-12 a{b".split(),
)
def test_generated_and_state_class_names_are_recognized(name):
    assert not is_authored(name)


def test_pages_of_one_kind_have_the_fields_that_differ_between_them():
    pages = [page(product(n), f"/p/{n}") for n in (1, 2, 3)]

    (kind,) = guess_rules(pages).kinds

    assert kind.is_page
    assert kind.items == 3
    assert kind.table == {
        "pages": "*",
        "fields": {
            "title": "css:h1",
            "price": {"select": "css:.price", "type": "decimal", "clean": ["number"]},
            "availability": "css:.stock",
            "image": {"select": "css:#gallery img::link", "type": "url"},
            "upc": "xpath://th[normalize-space()='UPC']/following-sibling::td[1]",
        },
        "required": ["title"],
    }


def test_single_page_has_only_the_fields_with_known_names():
    (kind,) = guess_rules([page(product(1))]).kinds

    assert {"title", "price", "availability", "image"} == set(kind.table["fields"])


def test_list_and_product_pages_become_two_kinds():
    pages = [page(listing(), "/c/lamps"), page(product(1), "/p/1"), page(product(2), "/p/2")]

    list_kind, page_kind = guess_rules(pages).kinds

    assert (list_kind.name, list_kind.table["pages"]) == ("card", "*/c/*")
    assert (page_kind.name, page_kind.table["pages"]) == ("page", "*/p/*")


@pytest.mark.parametrize(
    ("urls", "others", "pattern"),
    [
        (["https://a.test/p/1", "https://a.test/p/2"], [], "*"),
        (["https://a.test/p/1", "https://a.test/p/2"], ["https://a.test/c/1"], "*/p/*"),
        (["https://a.test/b/1/index.html", "https://a.test/b/2/index.html"], ["https://a.test/"], "*/b/*/index.html"),
        (["https://a.test/"], ["https://a.test/p/1"], "*a.test/"),
        (["https://a.test/c/lamps"], ["https://a.test/p/1"], "*/c/*"),
        (["https://a.test/s?q=1", "https://a.test/s?q=2"], ["https://a.test/p/1"], "*/s*"),
        (["https://a.test/p/1", "https://a.test/p/1/2"], ["https://a.test/c"], "*"),
    ],
)  # fmt: skip
def test_page_pattern_has_a_star_where_the_urls_differ(urls, others, pattern):
    assert url_pattern(urls, others) == pattern


def test_field_with_a_value_of_another_type_becomes_text():
    cards = "".join(card(n) for n in range(1, 6)) + card(6).replace("€ 16,50", "€ 1.299")
    (kind,) = guess_rules([page(f'<ol class="row">{cards}</ol>')]).kinds

    found = find(kind_of(kind.name, kind.table), page(f'<ol class="row">{cards}</ol>'))
    assert len(found.items) == 6
    assert not found.unreadable


def test_embedded_data_is_listed_with_its_syntax():
    json_ld = (
        '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product",'
        '"name": "Lamp", "offers": {"@type": "Offer", "price": "9.50", "priceCurrency": "EUR"}}</script>'
    )

    embedded = guess_rules([page(json_ld + product(1))]).embedded

    assert embedded["product.price"] == "json-ld"


@pytest.mark.parametrize("body", ["", "<p>text</p>", "<ul><li>a<li>b<li>c</ul>", "<h1>Title</h1>"])
def test_page_without_structure_has_no_kind(body):
    assert guess_rules([page(body)]).kinds == ()


NAMES = st.text("ab\"'{}[]>.:*#\\ \n1_-é", max_size=8)
ELEMENTS = st.builds(
    lambda tag, name, prop, text: f'<{tag} class="{name}" id="{name}" itemprop="{prop}">{text}</{tag}>',
    st.sampled_from(["li", "div", "a", "h1", "time", "th", "td", "dt", "dd", "img", "article"]),
    NAMES, NAMES, NAMES,
)  # fmt: skip


@given(st.lists(ELEMENTS, max_size=6), st.integers(1, 5))
def test_guessed_rules_are_valid_for_any_page(elements, times):
    pages = [page("".join(elements) * times), page("".join(elements), "/b")]

    for kind in guess_rules(pages).kinds:
        assert kind.items == sum(len(find(kind_of(kind.name, kind.table), p).items) for p in pages)
