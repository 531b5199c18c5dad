"""What a page hides is no part of its title, its ingredients or its steps."""

from pins import pin


def test_the_style_of_a_heading_is_no_title():
    page = pin("<h1><style>.a{margin:1px}</style><span class=a>Leek soup</span></h1>")

    assert page.title == "Leek soup"


def test_the_blocks_of_a_heading_are_words_of_their_own():
    assert pin("<h1><div>Leek</div><div>soup</div></h1>").title == "Leek soup"


def test_a_switch_of_units_is_no_ingredient_and_noscript_is_no_text():
    recipe = pin(
        "<title>Soup</title><h2>Ingredients</h2><div>Units Scale</div><ul><li>2 leeks"
        "<noscript><img src=/a.jpg></noscript></li><li>1 pinch of salt</li></ul>"
        "<h2>Method</h2><ol><li>Stir it well.</li></ol>"
    ).recipe

    assert recipe.ingredients == ("2 leeks", "1 pinch of salt")
