"""Check that a recipe's ingredients and steps are those of the page, in the page's order."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.invariants import Finding
from bench.invariants.page_oracle import PageOracle, letters, out_of_order, words
from bench.invariants.reading import Reading

INGREDIENTS = "the words of the ingredients are in the page, in that order"
STEPS = "the words of the steps are in the page, in that order"
WHOLE_INGREDIENT = "the page contains each ingredient as a whole"
_MIN_LETTERS = 30
"""A shorter step may be the heading of the next one, which JSON may list after its text."""
_FIELDS = {INGREDIENTS: "recipe.ingredients", STEPS: "recipe.instructions"}


def findings(page: PageOracle, reading: Reading) -> Iterator[Finding]:
    """Compare the ingredients and steps with visible text, JSON and attributes."""
    for invariant, field in _FIELDS.items():
        items = json.loads(reading.fields.get(field) or b"[]")
        if items:
            misplaced = _out_of_order(items, page)
            if misplaced and invariant == STEPS:
                misplaced = _out_of_order(
                    [s for s in items if len(letters(s)) >= _MIN_LETTERS], page
                )
            yield Finding(invariant, misplaced)
    ingredients = json.loads(reading.fields.get(_FIELDS[INGREDIENTS]) or b"[]")
    if ingredients:
        missing = [
            ingredient
            for ingredient in ingredients
            if not _is_in_a_source(letters(ingredient), page.sources)
        ]
        yield Finding(WHOLE_INGREDIENT, missing[0] if missing else "")


def _out_of_order(items: list[str], page: PageOracle) -> str:
    return out_of_order([word for item in items for word in words(item)], *page.sources)


def _is_in_a_source(text: str, sources: tuple[str, ...]) -> bool:
    return any(text in source for source in sources)
