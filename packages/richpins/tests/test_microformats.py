"""Recipes and products in microformats."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pins import ld, pin

H_RECIPE = """<article class="h-recipe"><h1 class="p-name">Leek soup</h1>
<p class="p-summary">A soup.</p><div class="p-author h-card"><a class="p-name u-url" href=/ann>Ann Lee</a></div>
<time class="dt-published" datetime="2024-05-06">6 May</time><img class="u-photo" src=/soup.jpg>
Takes <time class="dt-duration" datetime="PT1H10M">an hour</time>, serves <data class="p-yield" value="4">four</data>
<ul><li class="p-ingredient">3 leeks</li><li class="p-ingredient">1 l water</li></ul>
<ol class="e-instructions"><li>Cut the leeks.</li><li>Boil them.<br>Serve.</li></ol></article>"""
HRECIPE = """<div class="hrecipe"><h1 class="fn">Leek soup</h1><p class="summary">A soup.</p>
<span class="author vcard"><span class="fn">Ann Lee</span></span> <abbr class="published" title="2024-05-06">May</abbr>
<img class="photo" src=/soup.jpg><span class="duration">1 h 10 min<span class="value-title" title="PT1H10M"></span></span>
<span class="yield">4 servings</span><ul class="ingredients"><li class="ingredient">
<span class="value">3</span> leeks</li><li class="ingredient">1 l water</li></ul>
<div class="instructions"><ol><li>Cut the leeks.</li><li>Boil them.<br>Serve.</li></ol></div></div>"""


@pytest.mark.parametrize("markup", [H_RECIPE, HRECIPE])
def test_recipe_in_microformats_is_extracted(markup):
    page = pin(markup)
    recipe = page.recipe

    assert (page.type, page.title, page.description) == ("recipe", "Leek soup", "A soup.")
    assert (page.authors, str(page.published_at)) == (("Ann Lee",), "2024-05-06")
    assert page.image is not None
    assert page.image.url == "https://a.test/soup.jpg"
    assert recipe.ingredients == ("3 leeks", "1 l water")
    assert recipe.instructions == ("Cut the leeks.", "Boil them. Serve.")
    assert (recipe.total_minutes, str(recipe.yields)) == (70, "4 servings")
    assert page.provenance["recipe.ingredients"].syntax == "microformats"


H_PRODUCT = """<div class="h-product"><h1 class="p-name">Red lamp</h1><a class="p-brand h-card" href=/luxo>Luxo</a>
<img class="u-photo" src=/lamp.jpg alt=""><p class="e-description">It is<br>red.</p>
<data class="u-identifier" value="K-12">K 12</data><span class="p-category">Lamps</span>
<span class="p-price">€ 19.90</span><div class="p-review h-review"><b class="p-name">Bad</b></div></div>"""
HPRODUCT = """<div class="hproduct"><h1 class="fn">Red lamp</h1><span class="brand">Luxo</span>
<img class="photo" src=/lamp.jpg><p class="description">It is red.</p><span class="identifier">K-12</span>
<span class="category">Lamps</span><span class="price">€ 19.90</span></div>"""


@pytest.mark.parametrize("markup", [H_PRODUCT, HPRODUCT])
def test_product_in_microformats_is_extracted(markup):
    page = pin(markup)
    product = page.product

    assert (page.type, page.title, page.description) == ("product", "Red lamp", "It is red.")
    assert (product.price, product.currency) == (Decimal("19.90"), "EUR")
    assert (product.brand, product.sku, product.category) == ("Luxo", "K-12", "Lamps")
    assert page.image is not None
    assert page.image.url == "https://a.test/lamp.jpg"


def test_old_class_inside_a_property_does_not_add_another_property():
    parts = H_RECIPE.replace("3 leeks", "3 <span class=ingredient>leeks</span>")

    assert pin(parts).recipe.ingredients == ("3 leeks", "1 l water")


def test_other_syntaxes_take_precedence_over_microformats():
    page = pin(ld({"@type": "Recipe", "name": "Soup", "recipeIngredient": ["a", "b"]}) + H_RECIPE)

    assert page.recipe.ingredients == ("a", "b")


@pytest.mark.parametrize(
    "markup",
    [
        H_RECIPE.replace("h-recipe", "h-recipes"),
        H_RECIPE.replace('class="h-recipe"', 'data-x="h-recipe"'),
    ],
)
def test_similar_class_or_attribute_is_not_an_item(markup):
    assert not any("microformats" in each.syntax for each in pin(markup).provenance.values())


def test_unclosed_items_are_bounded():
    deep = "<div class=h-recipe><p class=p-ingredient>1 a</p>" * 3_000

    assert len(pin(deep).recipe.ingredients if pin(deep).recipe else ()) <= 2_000
