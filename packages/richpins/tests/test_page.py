"""All facts of a page from one call."""

import pytest
from pins import ld

import richpins
from richpins.extraction import extract
from richpins.links import Link

URL = "https://pot.test/soup"
LINE = "Leeks are planted in spring and harvested from late summer on, in most of the country."
BODY = (
    "<title>Leek Soup</title><link rel=canonical href=/soups/leek>"
    + ld(
        {
            "@type": "Recipe",
            "name": "Leek Soup",
            "totalTime": "PT1H10M",
            "recipeIngredient": "leeks",
        }
    )
    + f"<main><h1>Leek Soup</h1><p>{LINE}</p><p>{LINE} <a href=/stew>Stew</a></p></main>"
).encode()


@pytest.fixture
def page():
    return richpins.read(BODY, url=URL, content_type="text/html; charset=utf-8")


def test_page_has_the_same_pin_as_extract(page):
    assert page.type == "recipe"
    assert page.pin == extract(BODY, URL, "text/html; charset=utf-8")
    assert page.fields["recipe.total_minutes"] == 70
    assert page.provenance["recipe.total_minutes"].syntax == "json-ld"


def test_links_and_the_canonical_url_are_absolute(page):
    assert page.links == (Link("https://pot.test/stew", "Stew"),)
    assert page.canonical().canonical_url == "https://pot.test/soups/leek"


def test_canonical_url_takes_headers_and_status_into_account(page):
    headers = [("Link", "<https://pot.test/leek>; rel=canonical")]

    assert page.canonical(headers=headers).canonical_url == "https://pot.test/leek"
    assert page.canonical(status=404).canonical_url == URL


def test_text_markdown_and_sketch_come_from_the_article(page):
    assert LINE in page.text
    assert "[Stew](https://pot.test/stew)" in page.markdown
    assert richpins.are_near_same(page.sketch, page.sketch)


def test_facts_are_cached(page):
    assert page.pin is page.pin
    assert page.links is page.links


def test_body_of_another_type_gives_no_facts():
    page = richpins.read(b"<h1>Not a page</h1>", url=URL, content_type="application/json")

    assert (page.type, page.pin.title, page.links) == ("page", None, ())


def test_directive_for_one_crawler_counts_only_for_that_agent():
    body = b"<meta name=examplebot content=noindex>"

    named = richpins.read(body, url=URL, agent="examplebot")
    unnamed = richpins.read(body, url=URL)

    assert (named.document.robots.noindex, unnamed.document.robots.noindex) == (True, False)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\0", b"<" * 100_000, BODY[:200]])
def test_malformed_body_does_not_raise(body):
    page = richpins.read(body, url=URL)

    assert page.pin.url == URL
    assert isinstance(page.links, tuple)


def test_text_instead_of_bytes_is_a_type_error():
    with pytest.raises(TypeError, match="must be the bytes of the page"):
        richpins.read(BODY.decode(), url=URL, content_type="text/html")
