"""The page type of a recipe."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from richpins._plain_text import clean, lines
from richpins.page_types import PageType
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import durations, scalars
from richpins.values.instructions import MAX_STEPS, Group, instruction_groups, without_repeats
from richpins.values.ratings import Rating, read_rating
from richpins.values.yields import Yield, read_yield
from richpins.visible_text import captions
from richpins.visible_text.confidence import doubt_about
from richpins.visible_text.list_items import SectionKind
from richpins.visible_text.section import Section
from richpins.visible_text.sections import best_sections


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The ingredients, steps and times of a recipe. Times are whole minutes."""

    ingredients: tuple[str, ...] = ()
    ingredient_groups: tuple[Group, ...] = ()
    instructions: tuple[str, ...] = ()
    """The steps in order, without sections."""
    instruction_groups: tuple[Group, ...] = ()
    """The same steps by section."""
    yields: Yield | None = None
    prep_minutes: int | None = None
    cook_minutes: int | None = None
    total_minutes: int | None = None
    """The declared total, or else the sum of the other two times if both are known."""
    nutrition: dict[str, str] = field(default_factory=dict)
    """Keys are schema.org's property names, such as `calories`; a value may be `143 kcal`."""
    rating: Rating | None = None
    categories: tuple[str, ...] = ()
    cuisines: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    diets: tuple[str, ...] = ()


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
    """
    Return the recipe that `nodes` (of type Recipe, most trusted first) describe.

    Missing ingredients, steps, amounts and times are taken from the visible text.
    """
    return _add_visible_parts(sources, _read_markup(sources, nodes))


def _read_markup(sources: Sources, nodes: list[Node]) -> Recipe:
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
        _parse_ingredients,
        sources.lists(nodes, "recipeingredient", "ingredients", "recipeingredients", "supply"),
        expected="ingredients",
    )
    prep = _pick_minutes(sources, "prep_minutes", nodes, "preptime")
    cook = _pick_minutes(sources, "cook_minutes", nodes, "cooktime")
    total = _pick_minutes(sources, "total_minutes", nodes, "totaltime")
    if total is None and prep and cook:
        total = prep + cook
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
            "recipe.nutrition",
            _parse_nutrition,
            sources.lists(nodes, "nutrition"),
            expected="nutrition",
        )
        or {},
        rating=read_rating(sources, "recipe.rating", nodes),
        categories=_pick_words(sources, "categories", nodes, "recipecategory", "category"),
        cuisines=_pick_words(sources, "cuisines", nodes, "recipecuisine"),
        keywords=_pick_words(sources, "keywords", nodes, "keywords"),
        methods=_pick_words(sources, "methods", nodes, "cookingmethod"),
        diets=_pick_words(sources, "diets", nodes, "suitablefordiet"),
    )


def _pick_minutes(sources: Sources, name: str, nodes: list[Node], *properties: str) -> int | None:
    return sources.ledger.pick(
        f"recipe.{name}",
        _duration_minutes,
        sources.scalars(nodes, *properties),
        expected="a duration above zero",
    )


def _duration_minutes(value: Any) -> int | None:
    """Return whole minutes; None for seconds alone (`PT30S`), which often mean minutes."""
    if isinstance(value, str) and _ONLY_SECONDS.fullmatch(value.strip()):
        return None
    return durations.minutes(value)


_ONLY_SECONDS = re.compile(r"PT\d{1,2}S", re.IGNORECASE)


def _pick_words(
    sources: Sources, name: str, nodes: list[Node], *properties: str
) -> tuple[str, ...]:
    return (
        sources.ledger.pick(f"recipe.{name}", scalars.words, sources.lists(nodes, *properties))
        or ()
    )


def _parse_ingredients(raw: list[Any]) -> tuple[str, ...] | None:
    result: list[str] = []
    for value in raw:
        result.extend(_parse_ingredient(value, is_only_value=len(raw) == 1))
    return tuple(without_repeats(result)[:MAX_INGREDIENTS]) or None


def _parse_ingredient(value: Any, *, is_only_value: bool) -> list[str]:
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
        # If there are several values, each has paragraphs for an amount, a name and a note.
        return (
            lines(value) if is_only_value or _ENTRY_TAG.search(value) else [" ".join(lines(value))]
        )
    text = scalars.text(value)
    return [text] if text else []


_ENTRY_TAG = re.compile(r"<(?:li|br|tr|dd)\b", re.IGNORECASE)
_UNIT_CODES = {
    "G21": "cup", "G24": "tbsp", "G25": "tsp", "GRM": "g", "KGM": "kg", "MGM": "mg", "MLT": "ml",
    "CLT": "cl", "DLT": "dl", "LTR": "l", "LBR": "lb", "ONZ": "oz", "OZA": "fl oz", "C62": None,
    "EA": None, "H87": None,
}  # fmt: skip
"""UN/CEFACT Recommendation 20 codes, which schema.org uses. None means pieces."""


def _parse_nutrition(raw: list[Any]) -> dict[str, str] | None:
    result: dict[str, str] = {}
    for value in raw:
        if isinstance(value, Node):
            for key, name in NUTRIENTS.items():
                amount = value.first(key)
                text = scalars.text(amount)
                if text and name not in result:
                    result[name] = text
    return result or None


def _add_visible_parts(sources: Sources, recipe: Recipe) -> Recipe:
    lacks_amounts = _lacks_amounts(recipe.ingredients)
    lacks_steps = _are_steps_incomplete(recipe.instructions)
    has_few_ingredients = len(recipe.ingredients) < 2
    if lacks_amounts or lacks_steps or has_few_ingredients:
        visible = _VisibleRecipe(sources)
        recipe = visible.replace_in(
            recipe,
            ingredients=(has_few_ingredients and len(visible.ingredients) > 2)
            or not recipe.ingredients
            or (lacks_amounts and visible.adds_amounts_to(recipe)),
            instructions=lacks_steps and visible.is_longer_than(recipe.instructions),
        )
    lacks_facts = _lacks_times(recipe) or recipe.yields is None
    return _add_captioned_facts(sources, recipe) if lacks_facts else recipe


class _VisibleRecipe:
    """The visible ingredients and steps of a page; either may be empty."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._sections = best_sections(sources)
        self.ingredients = self._entries("ingredients")
        self.instructions = self._entries("steps")
        self._doubts = {kind: doubt_about(section) for kind, section in self._sections.items()}

    @property
    def is_recipe(self) -> bool:
        """
        Return True if there are ingredients and a section for steps, and one of them is certain.

        The section counts even if it only repeats the ingredients, because other kinds of lists
        have no such section.
        """
        has_both = len(self.ingredients) > 1 and "steps" in self._sections
        return has_both and not all(self._doubts.values())

    def _entries(self, kind: SectionKind) -> tuple[str, ...]:
        groups = _section_groups(self._sections.get(kind))
        return tuple(entry for group in groups for entry in group.entries)

    def adds_amounts_to(self, recipe: Recipe) -> bool:
        """Return True if the visible list is the markup's list with amounts added."""
        text = " ".join(self.ingredients).lower()
        matching_count = sum(name.lower() in text for name in recipe.ingredients)
        return not _lacks_amounts(self.ingredients) and matching_count * 10 >= 7 * len(
            recipe.ingredients
        )

    def is_longer_than(self, steps: tuple[str, ...]) -> bool:
        """Return True if the visible steps are twice as long as those in the markup."""
        return sum(map(len, self.instructions)) > 2 * sum(map(len, steps))

    def replace_in(self, recipe: Recipe, *, ingredients: bool, instructions: bool) -> Recipe:
        """Return `recipe` with the requested parts replaced by visible ones, if any."""
        if ingredients and self.ingredients and self._is_certain("ingredients", "ingredients"):
            groups = _section_groups(self._record_source("ingredients", "ingredients"))
            recipe = replace(recipe, ingredients=self.ingredients, ingredient_groups=groups)
        if instructions and self.instructions and self._is_certain("steps", "instructions"):
            groups = _section_groups(self._record_source("steps", "instructions"))
            recipe = replace(recipe, instructions=self.instructions, instruction_groups=groups)
        return recipe

    def _is_certain(self, kind: SectionKind, field: str) -> bool:
        """Return False and record the reason if a section is uncertain."""
        section, doubt = self._sections[kind], self._doubts[kind]
        if doubt is not None:
            text = " / ".join(section.entries)
            candidate = self._sources.visible_candidate(section.heading)._replace(value=text)
            self._sources.ledger.drop(f"recipe.{field}", candidate, doubt)
        return doubt is None

    def _record_source(self, kind: SectionKind, field: str) -> Section:
        section = self._sections[kind]
        candidate = self._sources.visible_candidate(section.heading)
        self._sources.ledger.note(f"recipe.{field}", candidate)
        return section


def _lacks_amounts(ingredients: tuple[str, ...]) -> bool:
    entries_with_digits = sum(any(char.isnumeric() for char in entry) for entry in ingredients)
    return len(ingredients) > 2 and entries_with_digits * 5 <= len(ingredients)


def _are_steps_incomplete(steps: tuple[str, ...]) -> bool:
    """
    Return True for no steps, only a heading, or a string cut off after a few sentences.

    A list of several steps is complete, however short they are.
    """
    if len(steps) >= _MIN_LISTED_STEPS:
        return False
    text = steps[0] if len(steps) == 1 else "".join(steps)
    is_truncated = (
        len(steps) == 1
        and _MIN_TRUNCATED_CHARS < len(text) < 2 * _MIN_TRUNCATED_CHARS
        and text[-1].isalnum()
    )
    return len(text) < _MIN_STEPS_CHARS or is_truncated


_MIN_LISTED_STEPS = 3
_MIN_STEPS_CHARS = 40
_MIN_TRUNCATED_CHARS = 100


def _add_captioned_facts(sources: Sources, recipe: Recipe) -> Recipe:
    lacks_servings_or_total = recipe.yields is None or recipe.total_minutes is None
    text = captions.text_on_one_line(sources.document, whole_body=lacks_servings_or_total)
    servings = captions.servings(text) if lacks_servings_or_total else None
    servings_end = text.find(servings[1]) + len(servings[1]) if servings else None
    if recipe.yields is None and servings is None:
        servings = captions.servings_by_class(sources.document)
    if recipe.yields is None and servings is not None:
        sources.ledger.note("recipe.yields", sources.visible_candidate(servings[1]))
        recipe = replace(recipe, yields=servings[0])
    if _lacks_times(recipe):
        minutes_by_field = {}
        for field, (minutes, words) in captions.times(text, servings_end).items():
            if getattr(recipe, field) is None:
                sources.ledger.note(f"recipe.{field}", sources.visible_candidate(words))
                minutes_by_field[field] = minutes
        has_both_parts = {"prep_minutes", "cook_minutes"} <= minutes_by_field.keys()
        if (
            has_both_parts
            and recipe.total_minutes is None
            and "total_minutes" not in minutes_by_field
        ):
            minutes_by_field["total_minutes"] = sum(minutes_by_field.values())
        recipe = replace(recipe, **minutes_by_field)  # type: ignore[arg-type]
    return recipe


def _lacks_times(recipe: Recipe) -> bool:
    return recipe.total_minutes is None or recipe.prep_minutes == recipe.cook_minutes is None


def _section_groups(section: Section | None) -> tuple[Group, ...]:
    if section is None:
        return ()
    return tuple(
        Group(name, tuple(without_repeats(entries))) for name, entries in section.groups if entries
    )


def _find_in_text(sources: Sources, page_type: PageType | None) -> tuple[list[Node], Recipe] | None:
    """
    Return the recipe that headings, lists and class names show on a page without recipe markup.

    Ingredients without steps are not a recipe. On pages without a word for ingredients, this costs
    only one search of the page's bytes.
    """
    if page_type is not None and page_type.name != "article":
        return None
    visible = _VisibleRecipe(sources)
    if not visible.is_recipe:
        return None
    nodes = [node for node in sources.graph.find_nodes(TYPES) if node.properties][:1]
    return nodes, read(sources, nodes)


def _is_complete(node: Node) -> bool:
    return bool(node.all("recipeingredient", "ingredients", "recipeinstructions", "instructions"))


def _adjustment(_sources: Sources, recipe: Node, _og_type: str) -> int:
    return 60 if _is_complete(recipe) else -40


PAGE_TYPE = PageType(
    name="recipe",
    record=Recipe,
    schema_types=TYPES,
    weight=90,
    read=read,
    og_types=("recipe",),
    adjustment=_adjustment,
    is_complete=_is_complete,
    from_text=_find_in_text,
)
