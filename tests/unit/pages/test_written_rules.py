"""Guessed rules as a settings file, which loads with the same rules."""

import tomllib

import pytest

from aragog.pages.items import load_kinds
from aragog.pages.written_rules import settings_text
from aragog.settings.loading import build_settings
from richpins.document import parse
from richpins.guesses import Guess, GuessedKind, guess_rules

AGENT = 'examplebot/1.0 ("us" \\ +https://example.com/bot)'
PRICE = {"select": "css:.price", "type": "decimal", "clean": ["number"]}


def kind(name="cards", *, is_page=False, **table):
    fields = {"title": "css:h1", "price": PRICE, "odd": "xpath://th[normalize-space()='A \"b\"']"}
    return GuessedKind(name, {"pages": "*/c/*", "fields": fields, **table}, 3, is_page)


def loaded(guess):
    return build_settings(tomllib.loads(settings_text(guess, "shop.example", AGENT)))


def test_lists_become_item_kinds_with_types():
    fields = {"title": "css:h1", "price": PRICE}
    one = kind(
        fields=fields,
        each="css:.card",
        required=["title"],
        key="title",
        follow='css:a[rel~="next"]',
    )
    settings = loaded(Guess((one, kind("pages", is_page=True))))

    kinds = load_kinds(settings.extract).of("http://shop.example/c/1")

    assert settings.fetch.user_agent == AGENT
    assert list(kinds) == ["cards", "pages"]
    cards = kinds["cards"].kind
    assert cards.each == ("css", ".card")
    assert (cards.required, cards.key, cards.pages) == (("title",), ("title",), ("*/c/*",))
    assert [field.type for field in cards.fields] == ["text", "decimal"]
    assert cards.follow[0].text == 'css:a[rel~="next"]::link'


def test_settings_without_a_guess_have_only_the_user_agent():
    settings = loaded(Guess(()))

    assert settings.fetch.user_agent == AGENT
    assert settings.extract == {}


@pytest.mark.parametrize("name", ["“price”", "it's", "a\x7fb", "tab\there"])
def test_labels_in_any_script_are_written(name):
    guess = Guess((kind(fields={"x": f"xpath://th[normalize-space()={name!r}]", "y": "css:a"}),))

    text = settings_text(guess, "shop.example", AGENT)

    assert tomllib.loads(text)["extract"]["shop.example"]["cards"]["fields"]["x"].startswith(
        "xpath:"
    )


def test_settings_give_the_guessed_kinds():
    cards = "".join(
        f"<div class=card><a href=/p/{n}>Lamp {n}</a><b class=price>€ {n},50</b></div>"
        for n in range(5)
    )
    page = parse(f"<html>{cards}</html>".encode(), url="http://shop.example/")
    guess = guess_rules([page])

    kinds = load_kinds(loaded(guess).extract).of(page.url)

    assert {name: each.kind.each for name, each in kinds.items()} == {"card": ("css", ".card")}
