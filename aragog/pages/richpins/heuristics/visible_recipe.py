"""
Extract a recipe from the visible text if the markup lacks ingredients, steps or amounts.

Only a list of ingredients together with steps counts as a recipe. On pages without a word for
ingredients this costs one search in the bytes.
"""

from __future__ import annotations

from dataclasses import replace

from aragog.pages.richpins.heuristics import caption_times, captions
from aragog.pages.richpins.heuristics.lists import Section, SectionKind
from aragog.pages.richpins.heuristics.sections import best_sections
from aragog.pages.richpins.model import Recipe
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values.instructions import Group, once


def recipe_of(sources: Sources) -> Recipe | None:
    """Return the recipe in a page's headings, lists and class names, or None if there is none."""
    shown = _Shown(sources)
    if len(shown.ingredients) < 2 or not shown.instructions:
        return None
    return shown.into(Recipe(), ingredients=True, instructions=True)


def completed(sources: Sources, marked: Recipe) -> Recipe:
    """Complete a recipe from the markup with values from the visible text."""
    bare = _lacks_amounts(marked.ingredients)
    hollow = _are_hollow(marked.instructions)
    lone = len(marked.ingredients) < 2
    if bare or hollow or lone:
        shown = _Shown(sources)
        marked = shown.into(
            marked,
            ingredients=(lone and len(shown.ingredients) > 2)
            or not marked.ingredients
            or (bare and shown.has_amounts_of(marked)),
            instructions=hollow and shown.says_more_than(marked.instructions),
        )
    open_ended = _is_timeless(marked) or marked.yields is None
    return _captioned(sources, marked) if open_ended else marked


class _Shown:
    """The visible ingredients and steps of a page; empty if there are none."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._sections = best_sections(sources)
        self.ingredients = self._entries("ingredients")
        self.instructions = self._entries("steps")

    def _entries(self, kind: SectionKind) -> tuple[str, ...]:
        groups = _groups(self._sections.get(kind))
        return tuple(entry for group in groups for entry in group.entries)

    def has_amounts_of(self, marked: Recipe) -> bool:
        """Return True if the visible list is the marked-up one with amounts."""
        text = " ".join(self.ingredients).lower()
        named = sum(name.lower() in text for name in marked.ingredients)
        return not _lacks_amounts(self.ingredients) and named * 10 >= 7 * len(marked.ingredients)

    def says_more_than(self, steps: tuple[str, ...]) -> bool:
        """Return True if the visible steps are twice as long as the marked-up ones."""
        return sum(map(len, self.instructions)) > 2 * sum(map(len, steps))

    def into(self, recipe: Recipe, *, ingredients: bool, instructions: bool) -> Recipe:
        """Return `recipe` with the requested parts replaced by the visible ones, if any."""
        if ingredients and self.ingredients:
            groups = _groups(self._noted("ingredients", "ingredients"))
            recipe = replace(recipe, ingredients=self.ingredients, ingredient_groups=groups)
        if instructions and self.instructions:
            groups = _groups(self._noted("steps", "instructions"))
            recipe = replace(recipe, instructions=self.instructions, instruction_groups=groups)
        return recipe

    def _noted(self, kind: SectionKind, field: str) -> Section:
        section = self._sections[kind]
        lines = next(self._sources.shown(section.heading))
        self._sources.ledger.note(f"recipe.{field}", lines)
        return section


def _lacks_amounts(ingredients: tuple[str, ...]) -> bool:
    """Return True for a list of names only: ingredients without amounts."""
    with_digits = sum(any(char.isnumeric() for char in entry) for entry in ingredients)
    return len(ingredients) > 2 and with_digits * 5 <= len(ingredients)


def _are_hollow(steps: tuple[str, ...]) -> bool:
    """
    Return True for no steps, only a heading, or a text that ends in its first sentences.

    A list of several steps is none of these, however short they are.
    """
    if len(steps) >= _LISTED_STEPS:
        return False
    text = steps[0] if len(steps) == 1 else "".join(steps)
    is_cut = len(steps) == 1 and _CUT_CHARS < len(text) < 2 * _CUT_CHARS and text[-1].isalnum()
    return len(text) < _HOLLOW_CHARS or is_cut


_LISTED_STEPS = 3
_HOLLOW_CHARS = 40
_CUT_CHARS = 100


def _captioned(sources: Sources, marked: Recipe) -> Recipe:
    open_ended = marked.yields is None or marked.total_minutes is None
    shown = captions.text_of(sources.document, anywhere=open_ended)
    captioned = captions.servings(shown) if open_ended else None
    behind = shown.find(captioned[1]) + len(captioned[1]) if captioned else None
    if marked.yields is None and captioned is None:
        captioned = captions.called_servings(sources.document)
    if marked.yields is None and captioned is not None:
        sources.ledger.note("recipe.yields", next(sources.shown(captioned[1])))
        marked = replace(marked, yields=captioned[0])
    if _is_timeless(marked):
        lasts = {}
        for field, (minutes, words) in caption_times.times(shown, behind).items():
            if getattr(marked, field) is None:
                sources.ledger.note(f"recipe.{field}", next(sources.shown(words)))
                lasts[field] = minutes
        if lasts and marked.total_minutes is None and "total_minutes" not in lasts:
            lasts["total_minutes"] = sum(lasts.values())
        marked = replace(marked, **lasts)  # type: ignore[arg-type]
    return marked


def _is_timeless(marked: Recipe) -> bool:
    return marked.total_minutes is None or marked.prep_minutes == marked.cook_minutes is None


def _groups(section: Section | None) -> tuple[Group, ...]:
    if section is None:
        return ()
    return tuple(Group(name, tuple(once(entries))) for name, entries in section.groups if entries)
