"""Read the Rich Pin of a recipe."""

from __future__ import annotations

import re
from typing import Any

from aragog.pages.plain_text import clean, lines
from aragog.pages.richpins.model import Recipe
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values import durations, scalars
from aragog.pages.richpins.values.instructions import MAX_STEPS, Group, instruction_groups, once
from aragog.pages.richpins.values.ratings import rating_of
from aragog.pages.richpins.values.yields import read_yield

TYPES = frozenset({"recipe"})

MAX_INGREDIENTS = 500

NUTRIENTS = {
    name.lower(): name
    for name in (
        "servingSize", "calories", "fatContent", "saturatedFatContent", "unsaturatedFatContent",
        "transFatContent", "carbohydrateContent", "sugarContent", "proteinContent",
        "sodiumContent", "fiberContent", "cholesterolContent",
    )
}  # fmt: skip


def read(sources: Sources, nodes: list[Node]) -> Recipe:
    """Return the recipe that `nodes` (of type Recipe, most trusted first) describe."""
    pick = sources.ledger.pick
    groups = pick(
        "recipe.instructions",
        instruction_groups,
        sources.lists(
            nodes, "recipeinstructions", "instructions", "step", "steps", "recipeinstruction"
        ),
        expected="steps",
    )
    ingredients = pick(
        "recipe.ingredients",
        _ingredients,
        sources.lists(nodes, "recipeingredient", "ingredients", "recipeingredients", "supply"),
        expected="ingredients",
    )
    prep = _minutes(sources, "prep_minutes", nodes, "preptime")
    cook = _minutes(sources, "cook_minutes", nodes, "cooktime", "performtime")
    total = _minutes(sources, "total_minutes", nodes, "totaltime")
    if total is None and (prep or cook):
        total = (prep or 0) + (cook or 0)
    return Recipe(
        ingredients=ingredients or (),
        ingredient_groups=(Group(None, ingredients),) if ingredients else (),
        instructions=tuple(step for group in groups or () for step in group.entries)[:MAX_STEPS],
        instruction_groups=groups or (),
        yields=pick(
            "recipe.yields",
            read_yield,
            sources.lists(nodes, "recipeyield", "yield", "yields", "servings"),
            expected="a number of servings",
        ),
        prep_minutes=prep,
        cook_minutes=cook,
        total_minutes=total,
        nutrition=pick(
            "recipe.nutrition", _nutrition, sources.lists(nodes, "nutrition"), expected="nutrition"
        )
        or {},
        rating=rating_of(sources, "recipe.rating", nodes),
        categories=_words(sources, "categories", nodes, "recipecategory", "category"),
        cuisines=_words(sources, "cuisines", nodes, "recipecuisine"),
        keywords=_words(sources, "keywords", nodes, "keywords"),
        methods=_words(sources, "methods", nodes, "cookingmethod"),
        diets=_words(sources, "diets", nodes, "suitablefordiet"),
    )


def _minutes(sources: Sources, name: str, nodes: list[Node], *properties: str) -> int | None:
    return sources.ledger.pick(
        f"recipe.{name}",
        _lasting,
        sources.scalars(nodes, *properties),
        expected="a duration above zero",
    )


def _lasting(value: Any) -> int | None:
    """Return minutes, or None if there are only seconds (`PT30S`), which often mean minutes."""
    if isinstance(value, str) and _SECONDS_ALONE.fullmatch(value.strip()):
        return None
    return durations.minutes(value)


_SECONDS_ALONE = re.compile(r"PT\d{1,2}S", re.IGNORECASE)


def _words(sources: Sources, name: str, nodes: list[Node], *properties: str) -> tuple[str, ...]:
    return (
        sources.ledger.pick(f"recipe.{name}", scalars.words, sources.lists(nodes, *properties))
        or ()
    )


def _ingredients(raw: list[Any]) -> tuple[str, ...] | None:
    result: list[str] = []
    for value in raw:
        result.extend(_ingredient(value, alone=len(raw) == 1))
    return tuple(once(result)[:MAX_INGREDIENTS]) or None


def _ingredient(value: Any, *, alone: bool) -> list[str]:
    if isinstance(value, Node):
        amount = value.first("value", "amount", "quantity", "requiredquantity")
        if isinstance(amount, Node):
            value = amount if not value.first("name") else value
            amount = scalars.text(amount.first("value"))
        unit = scalars.text(value.first("unittext", "unitcode"))
        parts = [
            amount,
            _UNIT_CODES.get(unit or "", unit),
            value.first("name", "text", "ingredient", "item"),
        ]
        joined = clean(" ".join(filter(None, map(scalars.text, parts))))
        return [joined] if joined else []
    if isinstance(value, str) and ("\n" in value or "<" in value):
        # If there are several ingredients, the paragraphs of one are its amount, name and note.
        return lines(value) if alone or _ENTRIES.search(value) else [" ".join(lines(value))]
    text = scalars.text(value)
    return [text] if text else []


_ENTRIES = re.compile(r"<(?:li|br|tr|dd)\b", re.IGNORECASE)
_UNIT_CODES = {
    "G21": "cup", "G24": "tbsp", "G25": "tsp", "GRM": "g", "KGM": "kg", "MGM": "mg", "MLT": "ml",
    "CLT": "cl", "DLT": "dl", "LTR": "l", "LBR": "lb", "ONZ": "oz", "OZA": "fl oz", "C62": None,
    "EA": None, "H87": None,
}  # fmt: skip
"""UN/CEFACT Recommendation 20, from which schema.org takes units; single items need no unit."""


def _nutrition(raw: list[Any]) -> dict[str, str] | None:
    result: dict[str, str] = {}
    for value in raw:
        if isinstance(value, Node):
            for key, name in NUTRIENTS.items():
                amount = value.first(key)
                text = scalars.text(amount)
                if text and name not in result:
                    result[name] = text
    return result or None
