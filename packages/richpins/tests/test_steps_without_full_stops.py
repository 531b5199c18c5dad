"""Steps without full stops, with dashes behind their numbers, or beside lines that are no steps."""

from __future__ import annotations

import pytest
from pins import pin

from richpins.visible_text.vocabulary import NEXT_PART_HEADING, has_sentence, is_step

LINES = (
    "Cut the leeks into rings of a thumb's width and wash them.",
    "Simmer them in the stock until they are soft.",
    "Stir in the cream and serve the soup in deep plates.",
)
LIST = "<ol>{}</ol>".format("".join(f"<li>{line}</li>" for line in LINES))
AMOUNTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li><li>salt</li></ul>"
CHINESE = (
    "番茄切丁，洋葱切丝备用",
    "土豆和胡萝卜切丁备用",
    "鸡肉切块腌制十五分钟",
    "放入烤箱烤二十分钟",
)
BARE = tuple(line.rstrip(".") for line in LINES)


def recipe_of(body: str, lang: str = "en"):
    return pin(f"<html lang={lang}><main>{body}</main>").recipe


def steps_of(body: str, lang: str = "en") -> tuple[str, ...]:
    recipe = recipe_of(body, lang)
    return recipe.instructions if recipe else ()


def recipe(steps: str, heading: str = "Directions") -> str:
    return f"<h2>Ingredients</h2>{AMOUNTS}<h2>{heading}</h2>{steps}"


@pytest.mark.parametrize("steps", [BARE, CHINESE], ids=["English", "Chinese"])
def test_an_ordered_list_in_an_element_called_steps_needs_no_full_stops(steps):
    items = "".join(f"<li><p>{step}</p></li>" for step in steps)
    body = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Leek soup</h2><div class=steps><ol>{items}</ol></div>"

    assert steps_of(body) == steps


def test_an_unordered_list_in_an_element_called_steps_needs_full_stops():
    items = "".join(f"<li>{step}</li>" for step in BARE)
    body = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Leek soup</h2><div class=steps><ul>{items}</ul></div>"

    assert steps_of(body) == ()


def test_steps_of_several_sentences_may_lack_the_last_full_stop():
    steps = tuple(f"{line} Take your time for it" for line in LINES)
    body = recipe("".join(f"<p>{step}</p>" for step in steps))

    assert steps_of(body) == steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Boil the milk. Add the salt", True),
        ("Heat to 180 °C. Beat the eggs", False),
        ("Melt it! Then stir", True),
        ("鸡肉切块。加一勺淀粉", True),
        ("Boil the milk.", False),
        ("Bake for 20 min. at most", False),
        ("Add ca. 200 g flour", False),
        ("Kook de melk. Één lepel zout", True),
    ],
)
def test_a_sentence_within_a_text_is_followed_by_a_capital_letter(text, expected):
    assert has_sentence(text) is expected


NUMBERS = {"dash": "{}- ", "dash and space": "{} - ", "en dash": "{} – ", "stop": "{}. "}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_paragraphs_with_numbers_and_dashes_are_steps_behind_the_ingredients(number):
    texts = "".join(f"<p>{number.format(n)}{line}</p>" for n, line in enumerate(LINES, start=1))
    body = f"<h1>Ingredients of a soup</h1><h3>For 2 people</h3>{AMOUNTS}<div>{texts}</div>"

    assert steps_of(body) == LINES
    assert len(recipe_of(body).ingredients) == 4


@pytest.mark.parametrize("line", ["1-2 cups milk, warmed in a pot for a while.", "3-4 leeks."])
def test_a_range_is_no_number_of_a_step(line):
    assert line in steps_of(recipe("".join(f"<p>{each}</p>" for each in (*LINES, line))))


def test_a_step_may_end_with_a_question():
    asked = f"{LINES[0]} Do you know how to cut them fast?"
    items = "".join(f"<li>{line}</li>" for line in (asked, *LINES[1:]))

    assert steps_of(recipe(f"<ol>{items}</ol>")) == (asked, *LINES[1:])


@pytest.mark.parametrize("question", ["How long does it keep?", "Wie lange hält sie sich?"])
def test_a_list_with_bare_questions_is_left_out(question):
    items = "".join(f"<li>{line}</li>" for line in (question, *LINES))

    assert steps_of(recipe(f"<ol>{items}</ol>")) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 把面糊倒入裱花袋里。", True),
        ("7. Serve.", True),
        ("3) Rühren.", True),
        ("12", False),
        ("12.", False),
        ("7 Serve", False),
    ],
)
def test_a_short_sentence_behind_its_number_is_a_step(text, expected):
    assert is_step(text) is expected


@pytest.mark.parametrize("extra", ["100 g chopped leeks", "2 tbsp butter, soft", "salt", "Salt"])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_ingredient_among_sentences_is_no_step(extra, place):
    lines = [*LINES[:place], extra, *LINES[place:]]
    body = recipe("".join(f"<li>{line}</li>" for line in lines).join(["<ol>", "</ol>"]))

    assert steps_of(body) == LINES


@pytest.mark.parametrize("step", ["Serve", "Add 2 cups milk", "500 g Mehl sieben."])
def test_a_short_step_stays(step):
    body = recipe("".join(f"<li>{line}</li>" for line in (*LINES, step)).join(["<ol>", "</ol>"]))

    assert steps_of(body) == (*LINES, step)


WRAPPED = {
    "bare": "<h2>{}</h2>",
    "a block": "<div class=heading><h2>{}</h2></div>",
    "blocks": "<div><div><h3>{}</h3></div></div>",
    "a wiki": "<div class=mw-heading><h2>{}</h2><span class=mw-editsection>[<a>edit</a>]</span></div>",
}


@pytest.mark.parametrize("markup", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize(
    "heading", ["Notes, tips, and variations", "Tips & Tricks", "Tipps und Tricks", "Recipe Notes"]
)
def test_steps_end_at_a_heading_in_a_block_of_its_own(markup, heading):
    after = f"{markup.format(heading)}<ul><li>Freeze it in small pots, if much is left.</li></ul>"

    assert steps_of(recipe(f"<div>{LIST}</div>{after}")) == LINES


@pytest.mark.parametrize("markup", WRAPPED.values(), ids=WRAPPED)
def test_a_heading_in_a_block_of_its_own_names_the_steps_after_it(markup):
    groups = recipe_of(
        recipe(f"{markup.format('Wash them').replace('h2', 'h3')}{LIST}")
    ).instruction_groups

    assert [(group.name, group.entries) for group in groups] == [("Wash them", LINES)]


@pytest.mark.parametrize("text", ["Tip the leeks into the pot", "Note the time", "Notes of thyme"])
def test_a_step_about_tips_or_notes_ends_nothing(text):
    assert NEXT_PART_HEADING.fullmatch(text) is None


CAPTIONS = {
    "spans": "<div><span>{}:</span> <span>Stove Top</span></div>",
    "a list": "<ul><li><strong>{}:</strong> Stove Top</li><li><strong>Cuisine:</strong> Thai</li></ul>",
    "terms": "<dl><dt>{}</dt><dd>Stove top</dd></dl>",
}


@pytest.mark.parametrize("markup", CAPTIONS.values(), ids=CAPTIONS)
@pytest.mark.parametrize("caption", ["Method", "Preparation"])
def test_a_caption_with_a_value_is_no_heading_of_steps(markup, caption):
    facts = markup.format(caption)
    body = f"{facts}<p>A soup for cold days that takes no time.</p>{recipe(LIST, 'Instructions')}"

    assert steps_of(body) == LINES


def test_tabs_are_no_headings():
    tabs = "<div><button>Ingredients</button><button>Directions</button></div>"
    body = f"{tabs}<p>A soup for cold days that takes no time.</p>{recipe(LIST)}"

    assert steps_of(body) == LINES


def test_a_button_above_its_panel_is_a_heading():
    body = (
        f"<div><button>Ingredients</button><div>{AMOUNTS}</div></div>"
        f"<div><button>Directions</button><div>{LIST}</div></div>"
    )

    assert steps_of(body) == LINES


@pytest.mark.parametrize("mark", ["*", "#", "†", "¹", ""])
@pytest.mark.parametrize("name", ["Ingredients", "Ingredient list", "Zutatenliste"])
def test_a_heading_may_end_with_a_footnote_mark(name, mark):
    body = f"<h3>{name}{mark}</h3>{AMOUNTS}<h3>Directions{mark}</h3>{LIST}"

    assert len(recipe_of(body, "de").ingredients) == 4
    assert steps_of(body, "de") == LINES


@pytest.mark.parametrize("address", ["www.kitchen.example", "https://kitchen.example/leeks"])
def test_an_address_is_no_ingredient(address):
    lists = AMOUNTS.replace("</ul>", f"<li>{address}</li></ul>")
    body = f"<h2>Ingredients</h2>{lists}<h2>Directions</h2>{LIST}"

    assert len(recipe_of(body).ingredients) == 4
